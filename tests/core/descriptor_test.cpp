// core/descriptor.h: non-blocking descriptors, and interrupting signals.
#include "core/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

namespace heddle {
namespace {

class Pipe {
  public:
    explicit Pipe(bool blocking) {
        EXPECT_EQ(pipe(ends_), 0);
        if (blocking) return;
        for (const int end : ends_) EXPECT_EQ(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    int end(int which) const { return ends_[which]; }
    void close_end(int which) {
        if (ends_[which] >= 0) close(ends_[which]);
        ends_[which] = -1;
    }

  private:
    int ends_[2] = {-1, -1};
};

std::string read_all(int descriptor) {
    std::string text;
    std::array<char, 5000> room{};
    for (std::ptrdiff_t got = 1; got > 0;) {
        got = read_waiting(descriptor, room);
        EXPECT_GE(got, 0) << errno;
        if (got > 0) text.append(room.data(), static_cast<std::size_t>(got));
        if (text.size() % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the pipe is full meanwhile
    }
    return text;
}

std::string many_lines() {
    std::string text;
    for (int i = 0; text.size() < 1'000'000; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
}

TEST(WaitingIo, PassesEverythingThroughAPipeThatDoesNotBlock) {
    Pipe ends(false);
    const std::string text = many_lines();
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // nothing to read yet
        EXPECT_TRUE(write_waiting(ends.end(1), text));
        ends.close_end(1);
    });
    EXPECT_EQ(read_all(ends.end(0)), text);
    writer.join();
}

TEST(WaitingIo, GoesOnAfterASignal) {
    struct sigaction handler {
    }, before{};
    handler.sa_handler = [](int) {};  // without SA_RESTART
    ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
    for (const bool blocking : {false, true}) {
        Pipe ends(blocking);
        const std::string text = many_lines();
        std::string found;
        std::atomic<int> running = 2;
        std::thread reader([&] {
            found = read_all(ends.end(0));
            --running;
        });
        std::thread writer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            EXPECT_TRUE(write_waiting(ends.end(1), text));
            ends.close_end(1);
            --running;
        });
        while (running > 0) {
            for (std::thread* each : {&reader, &writer}) pthread_kill(each->native_handle(), SIGUSR1);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        reader.join();
        writer.join();
        EXPECT_EQ(found, text);
    }
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(WaitingIo, SaysWhyItFails) {
    std::array<char, 1> room{};
    EXPECT_LT(read_waiting(-1, room), 0);
    EXPECT_EQ(errno, EBADF);
    EXPECT_FALSE(write_waiting(-1, "x"));
    EXPECT_EQ(errno, EBADF);
    const auto before = signal(SIGPIPE, SIG_IGN);
    Pipe ends(false);
    ends.close_end(0);
    EXPECT_FALSE(write_waiting(ends.end(1), "x"));
    EXPECT_EQ(errno, EPIPE);
    signal(SIGPIPE, before);
    EXPECT_TRUE(write_waiting(-1, "")) << "nothing to do";
}

}  // namespace
}  // namespace heddle
