// Standard streams made non-blocking by another program: node and ssh do so to pipes and terminals that they share.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/program.h"

namespace heddle {
namespace {

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
