// The emulated device memory: one reserved range of addresses, far larger than the machine's memory. Pages come when they are
// touched, so a tensor of 20 GB of which a kernel reads three rows costs three pages. Between kernels the range is closed to the
// host.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heddle::emulator {

/// Memory of `bytes` bytes on the device, aligned to 256 and fenced by red zones; null when more is asked for than the profile's
/// device holds. `place` says in reports who asked. Never written: reading it is reported.
std::byte* allocate(std::size_t bytes, const std::string& place);
/// From here on (the stream's order) touching it is reported. False when `start` is not an allocation's start.
bool release(void* start);

struct Allocation {
    std::byte* start;
    std::size_t bytes;
    std::string place;
    bool freed;
};
/// The allocation that holds the address, or the nearest one before it; null when there is none or the address is no device
/// address.
const Allocation* nearest_allocation(const void* address);
/// Whether the address lies in the device's range.
bool is_device_memory(const void* address);
/// The whole range of addresses, the same for the life of the process.
std::span<std::byte> device_range();

/// While one lives, host code of this process may touch device memory: kernels and copies run inside. Nested ones count.
class Opened {
  public:
    Opened();
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
};

}  // namespace heddle::emulator
