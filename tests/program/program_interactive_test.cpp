// `heddle translate` at a terminal, a training whose terminal is closed, and streams that other programs made non-blocking.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "apps/translation/run/folder.h"
#include "tests/program.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A pseudo-terminal: text typed at one end is a program's standard input at the other.
class Terminal {
  public:
    Terminal() : keys_(posix_openpt(O_RDWR | O_NOCTTY)) {
        EXPECT_TRUE(keys_ >= 0 && grantpt(keys_) == 0 && unlockpt(keys_) == 0);
        program_ = open(ptsname(keys_), O_RDWR | O_NOCTTY);
        EXPECT_GE(program_, 0);
    }
    ~Terminal() {
        close(program_);
        close(keys_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int input() const { return program_; }
    void type(const std::string& text) const {
        EXPECT_EQ(write(keys_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    // The text that programs have written to it.
    std::string shown_until(const std::string& text) const {
        std::string shown;
        for (char letter = 0; shown.find(text) == std::string::npos && read(keys_, &letter, 1) == 1;) shown += letter;
        return shown;
    }

  private:
    int keys_;
    int program_ = -1;
};

// The program's log, once it has this many lines.
std::string log_of(const Workplace& here, std::size_t lines) {
    for (int i = 0; i < 6000 && lines_of(here.read("log")).size() < lines; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return here.read("log");
}

TEST(Interactive, SaysWhatWasLoadedAndHowToEnd) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --updates 2 --valid-sentences 0 --layers 1 --d-model 16 --heads 2 --d-ff 32")
                  .status,
              0);
    const Terminal terminal;
    RunningProgram program(here, {"translate", "--model", "RUN", "--beam", "1"}, terminal.input());
    EXPECT_THAT(log_of(here, 2), MatchesRegex("RUN: task copy, in to out, [0-9,]+ parameters, update 2 \\(epoch 1\\)\n"
                                              "on .*; type a line to have it translated, \\^D to end\n"));
    terminal.type("a b\n");
    EXPECT_EQ(lines_of(log_of(here, 3)).size(), 3u) << "the answer comes before the end";
    terminal.type("\x04");
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(lines_of(here.read("log")).size(), 4u) << here.read("log");

    EXPECT_THAT(here.run("translate --model RUN --beam 1", "a b\n").err, AllOf(Not(HasSubstr("RUN")), Not(HasSubstr("^D"))))
        << "a pipe needs no greeting";
}

// The system sends SIGHUP, and further writes to stderr fail.
TEST(Interactive, ATrainingSavesWhenItsTerminalIsClosed) {
    const Workplace here;
    const std::string options = " --layers 1 --d-model 16 --heads 2 --d-ff 32 --threads 1 --batch-tokens 60 --valid-sentences 0";
    const std::string line = "cd '" + here.path("") +
                             "' && exec '" HEDDLE_PROGRAM "' train --task copy --out RUN --updates 1000000" +
                             " --save-every 1000000 --log-every 1" + options;
    auto terminal = std::make_unique<Terminal>();
    const pid_t process = fork();
    if (process == 0) {
        setsid();
        ioctl(terminal->input(), TIOCSCTTY, 0);  // makes it the session's terminal
        dup2(terminal->input(), STDERR_FILENO);
        terminal.reset();
        execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        _exit(127);
    }
    const std::string said = terminal->shown_until("update      5");
    terminal.reset();
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGHUP) << status << " " << said;
    EXPECT_EQ(app::saved_updates(here.path("RUN")).size(), 1u);
    EXPECT_THAT(here.read("RUN/log.jsonl"),
                AllOf(HasSubstr("stderr: cannot be written: Input/output error"), HasSubstr("stopped by SIGHUP after update")));
}

// Standard streams made non-blocking by another program: node and ssh do so to pipes and terminals that they share.

// `heddle ARGUMENTS` with both streams non-blocking on its side, written and read in pieces with pauses.
ProgramResult run_slowly(const Workplace& here, const std::string& arguments, const std::string& input) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    for (const int end : {in[0], out[1]}) EXPECT_EQ(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    const std::string command = "exec '" HEDDLE_PROGRAM "' " + arguments + " 2>stderr";
    const pid_t child = fork();
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
        if (chdir(here.path("").c_str()) == 0) execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    std::thread feeder([&] {
        constexpr std::size_t piece = 100'000;
        for (std::size_t at = 0; at < input.size(); at += piece) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const std::string part = input.substr(at, piece);
            if (write(in[1], part.data(), part.size()) != static_cast<ssize_t>(part.size())) break;
        }
        close(in[1]);
    });
    ProgramResult result;
    std::array<char, 30'000> room{};
    for (ssize_t got = 1; got > 0;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        got = read(out[0], room.data(), room.size());
        if (got > 0) result.out.append(room.data(), static_cast<std::size_t>(got));
    }
    feeder.join();
    close(out[0]);
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.err = here.read("stderr");
    return result;
}

TEST(ProgramNonBlocking, TakesAndGivesEveryLine) {
    const Workplace here;
    here.write("t.de", "ein Hund\n");
    here.write("t.en", "a dog\n");
    ASSERT_EQ(
        here.run("train --train t --source de --target en --out RUN --updates 1 --layers 1 --d-model 16 --heads 2 --d-ff 32 "
                 "--vocab-type word")
            .status,
        0);
    std::string lines, hypotheses;
    for (int i = 0; i < 20'000; ++i) {
        lines += std::string(static_cast<std::size_t>(30 + i % 40), ' ') + "\n";  // spaces at the end are kept
        hypotheses += "ein Hund läuft " + std::to_string(i) + "\n";
    }
    const ProgramResult translated = run_slowly(here, "translate RUN", lines);
    EXPECT_EQ(translated.status, 0) << translated.err;
    EXPECT_TRUE(translated.out == lines) << translated.out.size() << " of " << lines.size() << " bytes";
    here.write("reference", hypotheses);
    const std::string evaluate = "evaluate - --reference reference --sentences";
    const ProgramResult scored = run_slowly(here, evaluate, hypotheses);
    EXPECT_EQ(scored.status, 0) << scored.err;
    EXPECT_TRUE(scored.out == here.run(evaluate, hypotheses).out) << scored.out.size();
    EXPECT_GT(scored.out.size(), std::size_t{1} << 16) << "more than a pipe holds";
    EXPECT_EQ(run_slowly(here, "gradcheck --list", "").out, here.run("gradcheck --list").out);
}

}  // namespace
}  // namespace heddle
