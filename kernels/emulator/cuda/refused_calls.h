// Functions of the CUDA runtime that are refused: each returns cudaErrorNotSupported, says why on stderr the first time, and
// cudaGetErrorString repeats it. Their arguments may be anything.
#pragma once

#include "kernels/emulator/cuda/error_codes.h"

// Types that only refused functions take.
typedef struct cudaIpcMemHandle_st {
    char reserved[64];
} cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st {
    char reserved[64];
} cudaIpcEventHandle_t;
inline constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

namespace heddle::emulator {
/// "cudaIpcGetMemHandle: why", once on stderr. Returns cudaErrorNotSupported.
cudaError_t refuse_by_name(const char* call, const char* why);
}  // namespace heddle::emulator

#define HEDDLE_REFUSED(name, why)                            \
    template <class... Arguments>                            \
    cudaError_t name(const Arguments&...) {                  \
        return heddle::emulator::refuse_by_name(#name, why); \
    }

#define HEDDLE_WHY "one process has the memory of the emulated device"
HEDDLE_REFUSED(cudaIpcGetEventHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaIpcOpenEventHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaIpcGetMemHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaIpcOpenMemHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaIpcCloseMemHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemPoolExportToShareableHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemPoolImportFromShareableHandle, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemPoolExportPointer, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemPoolImportPointer, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "nothing draws or imports here; keep the data in memory of cudaMalloc"
HEDDLE_REFUSED(cudaGraphicsUnregisterResource, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsResourceSetMapFlags, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsMapResources, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsUnmapResources, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsResourceGetMappedPointer, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsSubResourceGetMappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphicsResourceGetMappedMipmappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaImportExternalMemory, HEDDLE_WHY)
HEDDLE_REFUSED(cudaExternalMemoryGetMappedBuffer, HEDDLE_WHY)
HEDDLE_REFUSED(cudaExternalMemoryGetMappedMipmappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDestroyExternalMemory, HEDDLE_WHY)
HEDDLE_REFUSED(cudaImportExternalSemaphore, HEDDLE_WHY)
HEDDLE_REFUSED(cudaSignalExternalSemaphoresAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaWaitExternalSemaphoresAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDestroyExternalSemaphore, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "mipmapped arrays are not emulated; use one array for each level"
HEDDLE_REFUSED(cudaMallocMipmappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetMipmappedArrayLevel, HEDDLE_WHY)
HEDDLE_REFUSED(cudaFreeMipmappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMipmappedArrayGetMemoryRequirements, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMipmappedArrayGetSparseProperties, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY \
    "texture and surface references were removed in CUDA 12; use cudaCreateTextureObject or cudaCreateSurfaceObject"
HEDDLE_REFUSED(cudaBindTexture, HEDDLE_WHY)
HEDDLE_REFUSED(cudaBindTexture2D, HEDDLE_WHY)
HEDDLE_REFUSED(cudaBindTextureToArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaBindTextureToMipmappedArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaUnbindTexture, HEDDLE_WHY)
HEDDLE_REFUSED(cudaBindSurfaceToArray, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetTextureReference, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetSurfaceReference, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetTextureAlignmentOffset, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "kernels are functions of this program, not of a file of GPU code"
HEDDLE_REFUSED(cudaLibraryLoadData, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryLoadFromFile, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryUnload, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryGetKernel, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryGetGlobal, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryGetManaged, HEDDLE_WHY)
HEDDLE_REFUSED(cudaLibraryGetUnifiedFunction, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetDriverEntryPoint, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetDriverEntryPointByVersion, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetKernel, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetFuncBySymbol, HEDDLE_WHY)
HEDDLE_REFUSED(cudaFuncGetParamInfo, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "the emulator has one device"
HEDDLE_REFUSED(cudaLaunchCooperativeKernelMultiDevice, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceGetNvSciSyncAttributes, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceFlushGPUDirectRDMAWrites, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceRegisterAsyncNotification, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceUnregisterAsyncNotification, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "the emulator does not keep this; ask for the properties of the device or the array instead"
HEDDLE_REFUSED(cudaMemRangeGetAttribute, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemRangeGetAttributes, HEDDLE_WHY)
HEDDLE_REFUSED(cudaArrayGetPlane, HEDDLE_WHY)
HEDDLE_REFUSED(cudaArrayGetMemoryRequirements, HEDDLE_WHY)
HEDDLE_REFUSED(cudaArrayGetSparseProperties, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceGetTexture1DLinearMaxWidth, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGetTextureObjectResourceViewDesc, HEDDLE_WHY)
HEDDLE_REFUSED(cudaStreamGetAttribute, HEDDLE_WHY)
HEDDLE_REFUSED(cudaStreamCopyAttributes, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "the emulator copies one piece a call; call cudaMemcpyAsync for each"
HEDDLE_REFUSED(cudaMemcpyBatchAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemcpy3DBatchAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemPrefetchBatchAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemDiscardBatchAsync, HEDDLE_WHY)
HEDDLE_REFUSED(cudaMemDiscardAndPrefetchBatchAsync, HEDDLE_WHY)
#undef HEDDLE_WHY

#define HEDDLE_WHY "the emulator only has graphs of cudaStreamBeginCapture; capture the work from a stream"
HEDDLE_REFUSED(cudaGraphCreate, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddKernelNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemcpyNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemcpyNode1D, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemsetNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddHostNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddChildGraphNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddEmptyNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddEventRecordNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddEventWaitNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddDependencies, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphGetNodes, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphGetRootNodes, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeGetType, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphKernelNodeGetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphKernelNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphKernelNodeSetAttribute, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphMemcpyNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphMemsetNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphHostNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecKernelNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecMemcpyNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecMemcpyNodeSetParams1D, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecMemsetNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecHostNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecChildGraphNodeSetParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphExecGetFlags, HEDDLE_WHY)
HEDDLE_REFUSED(cudaStreamBeginCaptureToGraph, HEDDLE_WHY)
HEDDLE_REFUSED(cudaStreamGetCaptureInfo, HEDDLE_WHY)
HEDDLE_REFUSED(cudaStreamUpdateCaptureDependencies, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemcpyNodeToSymbol, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemcpyNodeFromSymbol, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddExternalSemaphoresSignalNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddExternalSemaphoresWaitNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemAllocNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddMemFreeNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphAddNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphConditionalHandleCreate, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphClone, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeFindInClone, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphGetEdges, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeGetDependencies, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeGetDependentNodes, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphRemoveDependencies, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphDestroyNode, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphInstantiateWithParams, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeSetEnabled, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphNodeGetEnabled, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphDebugDotPrint, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceGraphMemTrim, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceGetGraphMemAttribute, HEDDLE_WHY)
HEDDLE_REFUSED(cudaDeviceSetGraphMemAttribute, HEDDLE_WHY)
HEDDLE_REFUSED(cudaUserObjectCreate, HEDDLE_WHY)
HEDDLE_REFUSED(cudaUserObjectRetain, HEDDLE_WHY)
HEDDLE_REFUSED(cudaUserObjectRelease, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphRetainUserObject, HEDDLE_WHY)
HEDDLE_REFUSED(cudaGraphReleaseUserObject, HEDDLE_WHY)
HEDDLE_REFUSED(cudaThreadExchangeStreamCaptureMode, HEDDLE_WHY)
#undef HEDDLE_WHY

#undef HEDDLE_REFUSED
