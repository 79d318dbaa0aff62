// The emulated device's name and properties.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

constexpr int kVersion = 13000;
constexpr std::size_t kSharedUnasked = 48 * 1024;

cudaError_t no_such_device(int device) {
    return device == 0 ? cudaSuccess
                       : refuse(cudaErrorInvalidDevice, "the emulator has one device, number 0, not " + std::to_string(device));
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return no_such_device(device); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (const cudaError_t error = no_such_device(device); error != cudaSuccess) return error;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Heddle emulator (%s)", profile().name);
    properties->totalGlobalMem = memory_total();
    properties->sharedMemPerBlock = kSharedUnasked;
    properties->sharedMemPerBlockOptin = profile().shared_per_block;
    properties->sharedMemPerMultiprocessor = profile().shared_per_multiprocessor;
    properties->regsPerBlock = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    std::copy_n(std::to_array({1024, 1024, 64}).begin(), 3, properties->maxThreadsDim);
    std::copy_n(std::to_array({std::numeric_limits<int>::max(), 65535, 65535}).begin(), 3, properties->maxGridSize);
    properties->major = profile().major;
    properties->minor = profile().minor;
    properties->multiProcessorCount = profile().multiprocessors;
    properties->l2CacheSize = 50 << 20;
    properties->maxThreadsPerMultiProcessor = profile().threads_per_multiprocessor;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
        case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
        case cudaDevAttrWarpSize: *value = p.warpSize; break;
        case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
        case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
        case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
        case cudaDevAttrCooperativeLaunch: *value = 1; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
        case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
        case cudaDevAttrClusterLaunch: *value = profile().clusters ? 1 : 0; break;
        default:
            return refuse(cudaErrorInvalidValue,
                          "cudaDeviceGetAttribute: the emulator does not know attribute " + std::to_string(attribute));
    }
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = kVersion;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = kVersion;
    return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
    if (name == nullptr || function == nullptr) return refuse(cudaErrorInvalidValue, "cudaFuncGetName: a null pointer");
    *name = kept(kernel_name(function));
    return cudaSuccess;
}
