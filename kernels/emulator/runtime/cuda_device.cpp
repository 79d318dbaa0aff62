// The emulated device's name and properties.
#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

constexpr int kVersion = 13000;
constexpr int kKilobyte = 1024;
constexpr int kSharedUnasked = 48 * kKilobyte;
constexpr int kRegisters = 65536;

/// Properties of the A100, A40, L40, H100, B200 and RTX 5090 that programs can query and the emulator does not use itself.
struct Facts {
    int major, minor;
    int clock, memory_clock;  // kHz
    int bus_bits, l2_bytes, copy_engines, float_per_double;
};
constexpr Facts kFacts[] = {
    {8, 0, 1410000, 1215000, 5120, 40 * kKilobyte* kKilobyte, 3, 2},
    {8, 6, 1740000, 7251000, 384, 6 * kKilobyte* kKilobyte, 2, 64},
    {8, 9, 2490000, 9001000, 384, 96 * kKilobyte* kKilobyte, 2, 64},
    {9, 0, 1980000, 2619000, 5120, 50 * kKilobyte* kKilobyte, 3, 2},
    {10, 0, 1965000, 3996000, 8192, 126 * kKilobyte* kKilobyte, 4, 2},
    {12, 0, 2407000, 14001000, 512, 96 * kKilobyte* kKilobyte, 2, 64},
};
const Facts& facts() {
    for (const Facts& each : kFacts)
        if (each.major == profile().major && each.minor == profile().minor) return each;
    return kFacts[3];
}

cudaError_t no_such_device(int device) {
    return device == 0 ? cudaSuccess
                       : refuse(cudaErrorInvalidDevice, "the emulator has one device, number 0, not " + std::to_string(device));
}

template <std::size_t n>
void set(int (&to)[n], std::initializer_list<int> values) {
    std::copy_n(values.begin(), n, to);
}

/// The largest textures and surfaces of compute capability 8.0 to 12.0 ("Technical specifications per compute capability").
void set_texture_limits(cudaDeviceProp& p) {
    p.textureAlignment = p.surfaceAlignment = 512;
    p.texturePitchAlignment = 32;
    p.maxTexture1D = 131072;
    p.maxTexture1DMipmap = 32768;
    p.maxTexture1DLinear = 268435456;
    set(p.maxTexture2D, {131072, 65536});
    set(p.maxTexture2DMipmap, {32768, 32768});
    set(p.maxTexture2DLinear, {131072, 65000, 2097120});
    set(p.maxTexture2DGather, {32768, 32768});
    set(p.maxTexture3D, {16384, 16384, 16384});
    set(p.maxTexture3DAlt, {8192, 8192, 32768});
    p.maxTextureCubemap = p.maxSurfaceCubemap = 32768;
    set(p.maxTexture1DLayered, {32768, 2048});
    set(p.maxTexture2DLayered, {32768, 32768, 2048});
    set(p.maxTextureCubemapLayered, {32768, 2046});
    p.maxSurface1D = 32768;
    set(p.maxSurface2D, {131072, 65536});
    set(p.maxSurface3D, {16384, 16384, 16384});
    set(p.maxSurface1DLayered, {32768, 2048});
    set(p.maxSurface2DLayered, {32768, 32768, 2048});
    set(p.maxSurfaceCubemapLayered, {32768, 2046});
}

/// Sets the abilities of the emulated device. It has no unregistered host memory, IPC, sparse arrays or graphics.
void set_abilities(cudaDeviceProp& p) {
    p.canMapHostMemory = p.concurrentKernels = p.ECCEnabled = p.unifiedAddressing = p.deviceOverlap = 1;
    p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
    p.managedMemory = p.concurrentManagedAccess = p.computePreemptionSupported = p.canUseHostPointerForRegisteredMem = 1;
    p.cooperativeLaunch = p.hostRegisterSupported = p.memoryPoolsSupported = 1;
    p.clusterLaunch = profile().clusters ? 1 : 0;
    p.asyncEngineCount = facts().copy_engines;
    p.computeMode = cudaComputeModeDefault;
    p.pciBusID = 1;
    p.deviceNumaId = p.hostNumaId = -1;
}

/// Settings of the device that are kept and given back.
struct Settings {
    unsigned flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;
    std::array<std::size_t, cudaLimitPersistingL2CacheSize + 1> limits = {
        kKilobyte, kKilobyte* kKilobyte, 8 * kKilobyte* kKilobyte, 2, 2048, 64, 0};
};
Settings& settings() {
    static Settings settings;
    return settings;
}

cudaError_t not_null(const void* pointer, const char* call) {
    return pointer != nullptr ? cudaSuccess
                              : refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer for the result");
}

/// Success and the value, unless the place for it is missing.
template <class T>
cudaError_t give(T* to, T value, const char* call) {
    if (const cudaError_t error = not_null(to, call); error != cudaSuccess) return error;
    *to = value;
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) { return give(count, 1, "cudaGetDeviceCount"); }
cudaError_t cudaGetDevice(int* device) { return give(device, 0, "cudaGetDevice"); }
cudaError_t cudaSetDevice(int device) { return no_such_device(device); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (const cudaError_t error = not_null(properties, "cudaGetDeviceProperties"); error != cudaSuccess) return error;
    if (const cudaError_t error = no_such_device(device); error != cudaSuccess) return error;
    cudaDeviceProp& p = *properties;
    p = {};
    std::snprintf(p.name, sizeof p.name, "Heddle emulator (%s)", profile().name);
    std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "heddle %s", profile().name);
    p.totalGlobalMem = memory_total();
    p.sharedMemPerBlock = kSharedUnasked;
    p.sharedMemPerBlockOptin = profile().shared_per_block;
    p.sharedMemPerMultiprocessor = profile().shared_per_multiprocessor;
    p.reservedSharedMemPerBlock = kKilobyte;
    p.regsPerBlock = p.regsPerMultiprocessor = kRegisters;
    p.warpSize = 32;
    p.memPitch = std::numeric_limits<int>::max();
    p.maxThreadsPerBlock = 1024;
    set(p.maxThreadsDim, {1024, 1024, 64});
    set(p.maxGridSize, {std::numeric_limits<int>::max(), 65535, 65535});
    p.totalConstMem = 64 * kKilobyte;
    p.major = profile().major;
    p.minor = profile().minor;
    p.multiProcessorCount = multiprocessor_count();
    p.maxThreadsPerMultiProcessor = profile().threads_per_multiprocessor;
    p.maxBlocksPerMultiProcessor = profile().blocks_per_multiprocessor;
    p.clockRate = facts().clock;
    p.memoryClockRate = facts().memory_clock;
    p.memoryBusWidth = facts().bus_bits;
    p.l2CacheSize = facts().l2_bytes;
    p.persistingL2CacheMaxSize = facts().l2_bytes / 4 * 3;
    p.accessPolicyMaxWindowSize = 128 * kKilobyte * kKilobyte - 4 * kKilobyte;
    p.singleToDoublePrecisionPerfRatio = facts().float_per_double;
    set_texture_limits(p);
    set_abilities(p);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
    switch (attribute) {
#define HEDDLE_ATTRIBUTE(name, number, property) \
    case name: return give(value, static_cast<int>(p.property), "cudaDeviceGetAttribute");
        HEDDLE_DEVICE_ATTRIBUTES(HEDDLE_ATTRIBUTE)
#undef HEDDLE_ATTRIBUTE
    }
    return refuse(cudaErrorInvalidValue,
                  "cudaDeviceGetAttribute: the emulator does not know attribute " + std::to_string(attribute));
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    if (const cudaError_t error = no_such_device(device); error != cudaSuccess) return error;
    if (text == nullptr || length < 13)
        return refuse(cudaErrorInvalidValue, "cudaDeviceGetPCIBusId: wanted room for 13 characters");
    std::snprintf(text, static_cast<std::size_t>(length), "0000:01:00.0");
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    if ((flags & ~cudaDeviceMask) != 0 || (flags & cudaDeviceScheduleMask) > cudaDeviceScheduleBlockingSync)
        return refuse(cudaErrorInvalidValue, "cudaSetDeviceFlags: no such flags: " + std::to_string(flags));
    settings().flags = flags | cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
    if (limit < 0 || limit > cudaLimitPersistingL2CacheSize)
        return refuse(cudaErrorUnsupportedLimit, "cudaDeviceSetLimit: no such limit: " + std::to_string(limit));
    settings().limits[limit] = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    if (limit < 0 || limit > cudaLimitPersistingL2CacheSize)
        return refuse(cudaErrorUnsupportedLimit, "cudaDeviceGetLimit: no such limit: " + std::to_string(limit));
    return give(value, settings().limits[limit], "cudaDeviceGetLimit");
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    for (const int each : {device, peer})
        if (const cudaError_t error = no_such_device(each); error != cudaSuccess) return error;
    return give(can, 0, "cudaDeviceCanAccessPeer");
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    if (const cudaError_t error = no_such_device(peer); error != cudaSuccess) return error;
    return refuse(cudaErrorInvalidDevice, "cudaDeviceEnablePeerAccess: a device is no peer of itself, and the emulator has one");
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    if (const cudaError_t error = no_such_device(peer); error != cudaSuccess) return error;
    return refuse(cudaErrorPeerAccessNotEnabled, "cudaDeviceDisablePeerAccess: the emulator has one device, and so no peers");
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t cudaRuntimeGetVersion(int* version) { return give(version, kVersion, "cudaRuntimeGetVersion"); }
cudaError_t cudaDriverGetVersion(int* version) { return give(version, kVersion, "cudaDriverGetVersion"); }

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
