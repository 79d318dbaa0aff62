// Marks, streams and the stopwatch on the CUDA runtime, NVIDIA's or the emulator's.
#include <cuda_runtime.h>

#include "core/device.h"
#include "core/device_cuda.h"
#include "core/format.h"
#include "core/mark.h"

namespace heddle::device {
namespace {

cudaEvent_t event(void* mark) { return static_cast<cudaEvent_t>(mark); }

}  // namespace

Mark::~Mark() {
    if (event_ != nullptr) cudaEventDestroy(event(event_));
}

// Without the flag, an event that is recorded in a capture orders only streams of that capture and is not part of the graph.
void Mark::set() {
    if (event_ == nullptr) {
        cudaEvent_t made = nullptr;
        must(cudaEventCreateWithFlags(&made, timed_ ? cudaEventDefault : cudaEventDisableTiming), "cudaEventCreateWithFlags");
        event_ = made;
    }
    must(
        cudaEventRecordWithFlags(event(event_), stream(), detail::capturing() ? cudaEventRecordExternal : cudaEventRecordDefault),
        "cudaEventRecordWithFlags");
}

void Mark::wait() const {
    check(event_ != nullptr, "mark: waited for, but never set");
    must(cudaStreamWaitEvent(stream(), event(event_), 0), "cudaStreamWaitEvent");
}

double Mark::seconds_since(const Mark& earlier) const {
    check(event_ != nullptr && earlier.event_ != nullptr, "mark: its time is asked for, but it was never set");
    must(cudaEventSynchronize(event(earlier.event_)), "cudaEventSynchronize");
    must(cudaEventSynchronize(event(event_)), "cudaEventSynchronize");
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, event(earlier.event_), event(event_)), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
}

SideStream::SideStream() {
    check(available(), "stream: {}", why_unavailable());
    cudaStream_t made = nullptr;
    must(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    stream_ = made;
}
SideStream::~SideStream() { cudaStreamDestroy(static_cast<cudaStream_t>(stream_)); }

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
