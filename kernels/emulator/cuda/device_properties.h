// Attributes and properties of the device. Names and values of the attributes are CUDA's.
#pragma once

#include <cstddef>

// The attributes, and the property that each is: what programs ask for before they launch. Limits of textures and the like are
// properties only.
// clang-format off
#define HEDDLE_DEVICE_ATTRIBUTES(ATTRIBUTE) \
    ATTRIBUTE(cudaDevAttrMaxThreadsPerBlock, 1, maxThreadsPerBlock) \
    ATTRIBUTE(cudaDevAttrMaxBlockDimX, 2, maxThreadsDim[0]) \
    ATTRIBUTE(cudaDevAttrMaxBlockDimY, 3, maxThreadsDim[1]) \
    ATTRIBUTE(cudaDevAttrMaxBlockDimZ, 4, maxThreadsDim[2]) \
    ATTRIBUTE(cudaDevAttrMaxGridDimX, 5, maxGridSize[0]) \
    ATTRIBUTE(cudaDevAttrMaxGridDimY, 6, maxGridSize[1]) \
    ATTRIBUTE(cudaDevAttrMaxGridDimZ, 7, maxGridSize[2]) \
    ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerBlock, 8, sharedMemPerBlock) \
    ATTRIBUTE(cudaDevAttrTotalConstantMemory, 9, totalConstMem) \
    ATTRIBUTE(cudaDevAttrWarpSize, 10, warpSize) \
    ATTRIBUTE(cudaDevAttrMaxPitch, 11, memPitch) \
    ATTRIBUTE(cudaDevAttrMaxRegistersPerBlock, 12, regsPerBlock) \
    ATTRIBUTE(cudaDevAttrClockRate, 13, clockRate) \
    ATTRIBUTE(cudaDevAttrGpuOverlap, 15, deviceOverlap) \
    ATTRIBUTE(cudaDevAttrMultiProcessorCount, 16, multiProcessorCount) \
    ATTRIBUTE(cudaDevAttrKernelExecTimeout, 17, kernelExecTimeoutEnabled) \
    ATTRIBUTE(cudaDevAttrIntegrated, 18, integrated) \
    ATTRIBUTE(cudaDevAttrCanMapHostMemory, 19, canMapHostMemory) \
    ATTRIBUTE(cudaDevAttrComputeMode, 20, computeMode) \
    ATTRIBUTE(cudaDevAttrConcurrentKernels, 31, concurrentKernels) \
    ATTRIBUTE(cudaDevAttrEccEnabled, 32, ECCEnabled) \
    ATTRIBUTE(cudaDevAttrTccDriver, 35, tccDriver) \
    ATTRIBUTE(cudaDevAttrMemoryClockRate, 36, memoryClockRate) \
    ATTRIBUTE(cudaDevAttrGlobalMemoryBusWidth, 37, memoryBusWidth) \
    ATTRIBUTE(cudaDevAttrL2CacheSize, 38, l2CacheSize) \
    ATTRIBUTE(cudaDevAttrMaxThreadsPerMultiProcessor, 39, maxThreadsPerMultiProcessor) \
    ATTRIBUTE(cudaDevAttrAsyncEngineCount, 40, asyncEngineCount) \
    ATTRIBUTE(cudaDevAttrUnifiedAddressing, 41, unifiedAddressing) \
    ATTRIBUTE(cudaDevAttrComputeCapabilityMajor, 75, major) \
    ATTRIBUTE(cudaDevAttrComputeCapabilityMinor, 76, minor) \
    ATTRIBUTE(cudaDevAttrStreamPrioritiesSupported, 78, streamPrioritiesSupported) \
    ATTRIBUTE(cudaDevAttrGlobalL1CacheSupported, 79, globalL1CacheSupported) \
    ATTRIBUTE(cudaDevAttrLocalL1CacheSupported, 80, localL1CacheSupported) \
    ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, sharedMemPerMultiprocessor) \
    ATTRIBUTE(cudaDevAttrMaxRegistersPerMultiprocessor, 82, regsPerMultiprocessor) \
    ATTRIBUTE(cudaDevAttrManagedMemory, 83, managedMemory) \
    ATTRIBUTE(cudaDevAttrHostNativeAtomicSupported, 86, hostNativeAtomicSupported) \
    ATTRIBUTE(cudaDevAttrSingleToDoublePrecisionPerfRatio, 87, singleToDoublePrecisionPerfRatio) \
    ATTRIBUTE(cudaDevAttrPageableMemoryAccess, 88, pageableMemoryAccess) \
    ATTRIBUTE(cudaDevAttrConcurrentManagedAccess, 89, concurrentManagedAccess) \
    ATTRIBUTE(cudaDevAttrCooperativeLaunch, 95, cooperativeLaunch) \
    ATTRIBUTE(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, sharedMemPerBlockOptin) \
    ATTRIBUTE(cudaDevAttrHostRegisterSupported, 99, hostRegisterSupported) \
    ATTRIBUTE(cudaDevAttrMaxBlocksPerMultiprocessor, 106, maxBlocksPerMultiProcessor) \
    ATTRIBUTE(cudaDevAttrMaxPersistingL2CacheSize, 108, persistingL2CacheMaxSize) \
    ATTRIBUTE(cudaDevAttrReservedSharedMemoryPerBlock, 111, reservedSharedMemPerBlock) \
    ATTRIBUTE(cudaDevAttrMemoryPoolsSupported, 115, memoryPoolsSupported) \
    ATTRIBUTE(cudaDevAttrClusterLaunch, 120, clusterLaunch)
// clang-format on

#define HEDDLE_ATTRIBUTE(name, value, property) name = value,
enum cudaDeviceAttr { HEDDLE_DEVICE_ATTRIBUTES(HEDDLE_ATTRIBUTE) };
#undef HEDDLE_ATTRIBUTE

typedef struct CUuuid_st {
    char bytes[16];
} CUuuid, cudaUUID_t;

/// CUDA 13's structure, and the fields of CUDA 12 that it no longer has, which older programs read.
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    std::size_t totalConstMem;
    int major, minor;
    std::size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2];
    int maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2];
    int maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    std::size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing;
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported;
    int memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, deviceNumaConfig;
    int deviceNumaId, mpsEnabled, hostNumaId;
    unsigned gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    // Fields of CUDA 12 that CUDA 13 removed:
    int clockRate, memoryClockRate;  ///< kHz
    int deviceOverlap, kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear, singleToDoublePrecisionPerfRatio;
    int cooperativeMultiDeviceLaunch;
};
