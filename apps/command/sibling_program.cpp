#include "apps/command/sibling_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include "core/format.h"

namespace heddle::app {

std::filesystem::path this_program() {
#if defined(__APPLE__)
    std::uint32_t size = 0;
    _NSGetExecutablePath(nullptr, &size);
    std::string path(size, '\0');
    if (_NSGetExecutablePath(path.data(), &size) != 0) fail("the path of this program is not known");
    return std::filesystem::canonical(path.c_str());
#else
    return std::filesystem::read_symlink("/proc/self/exe");
#endif
}

std::string build_folder_of(const std::filesystem::path& program) {
    const std::filesystem::path folder = program.parent_path();
    return std::filesystem::exists(folder / "CMakeCache.txt") ? folder.string() : "BUILD_FOLDER";
}

int run_lab_program(std::string_view command, Arguments arguments) {
    return run_sibling_program("heddle-lab", command, arguments, "--build {} --target heddle-lab");
}

int run_sibling_program(std::string_view file, std::string_view command, Arguments arguments, std::string_view how_to_build) {
    const std::string program = (this_program().parent_path() / file).string();
    const std::string name(command);
    std::vector<const char*> words = {program.c_str(), name.c_str()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.push_back(nullptr);
    std::fflush(stdout);
    execv(program.c_str(), const_cast<char* const*>(words.data()));
    const int error = errno;
    fail_with("heddle {} is the program {}, which cannot be started: {}; build it with: cmake {}", command, program,
              std::strerror(error), fmt::format(fmt::runtime(how_to_build), build_folder_of(program)));
}

}  // namespace heddle::app
