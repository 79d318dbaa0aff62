#include "kernels/emulator/run/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/fiber.h"

namespace heddle::emulator {

constinit const std::byte* detail::device_range_start = nullptr;
constinit const std::byte* detail::device_range_end = nullptr;

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kRange = std::size_t{1} << 40;
/// Up to this size memory is filled when it is allocated; larger allocations map one file of 0xff repeatedly, so only touched
/// pages cost memory.
constexpr std::size_t kFilled = std::size_t{1} << 20;
constexpr std::size_t kFile = std::size_t{1} << 24;
/// The range's first bytes are never allocated, so that accesses before the first allocation are detected.
constexpr std::size_t kBefore = 1 << 20;
/// The number of the host's accesses to managed memory that are kept until the work queued before them has run.
constexpr std::size_t kMostAccesses = 1 << 12;
/// The number of freed allocations that are remembered for reports.
constexpr std::size_t kRemembered = 1 << 16;

constexpr std::size_t up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// HEDDLE_EMULATOR_MEMORY in bytes.
std::size_t device_memory() {
    const char* const text = std::getenv("HEDDLE_EMULATOR_MEMORY");
    if (text == nullptr || *text == 0) return std::size_t{80} << 30;
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    const char* const units = "KMG";
    double unit = 1;
    if (const char* const found = *end != 0 ? std::strchr(units, *end) : nullptr)
        unit = double(std::size_t{1} << (10 * (found - units + 1))), ++end;
    if (end == text || *end != 0 || !(number > 0))
        throw std::runtime_error(std::string("HEDDLE_EMULATOR_MEMORY=") + text + ": wanted a size such as 500M or 80G");
    return static_cast<std::size_t>(number * unit);
}

/// An unnamed file of kFile bytes of 0xff.
int poison_file() {
#if defined(__linux__)
    const int file = memfd_create("heddle emulator poison", MFD_CLOEXEC);
#else
    std::FILE* const unnamed = std::tmpfile();
    const int file = unnamed != nullptr ? fcntl(fileno(unnamed), F_DUPFD_CLOEXEC, 0) : -1;
    if (unnamed != nullptr) std::fclose(unnamed);
#endif
    const std::string block(4096, '\xff');
    for (std::size_t i = 0; i < kFile; i += block.size())
        if (file < 0 || write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
            throw std::runtime_error("emulator: no memory for 16 MB of poison");
    return file;
}

/// The allocator's state. Pages are closed (PROT_NONE) unless they belong to a live allocation while open_ > 0.
class Memory {
  public:
    Memory() : total_(device_memory()) {
        accesses_.reserve(kMostAccesses);  // the signal's handler must not allocate
        // Less if the process may not reserve that much (ulimit -v).
        for (std::size_t size = kRange; size >= kRange >> 6 && begin_ == nullptr; size /= 2) {
            void* const range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range == MAP_FAILED) continue;
            begin_ = static_cast<std::byte*>(range);
            keep_apart(begin_, size, false);
            next_ = begin_ + kBefore;
            end_ = begin_ + size;
        }
        if (begin_ == nullptr) throw std::runtime_error("emulator: cannot reserve 16 GB of addresses for the device's memory");
        detail::device_range_start = begin_;
        detail::device_range_end = end_;
        watch_faults();
    }

    /// Null if there is no room, or the system has no more pages.
    std::byte* allocate(std::size_t bytes, const std::string& place, MemoryKind kind) {
        const checker::Alone alone;
        const std::lock_guard lock(mutex_);
        if (bytes > total_ - std::min(used_, total_)) return nullptr;
        const std::size_t pages = up(bytes, page_);
        std::byte* const first = find_room(pages + page_);
        if (first == nullptr) return nullptr;
        std::byte* const start = first + (pages - up(bytes, kAlignment)) / kAlignment * kAlignment;
        try {
            poison(first, pages);
        } catch (const std::runtime_error&) {  // the range is still recorded as free
            mmap(first, pages, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS, -1, 0);
            keep_apart(first, pages, false);
            return nullptr;
        }
        forget(first, first + pages + page_);
        living_.emplace(first, Living{{start, bytes, place, false, kind}, pages});
        used_ += bytes;
        if (kind == MemoryKind::managed) {
            ++managed_;
            if (open_ == 0) protect(first, pages, protection_of(living_.at(first)));
        }
        fence(first, start, bytes, pages);
        checker::allocated(start, bytes, kind == MemoryKind::managed);
        return start;
    }

    bool release(const void* start) {
        const checker::Alone alone;
        const std::lock_guard lock(mutex_);
        auto found = living_.upper_bound(static_cast<const std::byte*>(start));
        if (found == living_.begin()) return false;
        --found;
        if (found->second.allocation.start != start) return false;
        const Allocation allocation = found->second.allocation;
        const std::size_t pages = found->second.pages;
        std::byte* const first = const_cast<std::byte*>(found->first);
        address_unpoison(first, std::min(pages, page_));
        address_unpoison(first + pages - page_, page_);
        map(first, pages, PROT_NONE, MAP_ANONYMOUS, -1);  // releases the pages; throws before any state changes
        keep_apart(first, pages, false);  // like its neighbours, so that they merge again: the number of mappings is limited
        checker::released(allocation.start, allocation.bytes);
        used_ -= allocation.bytes;
        if (allocation.kind == MemoryKind::managed) --managed_;
        living_.erase(found);
        freed_.insert_or_assign(allocation.start,
                                Allocation{allocation.start, allocation.bytes, allocation.place, true, allocation.kind});
        order_.push_back(allocation.start);
        if (order_.size() > kRemembered) {
            freed_.erase(order_.front());
            order_.pop_front();
        }
        return true;
    }

    /// The caller holds the mutex.
    const Allocation* nearest(const void* address) const {
        const auto* const byte = static_cast<const std::byte*>(address);
        const Allocation* best = nullptr;
        if (auto found = living_.upper_bound(byte); found != living_.begin()) best = &std::prev(found)->second.allocation;
        // An allocation is also the nearest one for addresses in the padding before its start.
        if (auto found = freed_.upper_bound(byte); found != freed_.begin())
            if (const Allocation& old = std::prev(found)->second; best == nullptr || old.start > best->start) best = &old;
        return best;
    }

    void open() {
        const std::lock_guard lock(mutex_);
        if (open_++ == 0) protect();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        if (--open_ == 0) protect();
    }

    /// Closes managed memory to the host, or opens it again.
    void close_managed(bool closed) {
        const std::lock_guard lock(mutex_);
        if (closed == managed_closed_) return;
        managed_closed_ = closed;
        if (!closed) accesses_.clear();
        if (open_ > 0) return;
        for (auto& [first, living] : living_) {
            if (living.allocation.kind != MemoryKind::managed) continue;
            living.shown = 0;
            protect(const_cast<std::byte*>(first), living.pages, protection_of(living));
        }
    }
    std::vector<const std::byte*> starts() {
        const std::lock_guard lock(mutex_);
        std::vector<const std::byte*> starts;
        for (const auto& [first, living] : living_) starts.push_back(living.allocation.start);
        return starts;
    }
    bool has_managed() const { return managed_ > 0; }

    /// Called by the signal's handler. Opens the page, and more at each further access, so that a loop costs few signals.
    bool show_managed(const HostAccess& access) {
        const std::lock_guard lock(mutex_);
        auto found = living_.upper_bound(access.address);
        if (open_ > 0 || !managed_closed_ || found == living_.begin()) return false;
        auto& [first, living] = *--found;
        if (living.allocation.kind != MemoryKind::managed || access.address >= first + living.pages) return false;
        if (accesses_.size() < kMostAccesses) accesses_.push_back(access);
        const std::size_t offset = static_cast<std::size_t>(access.address - first) / page_ * page_;
        living.shown = std::min(living.pages, std::max(page_, 2 * living.shown));
        protect(const_cast<std::byte*>(first) + offset, std::min(living.shown, living.pages - offset), PROT_READ | PROT_WRITE);
        return true;
    }
    std::vector<HostAccess> accesses() {
        const std::lock_guard lock(mutex_);
        return accesses_;
    }

    std::vector<Allocation> living() const {
        std::vector<Allocation> all;
        for (const auto& [first, living] : living_) all.push_back(living.allocation);
        return all;
    }

    std::mutex& mutex() { return mutex_; }
    bool is_open() const { return open_ > 0; }
    MemoryUse use() {
        const std::lock_guard lock(mutex_);
        return {total_, used_};
    }

  private:
    struct Living {
        Allocation allocation;
        std::size_t pages;      // bytes, whole pages
        std::size_t shown = 0;  // pages that host code has opened by touching them
    };

    /// The next free addresses, cycling through the range: freed addresses are reused as late as possible.
    std::byte* find_room(std::size_t size) {
        for (int round = 0; round < 2; ++round) {
            std::byte* at = next_;
            for (auto place = living_.lower_bound(at);; ++place) {
                std::byte* const limit = place == living_.end() ? end_ : const_cast<std::byte*>(place->first);
                if (static_cast<std::size_t>(limit - at) >= size) {
                    next_ = at + size;
                    return at;
                }
                if (place == living_.end()) break;
                at = limit + place->second.pages + page_;
            }
            next_ = begin_ + kBefore;
        }
        return nullptr;
    }

    /// Drops freed allocations in this range from reports, because the addresses are reused.
    void forget(const std::byte* first, const std::byte* last) {
        freed_.erase(freed_.lower_bound(first), freed_.lower_bound(last));
    }

    static void map(std::byte* start, std::size_t bytes, int protection, int kind, int file) {
        if (mmap(start, bytes, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | kind, file, 0) == MAP_FAILED)
            throw std::runtime_error(
                "emulator: the system allows no more than so many pieces of device memory (vm.max_map_count)");
    }
    static void protect(std::byte* start, std::size_t bytes, int protection) {
        if (mprotect(start, bytes, protection) != 0)
            throw std::runtime_error(
                "emulator: the system allows no more than so many pieces of device memory (vm.max_map_count)");
    }
    /// Closing an allocation would make Linux merge its pages with the closed ones around them, and opening would split them
    /// again: 30 us each. Mappings that differ in MADV_DONTDUMP are not merged, which reduces that to 2 us.
    static void keep_apart([[maybe_unused]] std::byte* start, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool apart) {
#if defined(MADV_DONTDUMP)
        madvise(start, bytes, apart ? MADV_DODUMP : MADV_DONTDUMP);
#endif
    }
    /// The host's access rights to an allocation while no kernel and no copy runs.
    int protection_of(const Living& living) const {
        return living.allocation.kind == MemoryKind::managed && !managed_closed_ ? PROT_READ | PROT_WRITE : PROT_NONE;
    }
    void protect() {
        for (auto& [first, living] : living_) {
            living.shown = 0;
            protect(const_cast<std::byte*>(first), living.pages, open_ > 0 ? PROT_READ | PROT_WRITE : protection_of(living));
        }
    }

    void poison(std::byte* first, std::size_t pages) {
        if (pages <= kFilled) {
            keep_apart(first, pages, true);
            protect(first, pages, PROT_READ | PROT_WRITE);
            std::memset(first, 0xff, pages);
            if (open_ == 0) protect(first, pages, PROT_NONE);
            return;
        }
        if (file_ < 0) file_ = poison_file();
        for (std::size_t i = 0; i < pages; i += kFile)
            map(first + i, std::min(kFile, pages - i), open_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE, 0, file_);
    }

    /// Under AddressSanitizer: the padding within the allocation's first and last page is out of bounds.
    static void fence(std::byte* first, std::byte* start, std::size_t bytes, std::size_t pages) {
        address_poison(first, static_cast<std::size_t>(start - first));
        address_poison(start + bytes, static_cast<std::size_t>(first + pages - start) - bytes);
    }

    const std::size_t total_;
    const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));  // 4 KB; on aarch64 16 or 64 KB, too
    std::size_t used_ = 0;
    std::byte *begin_ = nullptr, *end_ = nullptr, *next_ = nullptr;
    int open_ = 0;
    std::atomic<int> managed_ = 0;  // live allocations of managed memory
    bool managed_closed_ = false;
    std::vector<HostAccess> accesses_;  // to managed memory that was closed
    int file_ = -1;
    std::map<const std::byte*, Living> living_;     // by first page
    std::map<const std::byte*, Allocation> freed_;  // by start
    std::deque<const std::byte*> order_;            // order in which they were freed
    std::mutex mutex_;
};

std::atomic<bool> memory_exists = false;

/// Never destroyed: memory is given back in destructors of statics, too.
Memory& memory() {
    static Memory* const memory = [] {
        auto* const made = new Memory;
        memory_exists = true;
        return made;
    }();
    return *memory;
}

}  // namespace

std::byte* allocate(std::size_t bytes, const std::string& place, MemoryKind kind) {
    ++allocation_changes;
    return memory().allocate(bytes, place, kind);
}
bool release(const void* start) {
    ++allocation_changes;
    return memory().release(start);
}
void release_all() {
    if (memory_exists)
        for (const std::byte* const start : memory().starts()) release(start);
}
MemoryUse memory_use() { return memory().use(); }
std::size_t memory_total() { return device_memory(); }

std::optional<Allocation> nearest_allocation(const void* address) {
    if (!is_device_memory(address)) return mapped_memory(address);
    const std::lock_guard lock(memory().mutex());
    const Allocation* const found = memory().nearest(address);
    return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<Allocation> living_allocations() {
    if (detail::device_range_start == nullptr) return {};
    const std::lock_guard lock(memory().mutex());
    return memory().living();
}

bool lives(const void* start, std::size_t bytes) {
    if (!is_device_memory(start)) {
        const std::optional<Allocation> piece = mapped_memory(start);
        return piece && bytes <= static_cast<std::size_t>(piece->start + piece->bytes - static_cast<const std::byte*>(start));
    }
    const std::lock_guard lock(memory().mutex());
    const Allocation* const found = memory().nearest(start);
    if (found == nullptr || found->freed) return false;
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(start) - found->start);
    return offset <= found->bytes && bytes <= found->bytes - offset;
}

bool describe_fault(const void* address, bool& open, char* text, std::size_t size) {
    const std::unique_lock lock(memory().mutex(), std::try_to_lock);
    if (!lock.owns_lock()) return false;
    open = memory().is_open();
    const Allocation* const found = memory().nearest(address);
    if (found == nullptr) {
        std::snprintf(text, size, "an address that no allocation ever had");
        return true;
    }
    const auto offset = static_cast<const std::byte*>(address) - found->start;
    const auto length = static_cast<std::ptrdiff_t>(found->bytes);
    std::snprintf(text, size, "%td bytes %s an allocation of %td bytes made at %s%s",
                  offset < 0         ? -offset
                  : offset >= length ? offset - length
                                     : offset,
                  offset < 0         ? "before"
                  : offset >= length ? "past the end of"
                                     : "into",
                  length, found->place.c_str(), found->freed ? ", which was freed" : "");
    return true;
}

void close_managed_memory(bool closed) {
    if (memory_exists && memory().has_managed()) memory().close_managed(closed);
}
bool show_managed_memory(const HostAccess& access) { return memory_exists && memory().show_managed(access); }
std::vector<HostAccess> host_accesses() {
    return memory_exists && memory().has_managed() ? memory().accesses() : std::vector<HostAccess>();
}

Opened::Opened() { memory().open(); }
Opened::~Opened() { memory().close(); }

}  // namespace heddle::emulator
