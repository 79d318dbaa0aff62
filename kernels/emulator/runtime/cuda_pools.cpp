// Managed memory's hints, and memory pools. A pool is a name here: memory comes from the device and goes back to it at once.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

struct CUmemPoolHandle_st {
    std::array<std::uint64_t, cudaMemPoolAttrUsedMemHigh + 1> attributes = {0, 1, 1, 1, 0, 0, 0, 0, 0};
};

namespace {

struct Pools {
    std::mutex mutex;
    std::vector<std::unique_ptr<CUmemPoolHandle_st>> all;
    cudaMemPool_t current = nullptr;
    Pools() {
        all.push_back(std::make_unique<CUmemPoolHandle_st>());
        current = all.front().get();
    }
};
Pools& pools() {
    static Pools* const pools = new Pools;
    return *pools;
}

/// An error if it is not a pool. The caller holds the lock.
cudaError_t check_pool(const char* call, cudaMemPool_t pool) {
    const auto& all = pools().all;
    if (std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == pool; })) return cudaSuccess;
    return refuse(cudaErrorInvalidValue, std::string(call) + ": not a memory pool, or one that was destroyed");
}

cudaError_t check_attribute(const char* call, cudaMemPool_t pool, cudaMemPoolAttr attribute, const void* value) {
    if (const cudaError_t error = check_pool(call, pool); error != cudaSuccess) return error;
    if (value != nullptr && attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrUsedMemHigh)
        return cudaSuccess;
    return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer, or no such attribute");
}

/// The first three attributes are of type int, the others of 8 bytes.
bool is_switch(cudaMemPoolAttr attribute) { return attribute <= cudaMemPoolReuseAllowInternalDependencies; }

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

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return error;
    if (pool == nullptr) return refuse(cudaErrorInvalidValue, "cudaDeviceGetDefaultMemPool: a null pointer for the result");
    const std::lock_guard lock(pools().mutex);
    *pool = pools().all.front().get();
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return error;
    if (pool == nullptr) return refuse(cudaErrorInvalidValue, "cudaDeviceGetMemPool: a null pointer for the result");
    const std::lock_guard lock(pools().mutex);
    *pool = pools().current;
    return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return error;
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_pool("cudaDeviceSetMemPool", pool); error != cudaSuccess) return error;
    pools().current = pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    if (pool == nullptr || properties == nullptr) return refuse(cudaErrorInvalidValue, "cudaMemPoolCreate: a null pointer");
    if (properties->handleTypes != cudaMemHandleTypeNone)
        return refuse(cudaErrorNotSupported, "cudaMemPoolCreate: memory of the emulated device cannot be shared by processes");
    if (properties->location.type != cudaMemLocationTypeDevice || properties->location.id != 0)
        return refuse(cudaErrorInvalidValue, "cudaMemPoolCreate: the location must be device 0");
    const std::lock_guard lock(pools().mutex);
    pools().all.push_back(std::make_unique<CUmemPoolHandle_st>());
    *pool = pools().all.back().get();
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_pool("cudaMemPoolDestroy", pool); error != cudaSuccess) return error;
    auto& all = pools().all;
    if (pool == all.front().get()) return refuse(cudaErrorInvalidValue, "cudaMemPoolDestroy: the default pool stays");
    if (pools().current == pool) pools().current = all.front().get();
    all.erase(std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.get() == pool; }));
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_attribute("cudaMemPoolSetAttribute", pool, attribute, value); error != cudaSuccess)
        return error;
    pool->attributes[attribute] =
        is_switch(attribute) ? static_cast<std::uint64_t>(*static_cast<int*>(value) != 0) : *static_cast<std::uint64_t*>(value);
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_attribute("cudaMemPoolGetAttribute", pool, attribute, value); error != cudaSuccess)
        return error;
    // All memory of the device counts as every pool's, which keeps nothing in reserve.
    const bool is_use = attribute == cudaMemPoolAttrReservedMemCurrent || attribute == cudaMemPoolAttrUsedMemCurrent;
    if (is_use) pool->attributes[attribute] = memory_use().used;
    if (is_switch(attribute))
        *static_cast<int*>(value) = static_cast<int>(pool->attributes[attribute]);
    else
        *static_cast<std::uint64_t*>(value) = pool->attributes[attribute];
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
    const std::lock_guard lock(pools().mutex);
    return check_pool("cudaMemPoolTrimTo", pool);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, std::size_t count) {
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_pool("cudaMemPoolSetAccess", pool); error != cudaSuccess) return error;
    for (std::size_t i = 0; i < count; ++i)
        if (list[i].location.type != cudaMemLocationTypeDevice || list[i].location.id != 0 ||
            list[i].flags != cudaMemAccessFlagsProtReadWrite)
            return refuse(cudaErrorInvalidValue, "cudaMemPoolSetAccess: the only device, 0, always reads and writes its pools");
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
    const std::lock_guard lock(pools().mutex);
    if (const cudaError_t error = check_pool("cudaMemPoolGetAccess", pool); error != cudaSuccess) return error;
    if (flags == nullptr || location == nullptr) return refuse(cudaErrorInvalidValue, "cudaMemPoolGetAccess: a null pointer");
    *flags = location->type == cudaMemLocationTypeDevice && location->id == 0 ? cudaMemAccessFlagsProtReadWrite
                                                                              : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream, Place place) {
    {
        const std::lock_guard lock(pools().mutex);
        if (const cudaError_t error = check_pool("cudaMallocFromPoolAsync", pool); error != cudaSuccess) return error;
    }
    return cudaMallocAsync(pointer, bytes, stream, place);
}
