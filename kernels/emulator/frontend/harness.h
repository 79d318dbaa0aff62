// Programs for files that have kernels and no main().
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/build.h"
#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// Adds a main() that launches settings.kernel with settings.arguments to the unit that has the kernel. Refused, with a command
/// line that is ready to be used, where a name or a value is missing.
void add_harness(std::vector<SourceUnit>& units, const Settings& settings);

// Files of GPUVerify's testsuite (github.com/mc-imperial/gpuverify): kernels without a main(), whose first lines say how they are
// launched and whether a race or a divergent barrier is to be found.

/// Read from the first lines of such a file: `//pass` or `//xfail:NOT_ALL_VERIFIED`, and `//--blockDim=64 --gridDim=[2,2] -DN=3`.
struct Expectation {
    bool passes = false;
    bool only_barriers = false;  ///< --only-divergence: races do not count
    std::vector<unsigned> grid = {1}, block = {1};
    std::vector<std::string> compile_options = {};
};

/// Refused for a file whose first lines say something else, or what has no meaning outside of GPUVerify: errors of its own front
/// end, warps in lockstep.
Expectation read_expectation(const std::string& source);

/// Writes a header with GPUVerify's annotations to the folder and returns the options that include it, and the headers that its
/// own cuda.h includes.
std::vector<std::string> annotation_options(const std::filesystem::path& folder, const std::filesystem::path& headers);

/// Adds a main() that launches each kernel with parameters drawn by argv[1].
void add_draws(SourceUnit& unit, const Expectation& expectation);

/// The record says that the drawn parameters do not meet the kernel's __requires.
bool is_unmet(const ViolationRecord& record);
/// Whether GPUVerify would call it an error: it knows neither bounds of arrays nor uninitialised memory.
bool is_counted(const ViolationRecord& record, const Expectation& expectation);

}  // namespace heddle::emulator::frontend
