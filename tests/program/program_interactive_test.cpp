// `heddle translate` at a terminal, and a training whose terminal is closed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <memory>

#include "apps/translation/run/folder.h"
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

}  // namespace
}  // namespace heddle
