// The device of a build without CUDA: never available, nor are its graphs, marks, streams and stopwatch.
#include "core/branch.h"
#include "core/device.h"
#include "core/device_impl.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/mark.h"

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
bool capturing() { return false; }
void count_launch() {}
}  // namespace detail

Graph::~Graph() = default;
void Graph::capture(const std::function<void()>&) { fail("device: " + why_unavailable()); }
void Graph::launch() { fail("device: " + why_unavailable()); }
void Graph::forget() {}

Staging::Staging() = default;
Staging::~Staging() { static_cast<void>(now_); }  // avoids clang's unused-member warning
std::byte* Staging::begin(std::int64_t) { fail("device: " + why_unavailable()); }
void Staging::send(void*, std::int64_t) { fail("device: " + why_unavailable()); }
Readback::~Readback() = default;
void Readback::request(const void*, std::int64_t) { fail("device: " + why_unavailable()); }
const std::byte* Readback::take() { fail("device: " + why_unavailable()); }

Mark::~Mark() { static_cast<void>(timed_), static_cast<void>(event_); }  // avoids clang's unused-member warning
void Mark::set() { fail("mark: " + why_unavailable()); }
void Mark::wait() const { fail("mark: " + why_unavailable()); }
double Mark::seconds_since(const Mark&) const { fail("mark: " + why_unavailable()); }

SideStream::SideStream() { fail("stream: " + why_unavailable()); }
SideStream::~SideStream() = default;

Stopwatch::Stopwatch() { fail("stopwatch: " + why_unavailable()); }
Stopwatch::~Stopwatch() = default;
void Stopwatch::mark() {}
std::vector<double> Stopwatch::laps() { return {}; }

// There is no stream to fork from.
Branches::Branches() : outermost_(false) {}
Branches::~Branches() { static_cast<void>(outermost_); }  // clang warns of members that nothing reads
void Branches::run(std::vector<Tensor>, const Tensor&, const std::function<void()>& body) { body(); }
bool Branches::writes(const Tensor&) { return false; }
void Branches::before_use_of(const Tensor&) {}
void Branches::join() {}

}  // namespace heddle::device
