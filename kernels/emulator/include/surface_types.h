// Surfaces: arrays that kernels write. Names and values are CUDA's.
#pragma once

enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2,
};
enum cudaSurfaceFormatMode {
    cudaFormatModeForced = 0,
    cudaFormatModeAuto = 1,
};
typedef unsigned long long cudaSurfaceObject_t;
