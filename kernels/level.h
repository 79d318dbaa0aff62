// From the processor's level to the right build of a *_fast.cpp function.
#pragma once

#include "core/cpu.h"

/// Declares the function in the namespaces v2, v3 and v4: a *_fast.cpp file is compiled once for each.
///     HEDDLE_DECLARE_LEVELS(void scale_rows(const float* x, float* y, std::int64_t n))
#define HEDDLE_DECLARE_LEVELS(...)    \
    namespace v2 { __VA_ARGS__; }     \
    namespace v3 { __VA_ARGS__; }     \
    namespace v4 { __VA_ARGS__; }

/// The build of `function` for the level in use. HEDDLE_ONE_LEVEL: there is none but v2 (core/cpu.h).
#if !defined(HEDDLE_ONE_LEVEL)
#define HEDDLE_BY_LEVEL(function)                         \
    (::heddle::cpu_level() == ::heddle::CpuLevel::v4   ? v4::function \
     : ::heddle::cpu_level() == ::heddle::CpuLevel::v3 ? v3::function \
                                                       : v2::function)
#else
#define HEDDLE_BY_LEVEL(function) (v2::function)
#endif

/// Calls the build of an overloaded `function` for the level in use.
#if !defined(HEDDLE_ONE_LEVEL)
#define HEDDLE_CALL_LEVEL(function, ...)                                           \
    (::heddle::cpu_level() == ::heddle::CpuLevel::v4   ? v4::function(__VA_ARGS__) \
     : ::heddle::cpu_level() == ::heddle::CpuLevel::v3 ? v3::function(__VA_ARGS__) \
                                                       : v2::function(__VA_ARGS__))
#else
#define HEDDLE_CALL_LEVEL(function, ...) v2::function(__VA_ARGS__)
#endif
