// heddle-check: `heddle check` without the rest of Heddle.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/check.h"

namespace {

namespace frontend = heddle::emulator::frontend;

frontend::Toolkit toolkit() {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    frontend::Toolkit installed{(folder / HEDDLE_INSTALLED_HEADERS).lexically_normal(),
                                (folder / HEDDLE_INSTALLED_LIBRARY).lexically_normal()};
    if (!error && fs::exists(installed.library, error)) return installed;
    return {HEDDLE_EMULATOR_ROOT, HEDDLE_EMULATOR_LIBRARY};
}

}  // namespace

int main(int count, char** words) {
    frontend::Settings settings;
    settings.name = "heddle-check";
    settings.toolkit = toolkit();
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
