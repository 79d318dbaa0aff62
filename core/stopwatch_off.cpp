// The stopwatch in a build without CUDA: not available.
#include "core/device.h"
#include "core/error.h"
#include "core/stopwatch.h"

namespace heddle::device {

Stopwatch::Stopwatch() { fail("stopwatch: " + why_unavailable()); }
Stopwatch::~Stopwatch() = default;
void Stopwatch::mark() {}
std::vector<double> Stopwatch::laps() { return {}; }

}  // namespace heddle::device
