// heddle-check: `heddle check` without the rest of Heddle.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/arguments.h"
#include "kernels/emulator/frontend/check.h"

int main(int count, char** words) {
    namespace frontend = heddle::emulator::frontend;
    frontend::Settings settings;
    settings.name = "heddle-check";
    settings.toolkit = {HEDDLE_EMULATOR_ROOT, HEDDLE_EMULATOR_LIBRARY};
    try {
        if (!frontend::read_arguments({words + 1, words + count}, settings)) return 0;
        return frontend::check(settings);
    } catch (const frontend::Refused& refused) {
        std::fprintf(stderr, "heddle-check: %s\n", refused.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heddle-check: %s\n", error.what());
        return 1;
    }
}
