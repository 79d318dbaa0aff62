// Device::cuda in a build without CUDA: never available.
#include "core/device.h"
#include "core/device_impl.h"
#include "core/error.h"

namespace heddle::device {

bool available() { return false; }
std::string why_unavailable() {
    return "this build has no CUDA kernels; configure with -DHEDDLE_CUDA=nvcc or -DHEDDLE_CUDA=emulated";
}
bool emulated() { return false; }
std::string description() { return why_unavailable(); }
Statistics statistics() { return {}; }

int multiprocessors() { fail("device: " + why_unavailable()); }
void* current_stream() { fail("device: " + why_unavailable()); }
WithStream::WithStream(void*) : before_(nullptr) { fail("device: " + why_unavailable()); }
WithStream::~WithStream() { static_cast<void>(before_); }  // avoids clang's unused-member warning
void synchronize() { fail("device: " + why_unavailable()); }
void copy(void*, Device, const void*, Device, std::int64_t) { fail("device: " + why_unavailable()); }
void fill(void*, int, std::int64_t) { fail("device: " + why_unavailable()); }

namespace detail {
const MemoryPolicy& memory_policy() {
    static constexpr auto take = [](std::int64_t, void*) -> std::byte* { fail("device: " + why_unavailable()); };
    static constexpr MemoryPolicy none = {take, take, [](std::byte*, void*) {}, false};
    return none;
}
std::string memory_left() { return {}; }
void count_launch() {}
}  // namespace detail

}  // namespace heddle::device
