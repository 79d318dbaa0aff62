#include "core/parallel.h"

#include <pthread.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/format.h"

namespace heddle {
namespace {

constexpr int kMostThreads = 1024;
std::atomic<int> thread_count = 0;  // 0: not set yet
thread_local bool inside = false;   // in a parallel_for body

// The exception of the lowest piece; others are dropped. Pieces are taken in ascending order, so all lower ones have been
// started, and this is the exception that a sequential loop would throw.
class FirstException {
  public:
    void capture(std::int64_t piece) {
        const std::lock_guard lock(mutex_);
        if (exception_ && piece_ < piece) return;
        exception_ = std::current_exception();
        piece_ = piece;
    }
    void rethrow() const {
        if (exception_) std::rethrow_exception(exception_);
    }

  private:
    std::mutex mutex_;
    std::exception_ptr exception_;
    std::int64_t piece_ = 0;
};

// The processors that this process may use; in a container or under taskset these may be fewer than the machine has.
int processors() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    return static_cast<int>(std::thread::hardware_concurrency());
}

// The state shared by the threads of one parallel_for.
struct Loop {
    std::int64_t n;
    std::int64_t grain;
    RangeBody body;
    std::atomic<std::int64_t> next{0};
    FirstException error{};

    // Runs pieces until none is left.
    void run() {
        inside = true;
        for (std::int64_t begin; (begin = next.fetch_add(grain)) < n;) {
            try {
                body(begin, std::min(n, begin + grain));
            } catch (...) {
                error.capture(begin);
                next.store(n);
            }
        }
        inside = false;
    }
};

// Waits until ready(value). Loops follow each other within microseconds and waking a thread takes long, so it spins for two
// milliseconds before it sleeps, and yields the processor while spinning. (Two threads training on two processors beside one
// other busy program: 10,500 and 8,300 tokens/s in two runs; 5,100 and 7,000 with GCC's OpenMP, which does not yield. Alone there
// is no difference.)
template <class Ready>
void wait_until(std::atomic<std::uint32_t>& value, const Ready& ready) {
    using Clock = std::chrono::steady_clock;
    constexpr auto patience = std::chrono::milliseconds(2);
    const auto start = Clock::now();
    for (;;) {
        const std::uint32_t now = value.load(std::memory_order_acquire);
        if (ready(now)) return;
        if (Clock::now() - start < patience)
            std::this_thread::yield();
        else
            value.wait(now, std::memory_order_acquire);
    }
}

// The threads that help the caller of a parallel_for. They sleep between loops and are never joined, since the pool lives as long
// as the program. It runs one loop at a time; a thread that finds the pool busy runs its loop alone.
//
// The gate signals a loop to the helpers: ticket * kTicket + (open ? kOpen : 0) + helpers inside. A helper enters by incrementing
// the count while the gate is open. When no pieces are left, the caller closes the gate and waits only for the helpers inside,
// not for those that have not woken up yet.
class ThreadPool {
  public:
    // Returns false, without doing anything, if the pool is busy.
    bool run(Loop& loop, int helpers) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return false;
        start(helpers);
        loop_ = &loop;
        wanted_ = helpers;
        left_.store(0, std::memory_order_relaxed);
        // An exchange, not a store: notify_all must not check for sleepers before the open gate is visible.
        gate_.exchange((gate_.load(std::memory_order_relaxed) / kTicket + 1) * kTicket + kOpen);
        gate_.notify_all();
        loop.run();
        const std::uint32_t entered = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) % kOpen;
        wait_until(left_, [&](std::uint32_t left) { return left == entered; });
        return true;
    }

  private:
    void start(int helpers) {
        try {
            for (; started_ < helpers; ++started_) std::thread([this, number = started_] { help(number); }).detach();
        } catch (const std::system_error&) {
            // No more threads can be created: the existing ones, at least the caller, do all the work.
        }
    }

    static constexpr std::uint32_t kOpen = 1 << 11;  // above kMostThreads
    static constexpr std::uint32_t kTicket = 1 << 12;

    [[noreturn]] void help(int number) {
        std::uint32_t seen = 0;
        for (;;) {
            wait_until(gate_, [&](std::uint32_t gate) { return gate / kTicket != seen; });
            std::uint32_t gate = gate_.load(std::memory_order_acquire);
            seen = gate / kTicket;
            bool in = false;
            while (!in && (gate & kOpen) != 0 && gate / kTicket == seen)
                in = gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel);
            if (!in) continue;
            if (number < wanted_) loop_->run();
            left_.fetch_add(1, std::memory_order_release);
            left_.notify_one();
        }
    }

    std::mutex mutex_;
    std::atomic<std::uint32_t> gate_{0};
    std::atomic<std::uint32_t> left_{0};  // helpers that have left
    Loop* loop_ = nullptr;
    int wanted_ = 0;   // helpers that this loop may use
    int started_ = 0;  // helpers that exist
};

std::atomic<ThreadPool*> the_pool = nullptr;

// A child of fork() has none of its parent's threads: its first loop starts a new pool. The old one, which another thread may
// have held locked, is left alone.
void forget_pool() {
    the_pool = nullptr;
    inside = false;
}

ThreadPool& pool() {
    if (ThreadPool* const ready = the_pool; ready != nullptr) return *ready;
    static const int handled =
        pthread_atfork(nullptr, nullptr, forget_pool);  // fails only without memory: then fork() is not handled
    static_cast<void>(handled);
    auto* const made = new ThreadPool;
    ThreadPool* none = nullptr;
    if (the_pool.compare_exchange_strong(none, made)) return *made;
    delete made;  // another thread was first
    return *none;
}

}  // namespace

int threads() {
    if (thread_count == 0) thread_count = std::clamp(processors(), 1, kMostThreads);
    return thread_count;
}

void set_threads(int count) {
    check(count >= 1 && count <= kMostThreads, "threads: {} asked for, 1 to {} wanted", count, kMostThreads);
    thread_count = count;
}

std::int64_t grain_for(std::int64_t work) { return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, work)); }

void parallel_for(std::int64_t n, std::int64_t grain, RangeBody body) {
    if (n <= 0) return;
    grain = std::clamp<std::int64_t>(grain, 1, n);
    const auto workers = static_cast<int>(std::min<std::int64_t>(threads(), (n - 1) / grain + 1));
    if (workers <= 1 || inside) {
        for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
        return;
    }
    Loop loop{.n = n, .grain = grain, .body = body};
    if (!pool().run(loop, workers - 1)) loop.run();
    loop.error.rethrow();
}

}  // namespace heddle
