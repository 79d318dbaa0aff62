#include "core/cpu.h"

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

CpuLevel chosen_level() {
    const char* wish = std::getenv("HEDDLE_CPU_LEVEL");
    if (wish == nullptr || *wish == '\0') return processor_level();
    const std::string_view text = wish;
    check(text == "v2" || text == "v3" || text == "v4", "HEDDLE_CPU_LEVEL is '{}', wanted v2, v3 or v4", text);
    const auto level = static_cast<CpuLevel>(text[1] - '0');
    check(level <= processor_level(), "HEDDLE_CPU_LEVEL is {}, but this processor has {} only", text, name(processor_level()));
    return level;
}

}  // namespace

CpuLevel cpu_level() {
    static const CpuLevel level = chosen_level();
    return level;
}

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
