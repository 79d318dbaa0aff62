// Marks and streams in a build without CUDA: not available.
#include "core/device.h"
#include "core/error.h"
#include "core/mark.h"

namespace heddle::device {

Mark::~Mark() { static_cast<void>(timed_), static_cast<void>(event_); }  // avoids clang's unused-member warning
void Mark::set() { fail("mark: " + why_unavailable()); }
void Mark::wait() const { fail("mark: " + why_unavailable()); }
double Mark::seconds_since(const Mark&) const { fail("mark: " + why_unavailable()); }

SideStream::SideStream() { fail("stream: " + why_unavailable()); }
SideStream::~SideStream() = default;

}  // namespace heddle::device
