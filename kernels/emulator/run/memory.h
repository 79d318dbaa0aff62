// The emulated device memory: one reserved address range, far larger than the machine's memory. Pages are committed when touched,
// so a tensor of 20 GB of which a kernel reads three rows costs three pages. Between kernels the host cannot access the range.
//
// Each allocation has its own pages and ends at a page's end (except for padding to 256 bytes), followed by a closed page: most
// accesses past its end hit that page in every build. Freed pages are released and stay closed; their addresses are reused only
// after the whole range has been used once, so use after free is detected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::emulator {

namespace cuda {
struct Shape;
}

/// The kind of memory at an address. Both sides use managed memory; kernels also reach pinned memory and the program's __device__
/// variables.
enum class MemoryKind : unsigned char { host, pinned, device, managed, variable, constant };

/// Allocates `bytes` bytes (more than 0) on the device, aligned to 256 and surrounded by closed pages; null if the device has
/// less left: HEDDLE_EMULATOR_MEMORY ("500M"; default "80G"). `place` names the caller in reports. All bytes are 0xff, a NaN in
/// every floating-point type; they count as never written, and the checker reports reading them.
std::byte* allocate(std::size_t bytes, const std::string& place, MemoryKind kind = MemoryKind::device);
/// Frees an allocation; touching it is then reported. False if `start` is not the start of a live allocation.
bool release(const void* start);
/// Counts allocations and releases.
inline std::atomic<std::uint64_t> allocation_changes = 0;
/// Frees every allocation.
void release_all();

struct Allocation {
    std::byte* start;
    std::size_t bytes;
    std::string place;  ///< where it was made; the name of a variable
    bool freed;
    MemoryKind kind = MemoryKind::device;
    const cuda::Shape* shape = nullptr;  ///< a variable's
};
/// The allocation that contains the address, or the nearest one before it, including freed ones; outside of the device's range,
/// the mapped piece (below) that contains the address. Else none.
std::optional<Allocation> nearest_allocation(const void* address);
/// All that live, by address.
std::vector<Allocation> living_allocations();
/// Whether all bytes are in one live allocation, or in one variable.
bool lives(const void* start, std::size_t bytes);
/// "12 bytes into an allocation of 400 bytes made at core/device_cuda.cpp:90", "4 bytes past the end of ..", ".. which was
/// freed".
std::string describe(const void* address);
/// "an allocation of 400 bytes made at core/device_cuda.cpp:90", "the variable `table` of 64 bytes".
std::string title(const Allocation& allocation);

MemoryKind memory_kind(const void* address);

/// Lets kernels reach memory outside of the device's range: pinned or registered host memory, or a variable of the program. Its
/// bytes count as written, because the checker does not see the host's writes. A later piece at the same start replaces the
/// earlier one.
void map_memory(void* start, std::size_t bytes, MemoryKind kind, const std::string& name, const cuda::Shape* shape = nullptr);
/// False if no piece begins there.
bool unmap_memory(const void* start);
/// The mapped piece that contains the address.
std::optional<Allocation> mapped_memory(const void* address);

struct MemoryUse {
    std::size_t total, used;
};
MemoryUse memory_use();
/// Only the total. Reserves no addresses, so querying the device is cheap.
std::size_t memory_total();

namespace detail {
extern constinit const std::byte* device_range_start;
extern constinit const std::byte* device_range_end;
}  // namespace detail
/// Whether the address is in the device's range.
inline bool is_device_memory(const void* address) {
    return address >= detail::device_range_start && address < detail::device_range_end;
}

/// While one exists, host code of this process may touch device memory: kernels and copies run inside one. They may be nested.
class Opened {
  public:
    Opened();
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
};

/// An access of host code to managed memory while work was queued.
struct HostAccess {
    const std::byte* address;
    bool written;
    const void* code;
    std::uint64_t queued;   ///< the number of operations that had been queued by then
    std::string file = {};  ///< of the source, if the program tells its violations
    int line = 0;
};
/// Closes managed memory to the host while work is queued: each access to a closed page is kept, and opens it. Opening it forgets
/// them.
void close_managed_memory(bool closed);
/// Called by the handler: false if the address is not in closed managed memory.
bool show_managed_memory(const HostAccess& access);
std::vector<HostAccess> host_accesses();
/// The number of operations queued so far, for HostAccess.
inline std::atomic<std::uint64_t> queued_operations = 0;

/// Installs the handler that reports accesses to closed device memory (memory_fault.cpp). Called once, when the range is
/// reserved.
void watch_faults();
/// describe() for a signal handler: false if another thread holds the lock. Writes at most `size` bytes, including the
/// terminating zero, and allocates nothing.
bool describe_fault(const void* address, bool& open, char* text, std::size_t size);

}  // namespace heddle::emulator
