// From the processor's level to the right build of a *_fast.cpp function.
#pragma once

#include "core/cpu.h"

/// Declares the function in the namespaces v2, v3 and v4: a *_fast.cpp file is compiled once for each.
///     HEDDLE_DECLARE_LEVELS(void scale_rows(const float* x, float* y, std::int64_t n))
/// HEDDLE_ONE_LEVEL (core/cpu.h): there is one build, v2, and the other names stand for it.
#if !defined(HEDDLE_ONE_LEVEL)
#define HEDDLE_DECLARE_LEVELS(...) \
    namespace v2 {                 \
    __VA_ARGS__;                   \
    }                              \
    namespace v3 {                 \
    __VA_ARGS__;                   \
    }                              \
    namespace v4 {                 \
    __VA_ARGS__;                   \
    }
#else
#define HEDDLE_DECLARE_LEVELS(...) \
    namespace v2 {                 \
    __VA_ARGS__;                   \
    }
namespace heddle::kernels {
namespace v2 {}
namespace v3 = v2;
namespace v4 = v2;
}  // namespace heddle::kernels
#endif

namespace heddle::kernels {

/// The build for the level in use:
///     by_level(v2::scale_rows, v3::scale_rows, v4::scale_rows)(x, y, n)
/// An overloaded function is chosen by its type: by_level<void(const float*, float*, std::int64_t)>(...).
template <class Function>
Function* by_level(Function* of_v2, Function* of_v3, Function* of_v4) {
    const CpuLevel level = cpu_level();
    return level == CpuLevel::v4 ? of_v4 : level == CpuLevel::v3 ? of_v3 : of_v2;
}

}  // namespace heddle::kernels
