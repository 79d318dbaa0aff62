// The CUDA runtime for builds without CUDA: cuda_runtime_api.h and CUDA's typed forms of its functions. Host code includes
// <cuda_runtime.h> and does not know which one it gets.
#pragma once
#define __CUDA_RUNTIME_H__  // programs ask for it

#include "kernels/emulator/include/cuda_runtime_api.h"
#include "kernels/emulator/include/vector_types.h"

#define HEDDLE_PLACE heddle::emulator::Place place = heddle::emulator::Place::current()

// Memory.
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes, HEDDLE_PLACE) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes, place);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream, HEDDLE_PLACE) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream, place);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned flags = cudaMemAttachGlobal, HEDDLE_PLACE) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height, HEDDLE_PLACE) {
    return cudaMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height, place);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags, HEDDLE_PLACE) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned flags = cudaHostAllocDefault, HEDDLE_PLACE) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags, place);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
template <class T>
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* pointer, std::size_t bytes = 0,
                                     unsigned flags = cudaMemAttachSingle) {
    return cudaStreamAttachMemAsync(stream, (void*)pointer, bytes, flags);
}
inline cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, std::size_t pitch, std::size_t width, std::size_t height) {
    return {pointer, pitch, width, height};
}

// Events and graphs.
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t*, char* log,
                                        std::size_t bytes) {
    if (log != nullptr && bytes > 0) *log = 0;
    return cudaGraphInstantiate(executable, graph, 0);
}

/// Flags about speed are without effect, and no graph allocates memory that a launch would free.
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    constexpr unsigned long long idle =
        cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority;
    return cudaGraphInstantiate(executable, graph, flags & ~idle);
}
/// There is nothing to upload.
inline cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
    return executable != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

// Kernels by their function.
template <class T>
cudaError_t cudaFuncGetName(const char** name, T* function) {
    return cudaFuncGetName(name, (const void*)function);
}
template <class T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* function) {
    return cudaFuncGetAttributes(attributes, (const void*)function);
}
template <class T>
cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute((const void*)function, attribute, value);
}
template <class T>
cudaError_t cudaFuncSetCacheConfig(T* function, cudaFuncCache config) {
    return cudaFuncSetCacheConfig((const void*)function, config);
}
template <class T>
cudaError_t cudaLaunchKernel(T* function, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                             cudaStream_t stream = nullptr, HEDDLE_PLACE) {
    return cudaLaunchKernel((const void*)function, grid, block, arguments, shared, stream, place);
}
template <class T>
cudaError_t cudaLaunchCooperativeKernel(T* function, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                                        cudaStream_t stream = nullptr, HEDDLE_PLACE) {
    return cudaLaunchCooperativeKernel((const void*)function, grid, block, arguments, shared, stream, place);
}
template <class T>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, T* function, void** arguments, HEDDLE_PLACE) {
    return cudaLaunchKernelExC(config, (const void*)function, arguments, place);
}
/// The arguments are converted to the kernel's parameters.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments&&... arguments) {
    return [&](Parameters... values) {
        void* addresses[sizeof...(Parameters) + 1] = {(void*)&values..., nullptr};
        return cudaLaunchKernelExC(config, (const void*)kernel, addresses);
    }(static_cast<Parameters>(static_cast<Arguments&&>(arguments))...);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T function, int block, std::size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)function, block, shared);
}

namespace heddle::emulator {
/// The block size, in whole warps, with which most threads are resident on a multiprocessor, and the grid that fills the chip.
/// `shared` tells the bytes of a block of that size.
cudaError_t best_block(int* grid, int* block, const void* function, std::size_t (*shared)(const void* of, int block),
                       const void* of, int limit);
}  // namespace heddle::emulator

template <class T, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, T function, Bytes bytes, int limit = 0) {
    return heddle::emulator::best_block(
        grid, block, (const void*)function,
        [](const void* of, int size) -> std::size_t {
            Bytes& call = *const_cast<Bytes*>(static_cast<const Bytes*>(of));
            return static_cast<std::size_t>(call(size));
        },
        &bytes, limit);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, T function, std::size_t shared = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        grid, block, function, [shared](int) { return shared; }, limit);
}

#undef HEDDLE_PLACE

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
namespace heddle::emulator {
/// From now on the null stream of the program's calls is each thread's own. Returns true.
bool use_default_stream_per_thread();
[[maybe_unused]] static const bool default_stream_is_per_thread = use_default_stream_per_thread();
}  // namespace heddle::emulator
#endif
