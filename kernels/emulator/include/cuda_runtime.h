// The functions of the CUDA runtime that Heddle's host code calls, for builds without CUDA. Names and meanings are CUDA's; the
// device is emulated.
//
// Host code includes <cuda_runtime.h> and does not know which one it gets. Two things differ. Some functions take a last
// parameter that remembers the caller's place for reports; so they cannot be called through a pointer to CUDA's type of function.
// And a failed kernel does not make the device unusable: the call that waits for it returns cudaErrorLaunchFailure,
// cudaGetErrorString returns the emulator's whole report for that code, and work queued after the failure is dropped.
//
// Where CUDA leaves a choice, the emulator chooses what shows most mistakes:
// - Work runs as late as is allowed: when the host waits for it (cudaStreamSynchronize, cudaDeviceSynchronize,
//   cudaEventSynchronize, copies that wait, cudaFree), or, at random, at a cudaStreamQuery or cudaEventQuery. Only what the wait
//   needs is certain to run; whether and when other streams' work runs is random.
// - cudaMemcpyAsync from pinned memory reads it when the copy runs, and reports bytes that have changed since the call. From
//   pageable memory it reads at the call. Pinned memory that it copies to is 0xff from the call until the copy runs. A copy to
//   pageable memory waits.
// - The null stream is CUDA's legacy default stream: it waits for all streams except those made with
//   cudaStreamNonBlocking, and they wait for it.
#pragma once

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/include/library_types.h"
#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/place.h"

// Errors. The last one is kept for each thread.
const char* cudaGetErrorName(cudaError_t error);
/// CUDA's words. For the code that was returned last on this thread, the emulator's own words with all it knows; for
/// cudaErrorLaunchFailure the whole report.
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

// The device. There is one, number 0.
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
/// "Heddle emulator (sm_90)"
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
/// The kernel's name, with its template arguments.
cudaError_t cudaFuncGetName(const char** name, const void* function);

// Memory.
#define HEDDLE_PLACE heddle::emulator::Place place = heddle::emulator::Place::current()

cudaError_t cudaMalloc(void** pointer, std::size_t bytes, HEDDLE_PLACE);
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream, HEDDLE_PLACE);
/// Waits for all work, as CUDA's does. A failure of that work is returned and stays to be returned by the next call that waits.
cudaError_t cudaFree(void* pointer, HEDDLE_PLACE);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, HEDDLE_PLACE);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t cudaFreeHost(void* pointer);

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, HEDDLE_PLACE);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                            HEDDLE_PLACE);
/// `height` rows of `width` bytes, the rows `to_pitch` and `from_pitch` bytes apart.
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes, HEDDLE_PLACE);
cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream = nullptr, HEDDLE_PLACE);

// Streams and events.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
/// Returns at once. Work that is still queued runs when all work is waited for.
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data, HEDDLE_PLACE);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
/// cudaEventRecordExternal, in a capture only: the graph records the event at each launch, for streams outside of it.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned flags = cudaEventRecordDefault);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// The time between the moments when the emulator ran the two: nothing that says anything about a GPU.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// Graphs: kernels, copies, fills and host functions. cudaMallocAsync and cudaFreeAsync are refused during a capture.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
/// Gives the executable graph the arguments of `graph`, which must consist of the same calls and kernels in the same order; else
/// cudaErrorGraphExecUpdateFailure, and the executable graph stays as it is.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

#undef HEDDLE_PLACE

// CUDA's typed forms.
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes, heddle::emulator::Place place = heddle::emulator::Place::current()) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes, place);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream,
                            heddle::emulator::Place place = heddle::emulator::Place::current()) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream, place);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
