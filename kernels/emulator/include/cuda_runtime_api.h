// The functions of the CUDA runtime, for builds without CUDA. Names and meanings are CUDA's; the device is emulated.
// docs/check.md lists them. cuda_runtime.h adds CUDA's typed forms of them.
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
#define __CUDA_RUNTIME_API_H__  // programs ask for it
#define CUDART_VERSION 13000
#define __CUDART_API_VERSION CUDART_VERSION

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/include/library_types.h"
#include "kernels/emulator/include/texture_types.h"
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
/// The name is "Heddle emulator (sm_90)"; the rest is the chip's: of the A100, A40, L40 or H100.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);
cudaError_t cudaDeviceSynchronize();
/// Runs what is queued, then frees all device memory that is left.
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDeviceFlags(unsigned flags);
/// A limit is kept and given back; it changes nothing here.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

#define HEDDLE_PLACE heddle::emulator::Place place = heddle::emulator::Place::current()

// Functions: a kernel by its address.
/// The kernel's name, with its template arguments.
cudaError_t cudaFuncGetName(const char** name, const void* function);
/// Registers and local memory are those that a plain kernel has: only a GPU's compiler knows them.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
/// cudaFuncAttributeMaxDynamicSharedMemorySize raises the 48 KB that a launch may ask for.
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                             cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                                        cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments, HEDDLE_PLACE);
/// Occupancy counts threads, blocks and shared memory; registers, which it leaves out, may allow fewer blocks.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block, std::size_t shared);

// Memory.
cudaError_t cudaMalloc(void** pointer, std::size_t bytes, HEDDLE_PLACE);
/// Rows begin at multiples of 512 bytes.
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height, HEDDLE_PLACE);
cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent, HEDDLE_PLACE);
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream, HEDDLE_PLACE);
/// Waits for all work, as CUDA's does. A failure of that work is returned and stays to be returned by the next call that waits.
cudaError_t cudaFree(void* pointer, HEDDLE_PLACE);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, HEDDLE_PLACE);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags, HEDDLE_PLACE);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, HEDDLE_PLACE);
cudaError_t cudaFreeHost(void* pointer);
/// From now on kernels reach the memory, and copies from and to it run in stream order.
cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags, HEDDLE_PLACE);
cudaError_t cudaHostUnregister(void* pointer);
/// The same address: host and device share one address space.
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaHostGetFlags(unsigned* flags, void* host);
/// Host code may touch managed memory unless queued work does: such an access is reported when that work has run.
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags = cudaMemAttachGlobal, HEDDLE_PLACE);
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t bytes = 0,
                                     unsigned flags = cudaMemAttachSingle);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

// Copies and fills.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, HEDDLE_PLACE);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                            HEDDLE_PLACE);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes, HEDDLE_PLACE);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream = nullptr, HEDDLE_PLACE);
/// `height` rows of `width` bytes, the rows `to_pitch` and `from_pitch` bytes apart.
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind, HEDDLE_PLACE);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters, HEDDLE_PLACE);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes, HEDDLE_PLACE);
cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height, HEDDLE_PLACE);
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height,
                              cudaStream_t stream = nullptr, HEDDLE_PLACE);
cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int byte, cudaExtent extent, HEDDLE_PLACE);

// Arrays: x offsets and widths of copies are bytes, as in CUDA; those of an array's own extent are elements.
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width, std::size_t height = 0,
                            unsigned flags = 0, HEDDLE_PLACE);
/// One to three dimensions; layers and cube maps are refused.
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags = 0,
                              HEDDLE_PLACE);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind, HEDDLE_PLACE);
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind, HEDDLE_PLACE);
/// `bytes` from (x, y) on, row after row.
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind, HEDDLE_PLACE);
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind, HEDDLE_PLACE);

// Textures (cuda/texture.h reads them in kernels).
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* reading, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);

// Streams and events.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
/// Priorities are kept, from 0 (least) to -5; they change nothing, since work runs in any order that is allowed.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
/// Attributes are checked and forgotten: nothing here depends on them.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value);
/// Calls the function with cudaSuccess after the work before it.
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags, HEDDLE_PLACE);
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
