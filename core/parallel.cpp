#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/format.h"

namespace heddle {
namespace {

std::atomic<int> thread_count = 0;  // 0: not set yet
thread_local bool inside = false;   // within a parallel_for body

// The first exception of any piece; the others are dropped, as a sequential loop would never have reached them.
class FirstException {
  public:
    void capture() {
        const std::lock_guard lock(mutex_);
        if (!exception_) exception_ = std::current_exception();
    }
    void rethrow() const {
        if (exception_) std::rethrow_exception(exception_);
    }

  private:
    std::mutex mutex_;
    std::exception_ptr exception_;
};

void run_pieces(std::atomic<std::int64_t>& next, std::int64_t n, std::int64_t grain, RangeBody body, FirstException& error) {
    inside = true;
    try {
        for (std::int64_t begin; (begin = next.fetch_add(grain)) < n;) body(begin, std::min(n, begin + grain));
    } catch (...) {
        error.capture();
        next.store(n);
    }
    inside = false;
}

}  // namespace

int threads() {
    if (thread_count == 0) thread_count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return thread_count;
}

void set_threads(int count) {
    check(count >= 1, "threads: {} asked for, at least 1 wanted", count);
    thread_count = count;
}

std::int64_t grain_for(std::int64_t work) { return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, work)); }

void parallel_for(std::int64_t n, std::int64_t grain, RangeBody body) {
    if (n <= 0) return;
    grain = std::clamp<std::int64_t>(grain, 1, n);
    const auto helpers = static_cast<int>(std::min<std::int64_t>(threads(), (n - 1) / grain + 1));
    if (helpers <= 1 || inside) {
        for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
        return;
    }
    std::atomic<std::int64_t> next{0};
    FirstException error;
#ifdef HEDDLE_OPENMP
#pragma omp parallel num_threads(helpers)
    run_pieces(next, n, grain, body, error);
#else
    {
        std::vector<std::jthread> workers;
        for (int i = 1; i < helpers; ++i) workers.emplace_back([&] { run_pieces(next, n, grain, body, error); });
        run_pieces(next, n, grain, body, error);
    }
#endif
    error.rethrow();
}

}  // namespace heddle
