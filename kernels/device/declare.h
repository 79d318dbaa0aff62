// The CUDA side of an op, as host code sees it. Each <op>.h ends with it: functions named *_cuda, which <op>.cu defines. Their
// arguments have been checked by <op>.cpp.
#pragma once

#include "core/error.h"

namespace heddle::device {

/// No CUDA tensor can exist in a build without CUDA, so this is never reached there.
[[noreturn]] inline void no_cuda() { fail("this build has no CUDA kernels; configure with -DHEDDLE_CUDA=nvcc or emulated"); }

}  // namespace heddle::device

/// Declares a function that a .cu file defines. In a build without .cu files it always fails, so that callers need no checks:
///     HEDDLE_CUDA_FUNCTION(void softmax_forward_cuda(const Tensor& x, const Tensor& mask, Tensor& y))
#if defined(HEDDLE_WITHOUT_CUDA)
#define HEDDLE_CUDA_FUNCTION(...)                                                                                \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"") inline __VA_ARGS__ { \
        ::heddle::device::no_cuda();                                                                             \
    }                                                                                                            \
    _Pragma("GCC diagnostic pop")
#else
#define HEDDLE_CUDA_FUNCTION(...) __VA_ARGS__;
#endif
