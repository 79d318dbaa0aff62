// Streams, events, waiting for them, and work that nobody waits for.
#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/graphs.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

cudaError_t no_stream(const char* call) {
    return refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not a stream, or one that was destroyed");
}
cudaError_t no_event(const char* call) {
    return refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not an event, or one that was destroyed");
}
cudaError_t captured_event(const char* call) {
    return refuse(cudaErrorCapturedEvent,
                  std::string(call) + ": the event was recorded during a capture, so nothing ever runs that it could tell of");
}

/// All events that live.
std::vector<std::unique_ptr<CUevent_st>>& events() {
    static auto* const events = new std::vector<std::unique_ptr<CUevent_st>>;
    return *events;
}

constexpr int kGreatestPriority = -5;

/// Puts a property of the stream into `to`.
template <class T, class Get>
cudaError_t read_attribute(cudaStream_t handle, T* to, const char* call, Get get) {
    const std::lock_guard lock(streams().mutex());
    const CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream(call);
    if (to == nullptr) return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer for the result");
    *to = static_cast<T>(get(*stream));
    return cudaSuccess;
}

}  // namespace

void heddle::emulator::run_without_waits() {
    if (!is_foreign_program()) return;
    static const bool started = [] {
        std::thread([] {
            for (std::uint64_t before = 0;;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                const std::uint64_t now = queued_operations;
                if (now == before && !streams().left_over().empty()) streams().wait_for_all(true);
                before = now;
            }
        }).detach();
        return true;
    }();
    static_cast<void>(started);
}

namespace heddle::emulator {

bool is_event(cudaEvent_t event) {
    return std::any_of(events().begin(), events().end(), [&](const auto& e) { return e.get() == event; });
}

std::shared_ptr<Operation> enqueue_mark(CUstream_st* stream, CUevent_st* event, std::vector<std::shared_ptr<Operation>> after) {
    event->capture = nullptr;
    event->time = std::make_shared<CUevent_st::Time>();
    Operation mark;
    mark.what = "cudaEventRecord";
    mark.work = [time = event->time] { *time = std::chrono::steady_clock::now(); };
    mark.marks_time = true;
    mark.keeps_books = true;  // behind a failure, too: somebody may ask for the time
    return event->mark = streams().enqueue(stream, std::move(mark), std::move(after));
}

/// Declared by cuda_runtime.h for files that are compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM.
bool use_default_stream_per_thread();
bool use_default_stream_per_thread() {
    streams().default_is_per_thread();
    return true;
}

cudaError_t check_caller(const char* call) {
    if (in_a_kernel()) {
        const SourceLine line = line_of_caller();
        ViolationRecord record = mistake("fault", {},
                                         std::string("calls ") + call + (line.text.empty() ? "" : " at " + line.text) +
                                             ", which the emulator does not run in kernels: call it from the host");
        record.file = line.file;
        record.line = line.line;
        violate(std::move(record));
    }
    if (!in_host_function()) return cudaSuccess;
    return refuse(cudaErrorNotPermitted, std::string(call) + ": a function of cudaLaunchHostFunc must not call the CUDA runtime");
}

cudaError_t submit(cudaStream_t handle, Operation operation) {
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream(operation.what.c_str());
    if (stream->capture != nullptr) return capture(stream, std::move(operation));
    if (const cudaError_t error = check_default_stream(stream, operation.what); error != cudaSuccess) return error;
    streams().enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t wait_in(cudaStream_t handle, const char* call) {
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream(call);
    if (is_capturing(stream)) return spoil_by_waiting(stream, call);
    return outcome(streams().wait_for(stream));
}

}  // namespace heddle::emulator

cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t error = check_caller("cudaDeviceSynchronize"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaDeviceSynchronize"); error != cudaSuccess) return error;
    return outcome(streams().wait_for_all());
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    if (const cudaError_t error = check_caller("cudaStreamCreateWithFlags"); error != cudaSuccess) return error;
    if (stream == nullptr || flags > cudaStreamNonBlocking)
        return refuse(cudaErrorInvalidValue,
                      "cudaStreamCreateWithFlags: a null pointer, or flags other than default and non-blocking");
    *stream = streams().create(flags == cudaStreamDefault);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    const cudaError_t error = cudaStreamCreateWithFlags(stream, flags);
    if (error == cudaSuccess) (*stream)->priority = std::clamp(priority, kGreatestPriority, 0);  // as CUDA does
    return error;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
    return read_attribute(handle, priority, "cudaStreamGetPriority", [](const CUstream_st& stream) { return stream.priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
    return read_attribute(handle, flags, "cudaStreamGetFlags",
                          [](const CUstream_st& stream) { return stream.blocking ? cudaStreamDefault : cudaStreamNonBlocking; });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
    if (streams().find(stream) == nullptr) return no_stream("cudaStreamSetAttribute");
    if (value == nullptr || attribute < cudaLaunchAttributeAccessPolicyWindow || attribute > cudaLaunchAttributePriority)
        return refuse(cudaErrorInvalidValue, "cudaStreamSetAttribute: a null pointer, or no such attribute");
    return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
    if (const cudaError_t error = check_caller("cudaDeviceReset"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaDeviceReset"); error != cudaSuccess) return error;
    const Failure failure = streams().wait_for_all();
    if (!leaks_are_mistakes()) release_all();  // else the program's end tells what it should have freed before
    return outcome(failure);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    if (const cudaError_t error = check_caller("cudaStreamDestroy"); error != cudaSuccess) return error;
    CUstream_st* const stream = handle == nullptr ? nullptr : streams().find(handle);
    if (stream == nullptr) return no_stream("cudaStreamDestroy");
    if (is_capturing(stream)) return spoil_by_waiting(stream, "cudaStreamDestroy");
    streams().destroy(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (const cudaError_t error = check_caller("cudaStreamSynchronize"); error != cudaSuccess) return error;
    return wait_in(stream, "cudaStreamSynchronize");
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    if (const cudaError_t error = check_caller("cudaStreamQuery"); error != cudaSuccess) return error;
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream("cudaStreamQuery");
    if (is_capturing(stream)) return spoil_by_waiting(stream, "cudaStreamQuery");
    std::shared_ptr<Operation> last;
    {
        const std::lock_guard lock(streams().mutex());
        last = stream->last;
    }
    return streams().done(last) || streams().lucky() ? outcome(streams().wait(last)) : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    if (const cudaError_t error = check_caller("cudaStreamWaitEvent"); error != cudaSuccess) return error;
    if (flags != 0) return refuse(cudaErrorInvalidValue, "cudaStreamWaitEvent: the flags must be 0");
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream("cudaStreamWaitEvent");
    if (!is_event(event)) return no_event("cudaStreamWaitEvent");
    if (event->capture != nullptr || (stream->capture != nullptr && event->mark != nullptr)) return capture_wait(stream, event);
    if (event->mark == nullptr) return cudaSuccess;  // never recorded
    if (const cudaError_t error = check_default_stream(stream, "cudaStreamWaitEvent"); error != cudaSuccess) return error;
    Operation wait;
    wait.what = "cudaStreamWaitEvent";
    streams().enqueue(stream, std::move(wait), {event->mark});
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data, Place place) {
    if (const cudaError_t error = check_caller("cudaLaunchHostFunc"); error != cudaSuccess) return error;
    if (function == nullptr) return refuse(cudaErrorInvalidValue, "cudaLaunchHostFunc: a null pointer for the function");
    Operation operation;
    operation.what = "cudaLaunchHostFunc";
    operation.place = place;
    operation.on_host = true;
    operation.work = [function, data] { function(data); };
    run_without_waits();
    return submit(stream, std::move(operation));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags, Place place) {
    if (const cudaError_t error = check_caller("cudaStreamAddCallback"); error != cudaSuccess) return error;
    if (callback == nullptr || flags != 0)
        return refuse(cudaErrorInvalidValue, "cudaStreamAddCallback: a null pointer for the function, or flags other than 0");
    if (is_capturing(stream))
        return spoil(stream, cudaErrorStreamCaptureUnsupported,
                     "cudaStreamAddCallback: a callback cannot be captured; use cudaLaunchHostFunc");
    Operation operation;
    operation.what = "cudaStreamAddCallback";
    operation.place = place;
    operation.on_host = true;
    operation.work = [stream, callback, data] { callback(stream, cudaSuccess, data); };
    run_without_waits();
    return submit(stream, std::move(operation));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (const cudaError_t error = check_caller("cudaEventCreateWithFlags"); error != cudaSuccess) return error;
    if (event == nullptr || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) != 0)
        return refuse(cudaErrorInvalidValue, "cudaEventCreateWithFlags: a null pointer, or no such flags");
    if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
        return refuse(cudaErrorInvalidValue, "cudaEventCreateWithFlags: an event for several processes cannot be timed");
    const std::lock_guard lock(streams().mutex());
    events().push_back(std::make_unique<CUevent_st>());
    *event = events().back().get();
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (const cudaError_t error = check_caller("cudaEventDestroy"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    return std::erase_if(events(), [&](const auto& e) { return e.get() == event; }) == 1 ? cudaSuccess
                                                                                         : no_event("cudaEventDestroy");
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    return cudaEventRecordWithFlags(event, handle, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    if (const cudaError_t error = check_caller("cudaEventRecord"); error != cudaSuccess) return error;
    if (flags > cudaEventRecordExternal)
        return refuse(cudaErrorInvalidValue, "cudaEventRecordWithFlags: flags other than default and external");
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return no_stream("cudaEventRecord");
    if (!is_event(event)) return no_event("cudaEventRecord");
    const bool external = flags == cudaEventRecordExternal;
    if (stream->capture != nullptr) return external ? capture_external_record(stream, event) : capture_record(stream, event);
    if (external)
        return refuse(cudaErrorInvalidValue,
                      "cudaEventRecordWithFlags: cudaEventRecordExternal is for streams that are captured");
    if (const cudaError_t error = check_default_stream(stream, "cudaEventRecord"); error != cudaSuccess) return error;
    enqueue_mark(stream, event);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (const cudaError_t error = check_caller("cudaEventSynchronize"); error != cudaSuccess) return error;
    std::shared_ptr<Operation> mark;
    {
        const std::lock_guard lock(streams().mutex());
        if (!is_event(event)) return no_event("cudaEventSynchronize");
        if (event->capture != nullptr) return captured_event("cudaEventSynchronize");
        mark = event->mark;
    }
    if (const cudaError_t error = check_capture("cudaEventSynchronize"); error != cudaSuccess) return error;
    return outcome(streams().wait(mark));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (const cudaError_t error = check_caller("cudaEventQuery"); error != cudaSuccess) return error;
    std::shared_ptr<Operation> mark;
    {
        const std::lock_guard lock(streams().mutex());
        if (!is_event(event)) return no_event("cudaEventQuery");
        if (event->capture != nullptr) return captured_event("cudaEventQuery");
        mark = event->mark;
    }
    if (const cudaError_t error = check_capture("cudaEventQuery"); error != cudaSuccess) return error;
    return streams().done(mark) || streams().lucky() ? outcome(streams().wait(mark)) : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (const cudaError_t error = check_caller("cudaEventElapsedTime"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    if (milliseconds == nullptr) return refuse(cudaErrorInvalidValue, "cudaEventElapsedTime: a null pointer for the result");
    if (!is_event(start) || !is_event(end)) return no_event("cudaEventElapsedTime");
    if (!start->timed || !end->timed || start->mark == nullptr || end->mark == nullptr)
        return refuse(cudaErrorInvalidResourceHandle,
                      "cudaEventElapsedTime: an event that was never recorded, or was made without timing");
    if (!start->mark->done || !end->mark->done) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
    return cudaSuccess;
}
