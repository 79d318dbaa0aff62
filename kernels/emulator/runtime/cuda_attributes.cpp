// The attributes of the emulated device: its properties by number.
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (value == nullptr) return refuse(cudaErrorInvalidValue, "cudaDeviceGetAttribute: a null pointer for the result");
    cudaDeviceProp p;
    if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
    const auto give = [&](auto property) {
        *value = static_cast<int>(property);
        return cudaSuccess;
    };
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return give(p.maxThreadsPerBlock);
        case cudaDevAttrMaxBlockDimX: return give(p.maxThreadsDim[0]);
        case cudaDevAttrMaxBlockDimY: return give(p.maxThreadsDim[1]);
        case cudaDevAttrMaxBlockDimZ: return give(p.maxThreadsDim[2]);
        case cudaDevAttrMaxGridDimX: return give(p.maxGridSize[0]);
        case cudaDevAttrMaxGridDimY: return give(p.maxGridSize[1]);
        case cudaDevAttrMaxGridDimZ: return give(p.maxGridSize[2]);
        case cudaDevAttrMaxSharedMemoryPerBlock: return give(p.sharedMemPerBlock);
        case cudaDevAttrTotalConstantMemory: return give(p.totalConstMem);
        case cudaDevAttrWarpSize: return give(p.warpSize);
        case cudaDevAttrMaxPitch: return give(p.memPitch);
        case cudaDevAttrMaxRegistersPerBlock: return give(p.regsPerBlock);
        case cudaDevAttrClockRate: return give(p.clockRate);
        case cudaDevAttrTextureAlignment: return give(p.textureAlignment);
        case cudaDevAttrGpuOverlap: return give(p.deviceOverlap);
        case cudaDevAttrMultiProcessorCount: return give(p.multiProcessorCount);
        case cudaDevAttrKernelExecTimeout: return give(p.kernelExecTimeoutEnabled);
        case cudaDevAttrIntegrated: return give(p.integrated);
        case cudaDevAttrCanMapHostMemory: return give(p.canMapHostMemory);
        case cudaDevAttrComputeMode: return give(p.computeMode);
        case cudaDevAttrMaxTexture1DWidth: return give(p.maxTexture1D);
        case cudaDevAttrMaxTexture2DWidth: return give(p.maxTexture2D[0]);
        case cudaDevAttrMaxTexture2DHeight: return give(p.maxTexture2D[1]);
        case cudaDevAttrMaxTexture3DWidth: return give(p.maxTexture3D[0]);
        case cudaDevAttrMaxTexture3DHeight: return give(p.maxTexture3D[1]);
        case cudaDevAttrMaxTexture3DDepth: return give(p.maxTexture3D[2]);
        case cudaDevAttrMaxTexture2DLayeredWidth: return give(p.maxTexture2DLayered[0]);
        case cudaDevAttrMaxTexture2DLayeredHeight: return give(p.maxTexture2DLayered[1]);
        case cudaDevAttrMaxTexture2DLayeredLayers: return give(p.maxTexture2DLayered[2]);
        case cudaDevAttrSurfaceAlignment: return give(p.surfaceAlignment);
        case cudaDevAttrConcurrentKernels: return give(p.concurrentKernels);
        case cudaDevAttrEccEnabled: return give(p.ECCEnabled);
        case cudaDevAttrPciBusId: return give(p.pciBusID);
        case cudaDevAttrPciDeviceId: return give(p.pciDeviceID);
        case cudaDevAttrTccDriver: return give(p.tccDriver);
        case cudaDevAttrMemoryClockRate: return give(p.memoryClockRate);
        case cudaDevAttrGlobalMemoryBusWidth: return give(p.memoryBusWidth);
        case cudaDevAttrL2CacheSize: return give(p.l2CacheSize);
        case cudaDevAttrMaxThreadsPerMultiProcessor: return give(p.maxThreadsPerMultiProcessor);
        case cudaDevAttrAsyncEngineCount: return give(p.asyncEngineCount);
        case cudaDevAttrUnifiedAddressing: return give(p.unifiedAddressing);
        case cudaDevAttrMaxTexture1DLayeredWidth: return give(p.maxTexture1DLayered[0]);
        case cudaDevAttrMaxTexture1DLayeredLayers: return give(p.maxTexture1DLayered[1]);
        case cudaDevAttrMaxTexture2DGatherWidth: return give(p.maxTexture2DGather[0]);
        case cudaDevAttrMaxTexture2DGatherHeight: return give(p.maxTexture2DGather[1]);
        case cudaDevAttrMaxTexture3DWidthAlt: return give(p.maxTexture3DAlt[0]);
        case cudaDevAttrMaxTexture3DHeightAlt: return give(p.maxTexture3DAlt[1]);
        case cudaDevAttrMaxTexture3DDepthAlt: return give(p.maxTexture3DAlt[2]);
        case cudaDevAttrPciDomainId: return give(p.pciDomainID);
        case cudaDevAttrTexturePitchAlignment: return give(p.texturePitchAlignment);
        case cudaDevAttrMaxTextureCubemapWidth: return give(p.maxTextureCubemap);
        case cudaDevAttrMaxTextureCubemapLayeredWidth: return give(p.maxTextureCubemapLayered[0]);
        case cudaDevAttrMaxTextureCubemapLayeredLayers: return give(p.maxTextureCubemapLayered[1]);
        case cudaDevAttrMaxSurface1DWidth: return give(p.maxSurface1D);
        case cudaDevAttrMaxSurface2DWidth: return give(p.maxSurface2D[0]);
        case cudaDevAttrMaxSurface2DHeight: return give(p.maxSurface2D[1]);
        case cudaDevAttrMaxSurface3DWidth: return give(p.maxSurface3D[0]);
        case cudaDevAttrMaxSurface3DHeight: return give(p.maxSurface3D[1]);
        case cudaDevAttrMaxSurface3DDepth: return give(p.maxSurface3D[2]);
        case cudaDevAttrMaxSurface1DLayeredWidth: return give(p.maxSurface1DLayered[0]);
        case cudaDevAttrMaxSurface1DLayeredLayers: return give(p.maxSurface1DLayered[1]);
        case cudaDevAttrMaxSurface2DLayeredWidth: return give(p.maxSurface2DLayered[0]);
        case cudaDevAttrMaxSurface2DLayeredHeight: return give(p.maxSurface2DLayered[1]);
        case cudaDevAttrMaxSurface2DLayeredLayers: return give(p.maxSurface2DLayered[2]);
        case cudaDevAttrMaxSurfaceCubemapWidth: return give(p.maxSurfaceCubemap);
        case cudaDevAttrMaxSurfaceCubemapLayeredWidth: return give(p.maxSurfaceCubemapLayered[0]);
        case cudaDevAttrMaxSurfaceCubemapLayeredLayers: return give(p.maxSurfaceCubemapLayered[1]);
        case cudaDevAttrMaxTexture1DLinearWidth: return give(p.maxTexture1DLinear);
        case cudaDevAttrMaxTexture2DLinearWidth: return give(p.maxTexture2DLinear[0]);
        case cudaDevAttrMaxTexture2DLinearHeight: return give(p.maxTexture2DLinear[1]);
        case cudaDevAttrMaxTexture2DLinearPitch: return give(p.maxTexture2DLinear[2]);
        case cudaDevAttrMaxTexture2DMipmappedWidth: return give(p.maxTexture2DMipmap[0]);
        case cudaDevAttrMaxTexture2DMipmappedHeight: return give(p.maxTexture2DMipmap[1]);
        case cudaDevAttrComputeCapabilityMajor: return give(p.major);
        case cudaDevAttrComputeCapabilityMinor: return give(p.minor);
        case cudaDevAttrMaxTexture1DMipmappedWidth: return give(p.maxTexture1DMipmap);
        case cudaDevAttrStreamPrioritiesSupported: return give(p.streamPrioritiesSupported);
        case cudaDevAttrGlobalL1CacheSupported: return give(p.globalL1CacheSupported);
        case cudaDevAttrLocalL1CacheSupported: return give(p.localL1CacheSupported);
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return give(p.sharedMemPerMultiprocessor);
        case cudaDevAttrMaxRegistersPerMultiprocessor: return give(p.regsPerMultiprocessor);
        case cudaDevAttrManagedMemory: return give(p.managedMemory);
        case cudaDevAttrIsMultiGpuBoard: return give(p.isMultiGpuBoard);
        case cudaDevAttrMultiGpuBoardGroupID: return give(p.multiGpuBoardGroupID);
        case cudaDevAttrHostNativeAtomicSupported: return give(p.hostNativeAtomicSupported);
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: return give(p.singleToDoublePrecisionPerfRatio);
        case cudaDevAttrPageableMemoryAccess: return give(p.pageableMemoryAccess);
        case cudaDevAttrConcurrentManagedAccess: return give(p.concurrentManagedAccess);
        case cudaDevAttrComputePreemptionSupported: return give(p.computePreemptionSupported);
        case cudaDevAttrCanUseHostPointerForRegisteredMem: return give(p.canUseHostPointerForRegisteredMem);
        case cudaDevAttrCooperativeLaunch: return give(p.cooperativeLaunch);
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return give(p.sharedMemPerBlockOptin);
        case cudaDevAttrHostRegisterSupported: return give(p.hostRegisterSupported);
        case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return give(p.pageableMemoryAccessUsesHostPageTables);
        case cudaDevAttrDirectManagedMemAccessFromHost: return give(p.directManagedMemAccessFromHost);
        case cudaDevAttrMaxBlocksPerMultiprocessor: return give(p.maxBlocksPerMultiProcessor);
        case cudaDevAttrMaxPersistingL2CacheSize: return give(p.persistingL2CacheMaxSize);
        case cudaDevAttrMaxAccessPolicyWindowSize: return give(p.accessPolicyMaxWindowSize);
        case cudaDevAttrReservedSharedMemoryPerBlock: return give(p.reservedSharedMemPerBlock);
        case cudaDevAttrSparseCudaArraySupported: return give(p.sparseCudaArraySupported);
        case cudaDevAttrHostRegisterReadOnlySupported: return give(p.hostRegisterReadOnlySupported);
        case cudaDevAttrTimelineSemaphoreInteropSupported: return give(p.timelineSemaphoreInteropSupported);
        case cudaDevAttrMemoryPoolsSupported: return give(p.memoryPoolsSupported);
        case cudaDevAttrGPUDirectRDMASupported: return give(p.gpuDirectRDMASupported);
        case cudaDevAttrGPUDirectRDMAFlushWritesOptions: return give(p.gpuDirectRDMAFlushWritesOptions);
        case cudaDevAttrGPUDirectRDMAWritesOrdering: return give(p.gpuDirectRDMAWritesOrdering);
        case cudaDevAttrMemoryPoolSupportedHandleTypes: return give(p.memoryPoolSupportedHandleTypes);
        case cudaDevAttrClusterLaunch: return give(p.clusterLaunch);
        case cudaDevAttrDeferredMappingCudaArraySupported: return give(p.deferredMappingCudaArraySupported);
        case cudaDevAttrIpcEventSupport: return give(p.ipcEventSupported);
        case cudaDevAttrNumaConfig: return give(p.deviceNumaConfig);
        case cudaDevAttrNumaId: return give(p.deviceNumaId);
        case cudaDevAttrMpsEnabled: return give(p.mpsEnabled);
        case cudaDevAttrHostNumaId: return give(p.hostNumaId);
        case cudaDevAttrHostNumaMultinodeIpcSupported: return give(p.hostNumaMultinodeIpcSupported);
        case cudaDevAttrCanFlushRemoteWrites:
        case cudaDevAttrD3D12CigSupported:
        case cudaDevAttrVulkanCigSupported:
        case cudaDevAttrGpuPciDeviceId:
        case cudaDevAttrGpuPciSubsystemId:
        case cudaDevAttrHostNumaMemoryPoolsSupported:
        case cudaDevAttrHostMemoryPoolsSupported:
        case cudaDevAttrOnlyPartialHostNativeAtomicSupported: return give(0);
        case cudaDevAttrMemSyncDomainCount: return give(p.major < 9 ? 1 : 4);
        default: break;
    }
    return refuse(cudaErrorInvalidValue,
                  "cudaDeviceGetAttribute: the emulator does not know attribute " + std::to_string(attribute));
}
