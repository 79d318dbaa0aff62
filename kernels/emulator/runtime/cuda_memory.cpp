// Device memory and pinned host memory.
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

cudaError_t take(void** pointer, std::size_t bytes, Place place, const char* call) {
    if (pointer == nullptr) return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer for the result");
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    *pointer = allocate(bytes, text_of(place));
    if (*pointer == nullptr) {
        // Memory freed in stream order is available again when that work has run.
        Streams::all().wait_for_all(true);
        *pointer = allocate(bytes, text_of(place));
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

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes, Place place) {
    if (const cudaError_t error = check_caller("cudaMalloc"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaMalloc"); error != cudaSuccess) return error;
    return take(pointer, bytes, place, "cudaMalloc");
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
    const MemoryUse use = memory_use();
    *free = use.total - use.used;
    *total = use.total;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
    if (const cudaError_t error = check_caller("cudaHostAlloc"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaHostAlloc"); error != cudaSuccess) return error;
    if (pointer == nullptr) return refuse(cudaErrorInvalidValue, "cudaHostAlloc: a null pointer for the result");
    if ((flags & ~cudaHostAllocPortable) != 0)
        return refuse(cudaErrorInvalidValue,
                      "cudaHostAlloc: the emulator knows the flags default and portable, not " + std::to_string(flags));
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    *pointer = allocate_pinned(bytes);
    return *pointer != nullptr
               ? cudaSuccess
               : refuse(cudaErrorMemoryAllocation, "cudaHostAlloc: the machine has no " + std::to_string(bytes) + " bytes");
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) { return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* pointer) {
    if (const cudaError_t error = check_caller("cudaFreeHost"); error != cudaSuccess) return error;
    if (const cudaError_t error = check_capture("cudaFreeHost"); error != cudaSuccess) return error;
    const Failure failure = Streams::all().wait_for_all(true);
    if (pointer != nullptr && !release_pinned(pointer))
        return refuse(cudaErrorInvalidValue, "cudaFreeHost: not the start of pinned memory");
    return outcome(failure);
}
