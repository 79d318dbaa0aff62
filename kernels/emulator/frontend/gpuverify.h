// Files of GPUVerify's testsuite (github.com/mc-imperial/gpuverify): kernels without a main(), whose first lines say how they are
// launched and whether a race or a divergent barrier is to be found. GPUVerify proves; here they run with drawn parameters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/build.h"
#include "kernels/emulator/frontend/settings.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator::frontend {

/// Read from the first lines of such a file: `//pass` or `//xfail:NOT_ALL_VERIFIED`, and `//--blockDim=64 --gridDim=[2,2] -DN=3`.
struct Expectation {
    bool passes = false;
    bool only_barriers = false;  ///< --only-divergence: races do not count
    bool equal_memory = false;   ///< --equality-abstraction: two threads read the same from one place
    std::vector<unsigned> grid = {1}, block = {1};
    std::vector<std::string> compile_options = {};
};

/// Refused for a file whose first lines say something else, or what has no meaning outside of GPUVerify: errors of its own front
/// end, warps in lockstep.
Expectation read_expectation(const std::string& source);

/// The value of a kernel's scalar parameter, both by their numbers.
struct ChosenValue {
    int kernel = 0, index = 0;
    long long value = 0;
    std::string name = {};
};
/// Parameters of all kernels of a file.
struct Draw {
    int number = 1;  ///< 1: arrays of zeros, the block's threads for each scalar; 2: small numbers, 1; 3: ones, all threads
    std::vector<ChosenValue> chosen = {};
};
/// The three draws, and more where the file compares a scalar with numbers: these, their sums and differences. What a kernel
/// requires to be equal to a number is that in all of them.
std::vector<Draw> draws_of(const SourceUnit& unit);

/// Adds a main() that launches each kernel with the draw that its arguments say.
void add_draws(SourceUnit& unit, const Expectation& expectation);

/// What a record says about a draw.
enum class Meaning {
    nothing,
    error,  ///< GPUVerify would call it an error: it knows neither bounds of arrays nor uninitialised memory
    same,   ///< a write of the value that already stands there, which GPUVerify tolerates if it knows the value
    unmet,  ///< the drawn parameters do not meet the kernel's __requires
    cut,    ///< the launch did not run to its end for another reason, so the draw shows nothing
};
Meaning meaning_of(const ViolationRecord& record, const Expectation& expectation);

/// `heddle check --gpuverify FILE.cu`: 0 as the file expects, 3 not so, 1 if no draw ran to its end. Refused where none is
/// allowed.
int check_as_gpuverify(const Settings& settings);

}  // namespace heddle::emulator::frontend
