// Runs the `heddle` program as a process that a test can signal.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/program.h"

namespace heddle {

/// A running `heddle ARGUMENTS` in the workplace, with both outputs in the file "log" there. Its input is this process's, or the
/// descriptor `input`.
class RunningProgram {
  public:
    RunningProgram(const Workplace& here, std::vector<std::string> arguments, int input = STDIN_FILENO) {
        arguments.insert(arguments.begin(), HEDDLE_PROGRAM);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        const std::string folder = here.path(""), log = here.path("log");
        std::filesystem::remove(log);
        process_ = fork();
        if (process_ != 0) return;
        const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        dup2(input, STDIN_FILENO);
        if (chdir(folder.c_str()) == 0) execv(HEDDLE_PROGRAM, words.data());
        _exit(127);
    }
    ~RunningProgram() {
        if (ended_) return;
        send(SIGKILL);
        wait();
    }
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;

    void send(int signal) const { kill(process_, signal); }
    /// Waits; its exit status, or minus the signal that ended it.
    int wait() {
        int status = 0;
        waitpid(process_, &status, 0);
        ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    /// Waits for at most this long; returns whether it has ended, with the exit status in `status`.
    bool ends_within(std::chrono::microseconds time, int& status) {
        const auto end = std::chrono::steady_clock::now() + time;
        for (int raw = 0;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
            if (waitpid(process_, &raw, WNOHANG) == process_) {
                ended_ = true;
                status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -WTERMSIG(raw);
                return true;
            }
            if (std::chrono::steady_clock::now() >= end) return false;
        }
    }

  private:
    pid_t process_ = -1;
    bool ended_ = false;
};

}  // namespace heddle
