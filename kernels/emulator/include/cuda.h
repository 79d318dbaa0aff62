// The driver's API. Only its types are here, because kernels are functions of the program: its functions are not declared.
#pragma once
#define __cuda_cuda_h__  // programs ask for it
#define CUDA_VERSION 13000

#include <cstddef>

#include "kernels/emulator/include/cuda_runtime_api.h"

typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;
typedef struct CUarray_st* CUarray;
typedef CUstream_st* CUstream;
typedef CUevent_st* CUevent;
typedef CUgraph_st* CUgraph;
typedef CUgraphExec_st* CUgraphExec;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef unsigned char cuuint8_t;
typedef unsigned cuuint32_t;
typedef unsigned long long cuuint64_t;

typedef enum cudaError_enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999,
} CUresult;

/// For code that shows the errors of either interface.
inline CUresult cuGetErrorName(CUresult, const char** name) { return *name = "an error of the driver's API", CUDA_SUCCESS; }
