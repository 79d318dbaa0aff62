// Running a launch: what the runtime's streams call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/kernel.h"

namespace heddle::emulator {

/// What the emulated chip allows.
struct Profile {
    const char* name;                  ///< "sm_80", "sm_86", "sm_89", "sm_90"
    int major, minor;
    std::size_t shared_per_block;      ///< 163, 99, 99, 227 KB
    std::size_t parameter_bytes;       ///< 4096, or 32764 from sm_70 on with CUDA 12.1
    bool clusters;
};
/// HEDDLE_EMULATOR_CHIP, by default sm_90.
const Profile& profile();

/// Why a launch is refused (cudaErrorInvalidConfiguration, cudaErrorInvalidValue), or "" when its geometry is fine.
std::string geometry_error(const LaunchRequest& request);

/// Runs the launch: all its blocks, or only the chosen ones (linear numbers, x first). Throws Violation for the first thing that is wrong.
/// Thread order is random, from seed() and a count of launches.
void run(const LaunchRequest& request, const std::vector<std::uint64_t>* blocks = nullptr);

/// The seed of all random orders: HEDDLE_EMULATOR_SEED, or drawn at the start and printed with each violation.
std::uint64_t seed();
void set_seed(std::uint64_t seed);

/// While one lives on this thread, launches run only these blocks. For grids that are too large to be run as a whole.
class ChosenBlocks {
  public:
    explicit ChosenBlocks(std::vector<std::uint64_t> blocks);
    ~ChosenBlocks();
    ChosenBlocks(const ChosenBlocks&) = delete;
    ChosenBlocks& operator=(const ChosenBlocks&) = delete;
};

/// Every place where a kernel synchronised since the last call, as "file:line what": barriers, warp barriers, fences, copy waits.
std::vector<std::string> synchronisation_places();
/// Synchronisation at this place ("file:line") does nothing from now on; "" ends it. A mutation: the checker must report it.
void skip_synchronisation(const std::string& place);
/// Names of all kernels launched so far in this process.
std::vector<std::string> launched_kernels();

}  // namespace heddle::emulator
