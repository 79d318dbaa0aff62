#include "core/storage.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "core/device.h"
#include "core/device_impl.h"
#include "core/error.h"
#include "core/format.h"
#include "core/sanitizers.h"
#include "core/segments.h"
#include "core/text.h"

#if defined(HEDDLE_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {

// The source of a pool's blocks.
struct PoolMemory {
    std::byte* (*take)(std::int64_t bytes, void* stream);  // null if out of memory
    void (*give)(std::byte* block, void* stream);
    std::string (*left)();  // describes the free memory; null if unknown
    const char* name;
    bool read_by_graphs = false;  // graphs also read free blocks, so these are only released at the end
};

// The sizes of blocks, and whether they are kept for later requests.
enum class PoolBlocks {
    rounded,     // kept; a request may take one that is up to twice as large
    exact,       // exactly the requested size; not kept
    exact_kept,  // exactly the requested size; kept
    cut,         // cut from large segments, and merged again when freed
};

namespace {

// Sizes are rounded up to eight steps per power of two, so that the slightly different batches of a training run request the same
// sizes; rounding wastes at most 12.5 % of a block.
std::int64_t rounded(std::int64_t bytes) {
    constexpr std::int64_t kSmallest = 64;
    if (bytes <= kSmallest) return kSmallest;
    const int log2 = 63 - __builtin_clzll(static_cast<unsigned long long>(bytes - 1));
    const std::int64_t step = std::max<std::int64_t>(kSmallest, std::int64_t{1} << (log2 > 3 ? log2 - 3 : 0));
    return (bytes + step - 1) / step * step;
}

// Under AddressSanitizer, kept blocks and the bytes added by rounding are poisoned.
#if defined(HEDDLE_ADDRESS_SANITIZER)
void allow(const std::byte* start, std::int64_t bytes) { __asan_unpoison_memory_region(start, static_cast<std::size_t>(bytes)); }
void forbid(const std::byte* start, std::int64_t bytes) { __asan_poison_memory_region(start, static_cast<std::size_t>(bytes)); }
#else
void allow(const std::byte*, std::int64_t) {}
void forbid(const std::byte*, std::int64_t) {}
#endif

const PoolMemory kHost = {
    [](std::int64_t bytes, void*) { return static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(bytes))); },
    [](std::byte* block, void*) { std::free(block); }, nullptr, "system"};
PoolMemory tests_own = {};  // replaces the device's memory
bool tests_own_exact = true;

}  // namespace

// A free block is only reused by the stream that used it, where pending work runs first. The host counts as one stream.
class Pool {
  public:
    Pool(const PoolMemory& system, bool host, PoolBlocks blocks) : system_(system), host_(host), blocks_(blocks) {}
    ~Pool() { release(); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    std::byte* take(std::int64_t bytes, void* stream, std::int64_t& capacity) {
        const std::lock_guard lock(mutex_);
        ++statistics_.requests;
        capacity = blocks_ == PoolBlocks::rounded ? rounded(bytes) : bytes;
        if (blocks_ == PoolBlocks::cut) return cut_block(bytes, stream);
        std::byte* block = blocks_ == PoolBlocks::exact ? nullptr : kept_block(stream, capacity);
        if (block == nullptr && capacity > 0) block = from_system(capacity, stream);
        statistics_.in_use += capacity;
        statistics_.peak = std::max(statistics_.peak, statistics_.in_use);
        if (host_) {
            allow(block, bytes);
            forbid(block + bytes, capacity - bytes);
        }
        return block;
    }

    void give(std::byte* block, void* stream, std::int64_t capacity) {
        const std::lock_guard lock(mutex_);
        if (blocks_ == PoolBlocks::cut) {
            if (block != nullptr) segments_.give(block);
            return;
        }
        statistics_.in_use -= capacity;
        if (blocks_ == PoolBlocks::exact || block == nullptr) {
            if (block != nullptr) system_.give(block, stream);
            return;
        }
        try {
            auto& free = free_[stream];
            free.emplace_hint(free.lower_bound(capacity), capacity, block);
        } catch (const std::bad_alloc&) {  // a tensor's destructor must not throw: a block that cannot be recorded is not kept
            if (host_) allow(block, capacity);
            system_.give(block, stream);
            return;
        }
        statistics_.kept += capacity;
        if (host_) forbid(block, capacity);
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
    // The smallest kept block that is large enough, of equal ones the last that was freed, which caches may still hold; unless
    // more than half of it would be unused. Batches differ in their number of tokens: with a quarter instead of a half, training
    // used a quarter more memory (352 MB instead of 282).
    std::byte* kept_block(void* stream, std::int64_t& capacity) {
        auto& free = free_[stream];
        const auto found = free.lower_bound(capacity);
        if (found == free.end() || found->first > (blocks_ == PoolBlocks::rounded ? 2 * capacity : capacity)) return nullptr;
        std::byte* const block = found->second;
        capacity = found->first;
        free.erase(found);
        statistics_.kept -= capacity;
        return block;
    }

    std::byte* cut_block(std::int64_t bytes, void* stream) {
        constexpr std::int64_t kSegment = std::int64_t{64} << 20;
        if (bytes == 0) return nullptr;
        if (std::byte* const block = segments_.take(bytes); block != nullptr) return block;
        const std::int64_t segment = (bytes + kSegment - 1) / kSegment * kSegment;
        segments_.add(from_system(segment, stream), segment);
        return segments_.take(bytes);
    }

    std::byte* from_system(std::int64_t capacity, void* stream) {
        ++statistics_.from_system;
        std::byte* block = system_.take(capacity, stream);
        if (block == nullptr) {
            make_room();
            block = system_.take(capacity, stream);
        }
        if (block == nullptr)
            throw OutOfMemory(fmt::format("memory: the {} has no {} left ({} in use{})", system_.name, size_text(capacity),
                                          size_text(statistics_.in_use), system_.left == nullptr ? "" : ", " + system_.left()),
                              capacity, statistics_.in_use);
        return block;
    }

    // Graphs read an arena's kept blocks, so the room must come from the device's own pool. While a graph is captured the
    // device's memory cannot be given back, which waits for its work: the capture ends first (core/graph_cuda.cpp).
    void make_room() {
        if (!host_ && device::detail::capturing()) return;
        if (system_.read_by_graphs)
            release_kept_memory(Device::cuda);
        else
            release_locked();
    }

    void release_locked() {
        for (std::byte* const segment : segments_.release()) system_.give(segment, nullptr);
        for (const auto& [stream, blocks] : free_)
            for (const auto& [capacity, block] : blocks) {
                if (host_) allow(block, capacity);
                system_.give(block, stream);
            }
        free_.clear();
        statistics_.kept = 0;
    }

    const PoolMemory system_;
    const bool host_;
    const PoolBlocks blocks_;
    std::mutex mutex_;
    std::map<void*, std::multimap<std::int64_t, std::byte*>> free_;  // by stream and capacity
    Segments segments_;                                              // with PoolBlocks::cut, for one stream
    MemoryStatistics statistics_;
};

namespace {

// Never destroyed, because a tensor with static lifetime may outlive all other objects.
Pool& pool(Device device) {
    static Pool* const host = new Pool(kHost, true, PoolBlocks::rounded);
    if (device == Device::cpu) return *host;
    static Pool* const cuda = [] {
        const device::detail::MemoryPolicy& policy = device::detail::memory_policy();
        const bool own = tests_own.take != nullptr;
        return new Pool(own ? tests_own : PoolMemory{policy.take, policy.give, device::detail::memory_left, "CUDA device"}, false,
                        (own ? tests_own_exact : policy.exact) ? PoolBlocks::exact : PoolBlocks::rounded);
    }();
    return *cuda;
}

std::atomic<std::uint64_t> next_id{1};

thread_local std::shared_ptr<Pool> arena_in_use;

}  // namespace

Storage::Storage(std::int64_t bytes, Device device) : bytes_(bytes), device_(device), id_(next_id.fetch_add(1)) {
    check(bytes >= 0, "memory: {} bytes asked for", bytes);
    if (device == Device::cuda) {
        check(device::available(), "memory: {}; or use --device cpu", device::why_unavailable());
        stream_ = device::current_stream();
        arena_ = arena_in_use;
    }
    data_ = (arena_ != nullptr ? *arena_ : pool(device)).take(bytes, stream_, capacity_);
}

Storage::Storage(std::byte* data, std::int64_t bytes, std::shared_ptr<const void> owner)
    : data_(data), bytes_(bytes), device_(Device::cpu), owner_(std::move(owner)), id_(next_id.fetch_add(1)) {
    check(bytes >= 0 && owner_ != nullptr,
          "memory: a tensor over {} bytes of other memory{}; wanted at least 0 bytes and an owner that keeps them alive", bytes,
          owner_ ? "" : " without an owner");
}

Storage::~Storage() {
    if (owner_ == nullptr) (arena_ != nullptr ? *arena_ : pool(device_)).give(data_, stream_, capacity_);
}

MemoryArena::MemoryArena() : MemoryArena(device::detail::memory_policy().exact) {}
MemoryArena::MemoryArena(bool exact) {
    const device::detail::MemoryPolicy& policy = device::detail::memory_policy();
    pool_ =
        std::make_shared<Pool>(PoolMemory{policy.take_for_capture, policy.give, device::detail::memory_left, "CUDA device", true},
                               false, exact ? PoolBlocks::exact_kept : PoolBlocks::cut);
}
MemoryArena::~MemoryArena() = default;
MemoryArena::Use::Use(MemoryArena& arena) : before_(std::exchange(arena_in_use, arena.pool_)) {}
MemoryArena::Use::~Use() { arena_in_use = std::move(before_); }

namespace {
MemoryArena& lasting_arena() {
    static MemoryArena* const arena = new MemoryArena;  // never destroyed: at the process's end the driver may be gone
    return *arena;
}
}  // namespace

LastingMemory::LastingMemory() : use_(lasting_arena()) {}

void device::detail::take_memory_from(std::byte* (*take)(std::int64_t, void*), void (*give)(std::byte*, void*), bool exact) {
    tests_own = {take, give, memory_left, "CUDA device"};
    tests_own_exact = exact;
}

MemoryStatistics memory_statistics(Device device) { return pool(device).statistics(); }
void reset_peak_memory(Device device) { pool(device).reset_peak(); }
void release_kept_memory(Device device) { pool(device).release(); }

}  // namespace heddle
