// The emulated device memory: one reserved range of addresses, far larger than the machine's memory. Pages come when they are
// touched, so a tensor of 20 GB of which a kernel reads three rows costs three pages. Between kernels the range is closed to the
// host.
//
// Each allocation has pages of its own and ends at a page's end (except for padding to 256 bytes), with a closed page behind it:
// most accesses past its end hit that page in every build. Freed pages are given back and stay closed; their addresses are used
// again only when the whole range has been used once, so a pointer that outlives its memory is found.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace heddle::emulator {

/// Memory of `bytes` bytes (more than 0) on the device, aligned to 256 and fenced by closed pages; null when more is asked for
/// than the device has left: HEDDLE_EMULATOR_MEMORY ("500M", "80G", the default). `place` says in reports who asked. All bytes
/// are 0xff, a NaN in every floating-point type: never written, and reading it is reported by the checker.
std::byte* allocate(std::size_t bytes, const std::string& place);
/// From here on touching it is reported. False when `start` is not the start of an allocation that lives.
bool release(const void* start);

struct Allocation {
    std::byte* start;
    std::size_t bytes;
    std::string place;
    bool freed;
};
/// The allocation that holds the address, or the nearest one before it, freed ones too; none when there is none or the address is
/// no device address.
std::optional<Allocation> nearest_allocation(const void* address);
/// Whether all the bytes lie in one allocation that lives.
bool lives(const void* start, std::size_t bytes);
/// "12 bytes into an allocation of 400 bytes made at core/device_cuda.cpp:90", "4 bytes past the end of ..", ".. which was
/// freed".
std::string describe(const void* address);

struct MemoryUse {
    std::size_t total, used;
};
MemoryUse memory_use();
/// Its total alone: nothing is reserved for it, so who only asks what device there is needs no addresses.
std::size_t memory_total();

namespace detail {
extern constinit const std::byte* device_range_start;
extern constinit const std::byte* device_range_end;
}  // namespace detail
/// Whether the address lies in the device's range.
inline bool is_device_memory(const void* address) {
    return address >= detail::device_range_start && address < detail::device_range_end;
}

/// While one exists, host code of this process may touch device memory: kernels and copies run inside. Nested ones count.
class Opened {
  public:
    Opened();
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
};

/// Reports touches of closed device memory (memory_fault.cpp): called once, when the range is reserved.
void watch_faults();
/// describe() for a signal handler: false when another thread holds the books. At most `size` bytes with the closing zero;
/// nothing is allocated.
bool describe_fault(const void* address, bool& open, char* text, std::size_t size);

}  // namespace heddle::emulator
