// Runs a launch. Called by the runtime's streams.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/emulator/interface.h"
#include "kernels/emulator/launch_request.h"

namespace heddle::emulator {

/// The limits of the emulated chip.
struct Profile {
    const char* name;  ///< "sm_80", "sm_86", "sm_89", "sm_90"
    int major, minor;
    std::size_t shared_per_block;  ///< 163, 99, 99, 227 KB
    std::size_t parameter_bytes;   ///< 32764 from CUDA 12.1 on
    bool clusters;
    int multiprocessors;  ///< the number that the A100, A40, L40 and H100 have; the next three are limits of each
    int threads_per_multiprocessor, blocks_per_multiprocessor;
    std::size_t shared_per_multiprocessor;  ///< each resident block takes 1 KB more of it than it requests
};
/// HEDDLE_EMULATOR_CHIP, by default sm_90. An unknown name throws std::runtime_error.
const Profile& profile();

/// The number of multiprocessors that programs are told of, and that hold a cooperative grid: the chip's, or in programs of the
/// front end so few that the emulator has a stack for each thread that is resident.
int multiprocessor_count();
/// The number of blocks that fit on one multiprocessor. Registers, which are not counted here, may allow fewer.
std::uint64_t resident_blocks(std::uint64_t threads, std::size_t shared);

struct TensorCores;  // run/fused_sum.h
/// How `mma` adds: by default as the chip does; HEDDLE_EMULATOR_TENSOR_CORES chooses ampere or hopper. Another name throws
/// std::runtime_error.
const TensorCores& tensor_cores();
/// Chooses kAmpere or kHopper for launches from now on.
void set_tensor_cores(const TensorCores& cores);

/// Why a launch is refused (cudaErrorInvalidConfiguration, cudaErrorInvalidValue), or "" when its geometry is fine.
std::string geometry_error(const LaunchRequest& request);

/// Runs the launch: all its blocks, or only the chosen ones (linear numbers, x first). Throws Violation for the first thing that
/// is wrong, and std::invalid_argument for a geometry_error. Thread order is random, from seed() and a count of launches.
/// Launches of several CPU threads run one after another. The caller opens the device's memory (run/memory.h).
void run(const LaunchRequest& request, const std::vector<std::uint64_t>* blocks = nullptr);

/// The seed of all random orders: HEDDLE_EMULATOR_SEED, or drawn at the start and printed with each violation.
std::uint64_t seed();
/// Also restarts the count of launches and the streams' random order, so that the same work runs in the same order again.
void set_seed(std::uint64_t seed);
/// The number of calls of set_seed so far.
std::uint64_t seed_generation();

/// As a chosen block: the last one of each launch.
inline constexpr std::uint64_t kLastBlock = ~std::uint64_t{0};

/// While one lives on this thread, launches run only these blocks. For grids that are too large to be run as a whole.
class ChosenBlocks {
  public:
    explicit ChosenBlocks(std::vector<std::uint64_t> blocks);
    ~ChosenBlocks();
    ChosenBlocks(const ChosenBlocks&) = delete;
    ChosenBlocks& operator=(const ChosenBlocks&) = delete;

  private:
    std::vector<std::uint64_t> blocks_;
    const std::vector<std::uint64_t>* before_;
};
/// The blocks of this thread's innermost ChosenBlocks, or null. A stream keeps them with a launch, because it runs it later.
const std::vector<std::uint64_t>* chosen_blocks();

/// Whether the caller is a kernel's thread.
bool in_a_kernel();
/// Whether the address lies on the stack of a kernel's thread.
bool is_stack_of_thread(const void* address);

/// Every place where a kernel synchronised since the last call, as "file:line what": barriers, warp barriers, fences, copy waits.
/// HEDDLE_EMULATOR_PLACES=FILE appends them to a file at the process's end, one a line.
std::vector<std::string> synchronisation_places();
/// Synchronisation at this place ("file:line") does nothing from now on; "" ends it. A mutation: the checker must report it.
/// HEDDLE_EMULATOR_SKIP names one from the start. (A barrier with a result, __syncthreads_count, cannot be left out.)
void skip_synchronisation(const std::string& place);
/// Records a launched kernel, for launched_kernels().
void note_launch(const void* kernel);
/// Records work of a stream that has run, for work_done(): a kernel, or, without one, what the call `what` queued.
void note_work(const void* kernel, const std::string& what);
/// Names of all kernels launched so far in this process. HEDDLE_EMULATOR_LAUNCHES=FILE appends them to a file at its end, one a
/// line, behind "> " and its command line.
std::vector<std::string> launched_kernels();
/// How often each of them was launched.
std::map<std::string, std::uint64_t> counted_launches();
/// How often each kind of device work has run so far in this process, in streams and in graphs: kernels by name; fills, copies
/// and products by the call that queued them ("cudaMemsetAsync", "cublasLtMatmul"). To count the work of a step, wait for the
/// device before and after it, and subtract.
std::map<std::string, std::int64_t> work_done();

}  // namespace heddle::emulator
