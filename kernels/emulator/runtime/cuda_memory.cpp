// Device memory, managed memory and pinned host memory: allocation and what is known of it.
#include <optional>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

cudaError_t take(void** pointer, std::size_t bytes, Place place, const char* call, MemoryKind kind = MemoryKind::device) {
    if (pointer == nullptr) return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer for the result");
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    *pointer = allocate(bytes, text_of(place), kind);
    if (*pointer == nullptr) {
        // Memory freed in stream order is available again when that work has run.
        Streams::all().wait_for_all(true);
        *pointer = allocate(bytes, text_of(place), kind);
    }
    if (*pointer != nullptr) return cudaSuccess;
    const MemoryUse use = memory_use();
    return refuse(cudaErrorMemoryAllocation, std::string(call) + ": out of memory: wanted " + std::to_string(bytes) + " bytes, " +
                                                 std::to_string(use.total - use.used) + " of the emulated device's " +
                                                 std::to_string(use.total) + " are free (HEDDLE_EMULATOR_MEMORY)");
}

/// "" if `pointer` is the start of a live allocation.
std::string why_not_freed(const void* pointer, const char* call) {
    const std::optional<Allocation> found = nearest_allocation(pointer);
    if (found && found->start == pointer && !found->freed) return "";
    return std::string(call) + ": " + (found && found->start == pointer ? "freed twice: " : "not the start of an allocation: ") +
           describe(pointer);
}

/// The rows begin at multiples of kPitch, as on a GPU.
cudaError_t take_rows(cudaPitchedPtr& pitched, cudaExtent extent, Place place, const char* call) {
    constexpr std::size_t kPitch = 512;
    if (const cudaError_t error = check_caller(call); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture(call); error != cudaSuccess) return error;
    const std::size_t pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    pitched = {nullptr, pitch, extent.width, extent.height};
    return take(&pitched.ptr, pitch * extent.height * extent.depth, place, call);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes, Place place) {
    if (const cudaError_t error = check_caller("cudaMalloc"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaMalloc"); error != cudaSuccess) return error;
    return take(pointer, bytes, place, "cudaMalloc");
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height, Place place) {
    cudaPitchedPtr pitched = {};
    if (pointer == nullptr || pitch == nullptr)
        return refuse(cudaErrorInvalidValue, "cudaMallocPitch: a null pointer for a result");
    const cudaError_t error = take_rows(pitched, {width, height, 1}, place, "cudaMallocPitch");
    *pointer = pitched.ptr;
    *pitch = pitched.pitch;
    return error;
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent, Place place) {
    if (pitched == nullptr) return refuse(cudaErrorInvalidValue, "cudaMalloc3D: a null pointer for the result");
    return take_rows(*pitched, extent, place, "cudaMalloc3D");
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags, Place place) {
    if (const cudaError_t error = check_caller("cudaMallocManaged"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaMallocManaged"); error != cudaSuccess) return error;
    if ((flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) || bytes == 0)
        return refuse(cudaErrorInvalidValue, "cudaMallocManaged: no bytes, or flags other than cudaMemAttachGlobal and -Host");
    return take(pointer, bytes, place, "cudaMallocManaged", MemoryKind::managed);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream, Place place) {
    if (const cudaError_t error = check_caller("cudaMallocAsync"); error != cudaSuccess) return error;
    if (Streams::all().find(stream) == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaMallocAsync: not a stream");
    if (is_capturing(stream))
        return spoil(stream, cudaErrorNotSupported, "cudaMallocAsync: the emulator captures no allocations");
    if (const cudaError_t error = take(pointer, bytes, place, "cudaMallocAsync"); error != cudaSuccess || bytes == 0)
        return error;
    // The memory exists from here on in stream order: operations of other streams that use it must be ordered after this one.
    Operation operation;
    operation.what = "cudaMallocAsync";
    operation.place = place;
    operation.writes = {Rows::of(*pointer, bytes)};
    operation.keeps_books = true;
    operation.work = [] {};
    return submit(stream, std::move(operation));
}

cudaError_t cudaFree(void* pointer, Place) {
    if (const cudaError_t error = check_caller("cudaFree"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaFree"); error != cudaSuccess) return error;
    const Failure failure = Streams::all().wait_for_all(true);
    if (pointer != nullptr) {
        if (const std::string why = why_not_freed(pointer, "cudaFree"); !why.empty()) return refuse(cudaErrorInvalidValue, why);
        release(pointer);
    }
    return outcome(failure);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, Place place) {
    if (const cudaError_t error = check_caller("cudaFreeAsync"); error != cudaSuccess) return error;
    if (pointer == nullptr) return cudaSuccess;
    if (Streams::all().find(stream) == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaFreeAsync: not a stream");
    if (is_capturing(stream)) return spoil(stream, cudaErrorNotSupported, "cudaFreeAsync: the emulator captures no allocations");
    if (const std::string why = why_not_freed(pointer, "cudaFreeAsync"); !why.empty()) return refuse(cudaErrorInvalidValue, why);
    Operation operation;
    operation.what = "cudaFreeAsync";
    operation.place = place;
    operation.writes = {Rows::of(pointer, nearest_allocation(pointer)->bytes)};
    operation.keeps_books = true;
    operation.work = [pointer] {
        if (!release(pointer)) throw Violation("cudaFreeAsync: freed twice: " + describe(pointer));
    };
    return submit(stream, std::move(operation));
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    if (free == nullptr || total == nullptr) return refuse(cudaErrorInvalidValue, "cudaMemGetInfo: a null pointer for a result");
    const MemoryUse use = memory_use();
    *free = use.total - use.used;
    *total = use.total;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags, Place place) {
    if (const cudaError_t error = check_caller("cudaHostAlloc"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaHostAlloc"); error != cudaSuccess) return error;
    if (pointer == nullptr) return refuse(cudaErrorInvalidValue, "cudaHostAlloc: a null pointer for the result");
    if ((flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) != 0)
        return refuse(cudaErrorInvalidValue, "cudaHostAlloc: no such flags: " + std::to_string(flags));
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    *pointer = allocate_pinned(bytes, flags, text_of(place));
    return *pointer != nullptr
               ? cudaSuccess
               : refuse(cudaErrorMemoryAllocation, "cudaHostAlloc: the machine has no " + std::to_string(bytes) + " bytes");
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, Place place) {
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault, place);
}

cudaError_t cudaFreeHost(void* pointer) {
    if (const cudaError_t error = check_caller("cudaFreeHost"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaFreeHost"); error != cudaSuccess) return error;
    const Failure failure = Streams::all().wait_for_all(true);
    if (pointer != nullptr && !release_pinned(pointer))
        return refuse(cudaErrorInvalidValue,
                      "cudaFreeHost: not the start of pinned memory that cudaHostAlloc or cudaMallocHost gave");
    return outcome(failure);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags, Place place) {
    if (const cudaError_t error = check_caller("cudaHostRegister"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaHostRegister"); error != cudaSuccess) return error;
    if (pointer == nullptr || bytes == 0) return refuse(cudaErrorInvalidValue, "cudaHostRegister: a null pointer, or no bytes");
    if (flags > (cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly))
        return refuse(cudaErrorInvalidValue, "cudaHostRegister: no such flags: " + std::to_string(flags));
    if ((flags & cudaHostRegisterIoMemory) != 0)
        return refuse(cudaErrorNotSupported, "cudaHostRegister: the emulator reaches no memory of other devices");
    if (memory_kind(pointer) == MemoryKind::device || memory_kind(pointer) == MemoryKind::managed)
        return refuse(cudaErrorInvalidValue, "cudaHostRegister: " + describe(pointer) + " is not the host's memory");
    if (!register_pinned(pointer, bytes, flags, text_of(place)))
        return refuse(cudaErrorHostMemoryAlreadyRegistered, "cudaHostRegister: a part of the memory is pinned already");
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
    if (const cudaError_t error = check_caller("cudaHostUnregister"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaHostUnregister"); error != cudaSuccess) return error;
    const Failure failure = Streams::all().wait_for_all(true);
    if (!unregister_pinned(pointer))
        return refuse(cudaErrorHostMemoryNotRegistered, "cudaHostUnregister: not the start of registered memory");
    return outcome(failure);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    if (device == nullptr || flags != 0)
        return refuse(cudaErrorInvalidValue, "cudaHostGetDevicePointer: a null pointer for the result, or flags other than 0");
    if (!is_pinned(host))
        return refuse(cudaErrorInvalidValue,
                      "cudaHostGetDevicePointer: not pinned memory: allocate it by cudaHostAlloc or register it first");
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
    const std::optional<unsigned> found = flags_of_pinned(host);
    if (flags == nullptr || !found)
        return refuse(cudaErrorInvalidValue, "cudaHostGetFlags: a null pointer, or not pinned memory");
    *flags = *found | cudaHostAllocMapped;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    if (attributes == nullptr) return refuse(cudaErrorInvalidValue, "cudaPointerGetAttributes: a null pointer for the result");
    auto* const address = const_cast<void*>(pointer);
    switch (memory_kind(pointer)) {
        case MemoryKind::host: *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address}; break;
        case MemoryKind::pinned: *attributes = {cudaMemoryTypeHost, 0, address, address}; break;
        case MemoryKind::managed: *attributes = {cudaMemoryTypeManaged, 0, address, address}; break;
        default: *attributes = {cudaMemoryTypeDevice, 0, address, nullptr}; break;
    }
    return cudaSuccess;
}

// ---- managed memory's hints ----

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
