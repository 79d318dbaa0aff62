// core/parallel.h: parallel_for and the thread pool.
#include "core/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support.h"

namespace heddle {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Restores the thread count after each test.
class Parallel : public testing::Test {
  protected:
    ~Parallel() override { set_threads(before_); }

  private:
    int before_ = threads();
};

using Pieces = std::set<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces(std::int64_t n, std::int64_t grain) {
    std::mutex mutex;
    Pieces result;
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(result.emplace(begin, end).second) << "a piece ran twice";
    });
    return result;
}

TEST_F(Parallel, PiecesCoverTheRangeExactlyOnce) {
    for (const int count : {1, 2, 3, 8}) {
        set_threads(count);
        for (const std::int64_t n : {1, 2, 31, 32, 33, 1000})
            for (const std::int64_t grain : {1, 3, 32, 999, 1000, 5000}) {
                std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
                parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
                });
                for (const auto& visit : visits) ASSERT_EQ(visit, 1) << n << " by " << grain << " on " << count;
            }
    }
}

TEST_F(Parallel, PiecesDoNotDependOnTheNumberOfThreads) {
    set_threads(1);
    const Pieces alone = pieces(1000, 37);
    EXPECT_EQ(alone.size(), 28u);
    for (const int count : {2, 3, 7, 16}) {
        set_threads(count);
        EXPECT_EQ(pieces(1000, 37), alone) << count;
    }
}

TEST_F(Parallel, NothingToDoCallsNothing) {
    EXPECT_TRUE(pieces(0, 10).empty());
    EXPECT_TRUE(pieces(-5, 10).empty());
}

TEST_F(Parallel, AnyGrainWorks) {
    set_threads(2);
    EXPECT_EQ(pieces(3, 0).size(), 3u) << "0 counts as 1";
    EXPECT_EQ(pieces(3, -7).size(), 3u);
    EXPECT_EQ(pieces(100, kMost), (Pieces{{0, 100}}));
    EXPECT_EQ(pieces(kMost, kMost), (Pieces{{0, kMost}}));
}

TEST_F(Parallel, UsesTheAskedNumberOfThreads) {
    set_threads(3);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::atomic<int> arrived = 0;
    // Each piece waits until all three are running, which needs three threads.
    parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(ids.size(), 3u);
}

TEST_F(Parallel, TheExceptionIsTheOneThatASequentialLoopThrows) {
    for (const int count : {1, 2, 4}) {
        set_threads(count);
        for (int round = 0; round < 50; ++round) {
            std::string thrown;
            try {
                parallel_for(64, 1, [](std::int64_t begin, std::int64_t) {
                    if (begin == 20) std::this_thread::sleep_for(std::chrono::microseconds(50));
                    if (begin >= 20) throw std::runtime_error(std::to_string(begin));
                });
            } catch (const std::runtime_error& error) {
                thrown = error.what();
            }
            EXPECT_EQ(thrown, "20") << count;
        }
    }
}

TEST_F(Parallel, WorksAgainAfterAnException) {
    set_threads(4);
    for (int round = 0; round < 20; ++round) {
        EXPECT_THROW(parallel_for(50, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("all fail"); }),
                     std::runtime_error);
        EXPECT_EQ(pieces(50, 1).size(), 50u);
    }
}

TEST_F(Parallel, NestedLoopsRunOnTheBodysOwnThread) {
    set_threads(4);
    std::vector<std::int64_t> sums(16);
    parallel_for(16, 1, [&](std::int64_t begin, std::int64_t) {
        const std::thread::id own = std::this_thread::get_id();
        parallel_for(1000, 10, [&](std::int64_t first, std::int64_t last) {
            EXPECT_EQ(std::this_thread::get_id(), own);
            for (std::int64_t i = first; i < last; ++i) sums[static_cast<std::size_t>(begin)] += i;
        });
    });
    EXPECT_EQ(sums, std::vector<std::int64_t>(16, 499'500));
}

TEST_F(Parallel, SeveralThreadsMayUseItAtOnce) {
    set_threads(2);
    std::vector<std::thread> callers;
    std::atomic<std::int64_t> total = 0;
    for (int id = 0; id < 3; ++id)
        callers.emplace_back([&] {
            for (int round = 0; round < 20; ++round)
                parallel_for(100, 7, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(total, 3 * 20 * 100);
}

// fork() copies the calling thread alone: the child's pool starts threads of its own, and two bodies can wait for each other
// again.
TEST_F(Parallel, AChildOfForkHasThreadsOfItsOwn) {
    set_threads(2);
    const auto both_at_once = [] {
        std::atomic<int> inside = 0;
        std::atomic<bool> met = true;
        parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
            ++inside;
            const auto start = std::chrono::steady_clock::now();
            while (inside < 2 && met) {
                std::this_thread::yield();
                if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20)) met = false;
            }
        });
        return met.load();
    };
    ASSERT_TRUE(both_at_once());
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(both_at_once() ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(both_at_once());
}

TEST_F(Parallel, RefusesNoThreads) {
    expect_error([] { set_threads(0); }, "threads: 0 asked for, 1 to 1024 wanted");
    EXPECT_GE(threads(), 1);
}

TEST(GrainFor, ShrinksWithTheWorkPerIndexAndStaysPositive) {
    EXPECT_GT(grain_for(1), grain_for(1000));
    for (const std::int64_t work : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40, kMost})
        EXPECT_GE(grain_for(work), 1);
}

}  // namespace
}  // namespace heddle
