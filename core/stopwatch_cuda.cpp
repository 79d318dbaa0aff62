// The stopwatch on CUDA events, NVIDIA's or the emulator's.
#include <cuda_runtime.h>

#include "core/device.h"
#include "core/device_cuda.h"
#include "core/format.h"
#include "core/stopwatch.h"

namespace heddle::device {
namespace {

cudaEvent_t event(void* mark) { return static_cast<cudaEvent_t>(mark); }

}  // namespace

Stopwatch::Stopwatch() { check(available(), "stopwatch: {}", why_unavailable()); }

Stopwatch::~Stopwatch() {
    for (void* mark : marks_) cudaEventDestroy(event(mark));
}

void Stopwatch::mark() {
    cudaEvent_t made = nullptr;
    must(cudaEventCreate(&made), "cudaEventCreate");
    marks_.push_back(made);
    must(cudaEventRecord(made, stream()), "cudaEventRecord");
}

std::vector<double> Stopwatch::laps() {
    synchronize();
    std::vector<double> seconds;
    for (std::size_t i = 1; i < marks_.size(); ++i) {
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, event(marks_[i - 1]), event(marks_[i])), "cudaEventElapsedTime");
        seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    for (void* mark : marks_) cudaEventDestroy(event(mark));
    marks_.clear();
    return seconds;
}

}  // namespace heddle::device
