// The macros of CUDA's headers that are no keywords. __host__, __device__ and their kin are the rewriter's.
#pragma once

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDART_CB
#define CUDARTAPI
#define CUDAAPI
#define __cudart_builtin__
#define __device_builtin__
