// Managed memory's hints.
#include <optional>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

/// Checks a hint about managed memory. It changes nothing: host and device share the memory.
cudaError_t check_hint(const char* call, const void* pointer, std::size_t bytes, int device) {
    if (const cudaError_t error = check_caller(call); error != cudaSuccess) return error;
    if (bytes == 0 || memory_kind(pointer) != MemoryKind::managed || !lives(pointer, bytes))
        return refuse(cudaErrorInvalidValue,
                      std::string(call) + ": not managed memory: " + std::to_string(bytes) + " bytes from " + describe(pointer));
    if (device != 0 && device != cudaCpuDeviceId)
        return refuse(cudaErrorInvalidDevice, std::string(call) + ": the emulator has one device, number 0");
    return cudaSuccess;
}
int device_of(cudaMemLocation location) { return location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId; }

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, cudaStream_t stream) {
    if (Streams::all().find(stream) == nullptr)
        return refuse(cudaErrorInvalidResourceHandle, "cudaMemPrefetchAsync: not a stream");
    return check_hint("cudaMemPrefetchAsync", pointer, bytes, device);
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
    if (flags != 0) return refuse(cudaErrorInvalidValue, "cudaMemPrefetchAsync: the flags must be 0");
    return cudaMemPrefetchAsync(pointer, bytes, device_of(location), stream);
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device) {
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
        return refuse(cudaErrorInvalidValue, "cudaMemAdvise: no such advice: " + std::to_string(advice));
    const bool names_device = advice == cudaMemAdviseSetPreferredLocation || advice >= cudaMemAdviseSetAccessedBy;
    return check_hint("cudaMemAdvise", pointer, bytes, names_device ? device : 0);
}
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
    return cudaMemAdvise(pointer, bytes, advice, device_of(location));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t bytes, unsigned flags) {
    if (Streams::all().find(stream) == nullptr)
        return refuse(cudaErrorInvalidResourceHandle, "cudaStreamAttachMemAsync: not a stream");
    const std::optional<Allocation> found = nearest_allocation(pointer);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return refuse(cudaErrorInvalidValue, "cudaStreamAttachMemAsync: no such flags: " + std::to_string(flags));
    if (found && found->kind == MemoryKind::variable) return cudaSuccess;  // __managed__
    if (!found || found->start != pointer || (bytes != 0 && bytes != found->bytes))
        return refuse(cudaErrorInvalidValue, "cudaStreamAttachMemAsync: not a whole allocation of cudaMallocManaged");
    return check_hint("cudaStreamAttachMemAsync", pointer, found->bytes, 0);
}
