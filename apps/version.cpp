#include <fmt/format.h>

#include <cstdio>

#include "apps/commands.h"
#include "core/cpu.h"
#include "core/parallel.h"

namespace heddle::app {

int version_command() {
    const CpuLevel used = cpu_level();
    fmt::print("heddle {}\n", HEDDLE_VERSION);
    fmt::print("products  own tile kernels, {}\n", name(used));
    fmt::print("threads   {}\n", threads());
    if (used < processor_level())
        fmt::print(stderr, "heddle: warning: this processor has {}, but HEDDLE_CPU_LEVEL holds the program at {}\n",
                   name(processor_level()), name(used));
    return 0;
}

}  // namespace heddle::app
