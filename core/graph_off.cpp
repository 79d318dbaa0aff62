// Graphs and staging of a build without CUDA: there are none.
#include "core/device.h"
#include "core/error.h"
#include "core/graph.h"

namespace heddle::device {

Graph::~Graph() = default;
void Graph::capture(const std::function<void()>&) { fail("device: " + why_unavailable()); }
void Graph::launch() { fail("device: " + why_unavailable()); }
void Graph::forget() {}

Staging::Staging() = default;
Staging::~Staging() { static_cast<void>(now_); }  // clang warns of members that nothing reads
std::byte* Staging::begin(std::int64_t) { fail("device: " + why_unavailable()); }
void Staging::send(void*, std::int64_t) { fail("device: " + why_unavailable()); }

}  // namespace heddle::device
