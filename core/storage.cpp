#include "core/storage.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "core/format.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {
namespace {

// Sizes are rounded up to eight steps per power of two, so that the slightly different batches of a training run ask for
// the same blocks again; at most 12.5 % of a block is lost to rounding.
std::int64_t rounded(std::int64_t bytes) {
    constexpr std::int64_t kSmallest = 64;
    if (bytes <= kSmallest) return kSmallest;
    const int log2 = 63 - __builtin_clzll(static_cast<unsigned long long>(bytes - 1));
    const std::int64_t step = std::max<std::int64_t>(kSmallest, std::int64_t{1} << (log2 > 3 ? log2 - 3 : 0));
    return (bytes + step - 1) / step * step;
}

// Under AddressSanitizer, kept blocks and what rounding added to a block may not be touched.
#if defined(__SANITIZE_ADDRESS__)
void allow(const std::byte* start, std::int64_t bytes) { __asan_unpoison_memory_region(start, static_cast<std::size_t>(bytes)); }
void forbid(const std::byte* start, std::int64_t bytes) { __asan_poison_memory_region(start, static_cast<std::size_t>(bytes)); }
#else
void allow(const std::byte*, std::int64_t) {}
void forbid(const std::byte*, std::int64_t) {}
#endif

class Pool {
  public:
    std::byte* take(std::int64_t bytes, std::int64_t& capacity) {
        const std::lock_guard lock(mutex_);
        ++statistics_.requests;
        capacity = rounded(bytes);
        // The smallest kept block that is large enough, unless more than half of it would lie idle. Batches differ in their
        // number of tokens: with a quarter instead of a half, training held a quarter more memory (352 MB against 282).
        const auto found = free_.lower_bound(capacity);
        std::byte* block = nullptr;
        if (found != free_.end() && found->first <= 2 * capacity) {
            capacity = found->first;
            block = found->second;
            free_.erase(found);
            statistics_.kept -= capacity;
        } else {
            block = from_system(capacity);
        }
        statistics_.in_use += capacity;
        statistics_.peak = std::max(statistics_.peak, statistics_.in_use);
        allow(block, bytes);
        forbid(block + bytes, capacity - bytes);
        return block;
    }

    void give(std::byte* block, std::int64_t capacity) {
        const std::lock_guard lock(mutex_);
        statistics_.in_use -= capacity;
        statistics_.kept += capacity;
        free_.emplace(capacity, block);
        forbid(block, capacity);
    }

    void release() {
        const std::lock_guard lock(mutex_);
        release_locked();
    }

    MemoryStatistics statistics() {
        const std::lock_guard lock(mutex_);
        return statistics_;
    }

    void reset_peak() {
        const std::lock_guard lock(mutex_);
        statistics_.peak = statistics_.in_use;
    }

  private:
    std::byte* from_system(std::int64_t capacity) {
        ++statistics_.from_system;
        void* block = std::aligned_alloc(64, static_cast<std::size_t>(capacity));
        if (block == nullptr) {
            release_locked();
            block = std::aligned_alloc(64, static_cast<std::size_t>(capacity));
        }
        check(block != nullptr, "memory: the system has no {} bytes left ({} in use); lower --batch-tokens or the model's size",
              capacity, statistics_.in_use);
        return static_cast<std::byte*>(block);
    }

    void release_locked() {
        for (const auto& [capacity, block] : free_) {
            allow(block, capacity);
            std::free(block);
        }
        free_.clear();
        statistics_.kept = 0;
    }

    std::mutex mutex_;
    std::multimap<std::int64_t, std::byte*> free_;
    MemoryStatistics statistics_;
};

// Never destroyed: a tensor with static lifetime may outlive every other object.
Pool& pool() {
    static Pool* const instance = new Pool;
    return *instance;
}

std::atomic<std::uint64_t> next_id{1};

}  // namespace

Storage::Storage(std::int64_t bytes, Device device) : bytes_(bytes), device_(device), id_(next_id.fetch_add(1)) {
    check(bytes >= 0, "memory: {} bytes asked for", bytes);
    check(device == Device::cpu, "memory: this build has no CUDA device; use --device cpu");
    data_ = pool().take(bytes, capacity_);
}

Storage::~Storage() { pool().give(data_, capacity_); }

MemoryStatistics memory_statistics() { return pool().statistics(); }
void reset_peak_memory() { pool().reset_peak(); }
void release_kept_memory() { pool().release(); }

}  // namespace heddle
