// The `heddle-lab` program, started by `heddle lab`, `heddle learn`, `heddle check` and `heddle explain FILE.cu`.
#include <string_view>

#include "apps/command/commands.h"
#include "core/error.h"

namespace {

using namespace heddle::app;

int run(Arguments arguments) {
    const std::string_view name = arguments.empty() ? "" : arguments[0];
    if (name == "lab") return lab_command(arguments.subspan(1));
    if (name == "learn") return learn_command(arguments.subspan(1));
    if (name == "check") return check_command(arguments.subspan(1));
    if (name == "explain") return explain_file_command(arguments.subspan(1));
    throw heddle::UsageError("heddle-lab is started by heddle lab, learn, check and explain FILE.cu; use these");
}

}  // namespace

int main(int count, char** arguments) {
    return guarded([&] { return run(Arguments(arguments + (count > 0 ? 1 : 0), arguments + count)); });
}
