// The x86-64 level of the vectorised code. On other processors, and in the debugger build, there is only one level, called v2.
#pragma once

#include <string_view>

#include "core/enum_words.h"

#if !defined(__x86_64__)
#define HEDDLE_ONE_LEVEL
#endif

namespace heddle {

/// The x86-64 micro-architecture levels: v2 (SSE4.2), v3 (AVX2, FMA), v4 (AVX-512 F, BW, CD, DQ, VL).
enum class CpuLevel { v2 = 2, v3 = 3, v4 = 4 };
/// The words for them in options and saves.
constexpr auto enum_words(CpuLevel) {
    return words_for<CpuLevel>({{CpuLevel::v2, "v2"}, {CpuLevel::v3, "v3"}, {CpuLevel::v4, "v4"}});
}

/// The highest level that this processor supports and this build contains.
CpuLevel processor_level();
/// The level in use: set_cpu_level()'s, else HEDDLE_CPU_LEVEL=v2|v3|v4 of the environment, else the processor's. Read once, at
/// the first call. Error when the variable is not a level or the processor does not support it.
CpuLevel cpu_level();
/// Sets the level of the whole process, before the first op. Error when the processor does not support it, or another level is
/// already in use.
void set_cpu_level(CpuLevel level);
/// True if a run gives the same bits at both levels.
bool same_bits(CpuLevel a, CpuLevel b);
/// A name such as "v4 (AVX-512)".
std::string_view name(CpuLevel level);

}  // namespace heddle
