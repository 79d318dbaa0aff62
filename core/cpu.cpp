#include "core/cpu.h"

#include <atomic>
#include <cstdlib>

#include "core/format.h"

namespace heddle {

CpuLevel processor_level() {
#if !defined(HEDDLE_ONE_LEVEL)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? CpuLevel::v4 : v3 ? CpuLevel::v3 : CpuLevel::v2;
#else
    return CpuLevel::v2;
#endif
}

namespace {

constexpr CpuLevel none{};
std::atomic<CpuLevel> in_use = none;

CpuLevel chosen_level() {
    const char* wish = std::getenv("HEDDLE_CPU_LEVEL");
    if (wish == nullptr || *wish == '\0') return processor_level();
    const std::optional<CpuLevel> level = value_of<CpuLevel>(wish);
    check(level.has_value(), "HEDDLE_CPU_LEVEL is '{}', wanted v2, v3 or v4", wish);
    check(*level <= processor_level(), "HEDDLE_CPU_LEVEL is {}, but this processor has {} only", wish, name(processor_level()));
    return *level;
}

}  // namespace

CpuLevel cpu_level() {
    CpuLevel level = in_use.load(std::memory_order_relaxed);
    if (level != none) return level;
    const CpuLevel chosen = chosen_level();
    return in_use.compare_exchange_strong(level, chosen) ? chosen : level;
}

void set_cpu_level(CpuLevel level) {
    check(level <= processor_level(), "cpu: level {} was asked for, but this processor has {} only", name(level),
          name(processor_level()));
    CpuLevel before = none;
    if (in_use.compare_exchange_strong(before, level)) return;
    check(before == level, "cpu: level {} was asked for, but {} is in use already; set the level before the first op",
          name(level), name(before));
}

// v2 has no FMA: it rounds each product before adding it.
bool same_bits(CpuLevel a, CpuLevel b) { return a == b || (a != CpuLevel::v2 && b != CpuLevel::v2); }

std::string_view name(CpuLevel level) {
    switch (level) {
#if defined(__x86_64__)
        case CpuLevel::v2: return "v2 (SSE4.2)";
#else
        case CpuLevel::v2: return "v2 (the baseline)";
#endif
        case CpuLevel::v3: return "v3 (AVX2)";
        case CpuLevel::v4: return "v4 (AVX-512)";
    }
    fail("cpu: no such level");
}

}  // namespace heddle
