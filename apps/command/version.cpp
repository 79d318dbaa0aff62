#include <fmt/format.h>

#include "apps/command/commands.h"
#include "apps/terminal/terminal.h"
#include "core/cpu.h"
#include "core/device.h"
#include "core/parallel.h"

namespace heddle::app {

// The program defines its own (cmake/commit.cmake); tests link without one.
[[gnu::weak]] extern const char* const build_commit;
const char* const build_commit = "";

int version_command(std::string_view commit) {
    const CpuLevel used = cpu_level();
    print(fmt::format("heddle {}\n", version));
    if (!commit.empty()) print(fmt::format("commit    {}\n", commit));
    print(fmt::format("products  own tile kernels, {}\n", name(used)));
    print(fmt::format("threads   {}\n", threads()));
    print(fmt::format("devices   cpu{}\n", device::available() ? "; cuda: " + device::description() : ""));
    if (used < processor_level())
        say(fmt::format("heddle: warning: this processor has {}, but HEDDLE_CPU_LEVEL holds the program at {}",
                        name(processor_level()), name(used)));
    return 0;
}

}  // namespace heddle::app
