// `heddle translate` in a pipe: line by line, in pieces, without a reader, and in bounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/random.h"
#include "tests/program.h"
#include "tests/program/program_decoding.h"

namespace heddle {
namespace {

using testing::StartsWith;

// `heddle ARGUMENTS` with pipes in place of files.
class Child {
  public:
    Child(const Workplace& here, std::vector<std::string> arguments, bool ignore_broken_pipe = false) {
        int in[2], out[2], err[2];
        EXPECT_TRUE(pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0);
        std::vector<char*> words;
        arguments.insert(arguments.begin(), HEDDLE_PROGRAM);
        for (std::string& word : arguments) words.push_back(word.data());
        words.push_back(nullptr);
        const std::string folder = here.path("");
        process_ = fork();
        if (process_ == 0) {
            signal(SIGPIPE, ignore_broken_pipe ? SIG_IGN : SIG_DFL);
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            dup2(err[1], STDERR_FILENO);
            for (const int end : {in[0], in[1], out[0], out[1], err[0], err[1]}) close(end);
            if (chdir(folder.c_str()) == 0) execv(words[0], words.data());
            _exit(127);
        }
        for (const int end : {in[0], out[1], err[1]}) close(end);
        in_ = in[1];
        out_ = out[0];
        err_ = err[0];
    }
    ~Child() {
        close_input();
        close_output();
        close(err_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void type(const std::string& text) const {
        EXPECT_EQ(write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    // Output up to a line's end, waiting up to ten seconds.
    std::string answer() const {
        std::string text;
        pollfd wait{.fd = out_, .events = POLLIN, .revents = 0};
        for (char c = 0; c != '\n' && poll(&wait, 1, 10000) > 0 && ::read(out_, &c, 1) == 1;) text += c;
        return text;
    }
    std::string complaints() const {
        std::string text;
        for (char c = 0; ::read(err_, &c, 1) == 1;) text += c;
        return text;
    }
    void close_input() { close_once(in_); }
    void close_output() { close_once(out_); }
    int wait() const {
        int status = 0;
        EXPECT_EQ(waitpid(process_, &status, 0), process_);
        return status;
    }

  private:
    static void close_once(int& end) {
        if (end >= 0) close(end);
        end = -1;
    }
    pid_t process_ = -1;
    int in_ = -1, out_ = -1, err_ = -1;
};

TEST_F(Decoding, AnswersEachLineOfASlowPipe) {
    Child child(*here_, {"translate", "--model", "ONE", "--beam", "1", "--n-best", "1"});
    for (int i = 0; i < 3; ++i) {
        child.type("one two\n");
        EXPECT_THAT(child.answer(), StartsWith(std::to_string(i) + " ||| ")) << "before the next line comes";
    }
    child.close_input();
    EXPECT_EQ(child.wait(), 0);
}

// The input after the reader has left with the first answer: a file has more lines than are read for one answer.
TEST_F(Decoding, WritesBeforeItReadsMoreLinesThanItWasTold) {
    std::string input;
    for (int i = 0; i < 2000; ++i) input += "one" + std::string(200, ' ') + "\n";
    here_->write("input", input);
    const auto left = [&](const std::string& options) {
        const std::string command = "cd '" + here_->path("") + "' && { '" HEDDLE_PROGRAM "' translate --model ONE --beam 1 " +
                                    options + " | head -n 1 >/dev/null; wc -c >left; } <input";
        EXPECT_EQ(std::system(command.c_str()), 0);
        return std::stol(here_->read("left"));
    };
    EXPECT_GT(left("--flush-every 1"), 0);
    EXPECT_EQ(left("--flush-every 2000"), 0) << "all lines at once";
}

TEST_F(Decoding, EndsQuietlyWhenNobodyReads) {
    for (const bool ignored : {false, true}) {
        Child child(*here_, {"translate", "--model", "ONE", "--beam", "1"}, ignored);
        child.close_output();
        child.type("one two\n");
        const int status = child.wait();
        EXPECT_EQ(child.complaints(), "");
        if (ignored)
            EXPECT_EQ(WEXITSTATUS(status), 141) << "what a shell says of a program that SIGPIPE ended";
        else
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    }
}

// The peak of the resident memory, in KB.
long peak_memory(const Workplace& here, const std::string& input, const std::string& output) {
    const std::string folder = here.path("");
    const pid_t process = fork();
    if (process == 0) {
        const bool ready = chdir(folder.c_str()) == 0 && std::freopen(input.c_str(), "r", stdin) != nullptr &&
                           std::freopen(output.c_str(), "w", stdout) != nullptr;
        if (ready) execl(HEDDLE_PROGRAM, HEDDLE_PROGRAM, "translate", "--model", "ONE", "--beam", "1", nullptr);
        _exit(127);
    }
    int status = -1;
    rusage usage{};
    EXPECT_EQ(wait4(process, &status, 0, &usage), process);
    EXPECT_EQ(status, 0);
    return usage.ru_maxrss;
}

// 1,000 lines of one to three words, and the same a hundred times over: equal batches, so only memory left over from former
// lines can make a difference.
TEST_F(Decoding, MemoryDoesNotGrowWithTheInput) {
    Sequence random(1);
    std::string thousand, all;
    for (int i = 0; i < 1000; ++i) {
        for (std::uint64_t words = 1 + random.below(3); words > 0; --words)
            thousand += (random.below(2) == 0 ? "one" : "seven") + std::string(words > 1 ? " " : "\n");
    }
    for (int i = 0; i < 100; ++i) all += thousand;
    here_->write("thousand", thousand);
    here_->write("all", all);
    const long few = peak_memory(*here_, "thousand", "thousand.out"), many = peak_memory(*here_, "all", "all.out");
    EXPECT_EQ(lines_of(here_->read("all.out")).size(), 100000u);
    EXPECT_LE(many, few + few / 10) << "KB; 1,000 lines need " << few;
    RecordProperty("kilobytes_of_1000_lines", static_cast<int>(few));
    RecordProperty("kilobytes_of_100000_lines", static_cast<int>(many));
    std::printf("peak memory: %ld KB for 1,000 lines, %ld KB for 100,000\n", few, many);
}

}  // namespace
}  // namespace heddle
