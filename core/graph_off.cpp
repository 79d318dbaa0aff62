// Graphs and staging in a build without CUDA: not available.
#include "core/device.h"
#include "core/error.h"
#include "core/graph.h"

namespace heddle::device {

Graph::~Graph() = default;
void Graph::capture(const std::function<void()>&) { fail("device: " + why_unavailable()); }
void Graph::launch() { fail("device: " + why_unavailable()); }
void Graph::forget() {}

Staging::Staging() = default;
Staging::~Staging() { static_cast<void>(now_); }  // avoids clang's unused-member warning
std::byte* Staging::begin(std::int64_t) { fail("device: " + why_unavailable()); }
void Staging::send(void*, std::int64_t) { fail("device: " + why_unavailable()); }

}  // namespace heddle::device
