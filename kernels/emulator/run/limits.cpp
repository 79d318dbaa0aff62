// The chips: their limits of a launch (CUDA C++ programming guide, "Technical specifications per compute capability") and their
// tensor cores.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "kernels/emulator/cuda/ptx.h"
#include "kernels/emulator/foreign.h"
#include "kernels/emulator/run/fiber.h"
#include "kernels/emulator/run/fused_sum.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kKilo = 1024;
constexpr Profile kProfiles[] = {
    {"sm_80", 8, 0, 163 * kKilo, 32764, false, 108, 2048, 32, 164 * kKilo},
    {"sm_86", 8, 6, 99 * kKilo, 32764, false, 84, 1536, 16, 100 * kKilo},
    {"sm_89", 8, 9, 99 * kKilo, 32764, false, 142, 1536, 24, 100 * kKilo},
    {"sm_90", 9, 0, 227 * kKilo, 32764, true, 132, 2048, 32, 228 * kKilo},
    {"sm_100", 10, 0, 227 * kKilo, 32764, true, 148, 2048, 32, 228 * kKilo},
    {"sm_120", 12, 0, 99 * kKilo, 32764, true, 170, 1536, 24, 100 * kKilo},
};

std::string text_of(const dim3& size) {
    return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

std::uint64_t resident_blocks(const Profile& chip, std::uint64_t threads, std::size_t shared) {
    const std::uint64_t whole_warps = (threads + 31) / 32 * 32;
    return std::min({static_cast<std::uint64_t>(chip.blocks_per_multiprocessor),
                     static_cast<std::uint64_t>(chip.threads_per_multiprocessor) / whole_warps,
                     static_cast<std::uint64_t>(chip.shared_per_multiprocessor / (shared + kKilo))});
}

}  // namespace

const Profile& profile() {
    static const Profile& chosen = []() -> const Profile& {
        const char* const text = std::getenv("HEDDLE_EMULATOR_CHIP");
        const std::string_view wanted = text == nullptr ? "sm_90" : text;
        for (const Profile& chip : kProfiles)
            if (wanted == chip.name) return chip;
        throw std::runtime_error("HEDDLE_EMULATOR_CHIP=" + std::string(wanted) +
                                 ": wanted sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120");
    }();
    return chosen;
}

int multiprocessor_count() {
    const Profile& chip = profile();
    if (!is_foreign_program()) return chip.multiprocessors;
    return std::min(chip.multiprocessors, static_cast<int>(kMostFibers) / chip.threads_per_multiprocessor);
}

std::uint64_t resident_blocks(std::uint64_t threads, std::size_t shared) { return resident_blocks(profile(), threads, shared); }

namespace {

std::atomic<const TensorCores*>& chosen_tensor_cores() {
    static std::atomic<const TensorCores*> chosen = [] {
        const char* const text = std::getenv("HEDDLE_EMULATOR_TENSOR_CORES");
        if (text == nullptr) return profile().major < 9 ? &kAmpere : &kHopper;
        for (const TensorCores* const each : {&kAmpere, &kHopper})
            if (each->name == text) return each;
        throw std::runtime_error("HEDDLE_EMULATOR_TENSOR_CORES=" + std::string(text) +
                                 ": wanted ampere (sm_80 to sm_89) or hopper (sm_90)");
    }();
    return chosen;
}

}  // namespace

const TensorCores& tensor_cores() { return *chosen_tensor_cores(); }
void set_tensor_cores(const TensorCores& cores) { chosen_tensor_cores() = &cores; }

std::string geometry_error(const LaunchRequest& request) {
    const Profile& chip = profile();
    const dim3& grid = request.grid;
    const dim3& block = request.block;
    const std::string on = std::string(" on ") + chip.name;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return "the grid is empty: " + text_of(grid);
    if (block.x == 0 || block.y == 0 || block.z == 0) return "the block is empty: " + text_of(block);
    if (grid.x > 2147483647u) return "the grid is " + text_of(grid) + " blocks, but x goes up to 2,147,483,647";
    if (grid.y > 65535 || grid.z > 65535) return "the grid is " + text_of(grid) + " blocks, but y and z go up to 65,535";
    if (block.x > 1024 || block.y > 1024) return "the block is " + text_of(block) + " threads, but x and y go up to 1,024";
    if (block.z > 64) return "the block is " + text_of(block) + " threads, but z goes up to 64";
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    if (threads > 1024) return "the block has " + std::to_string(threads) + " threads, but 1,024 are the most";
    if (request.shared > chip.shared_per_block)
        return "a block wants " + std::to_string(request.shared) + " bytes of shared memory, but " +
               std::to_string(chip.shared_per_block) + " are the most" + on;
    if (request.parameter_bytes > chip.parameter_bytes)
        return "the kernel's parameters are " + std::to_string(request.parameter_bytes) + " bytes, but " +
               std::to_string(chip.parameter_bytes) + " are the most" + on;
    if (request.cluster < 1 || request.cluster > 8)
        return "a cluster of " + std::to_string(request.cluster) + " blocks: wanted 1 to 8";
    if (request.cluster > 1 && !chip.clusters) return std::string("there are no clusters") + on;
    if (grid.x % static_cast<unsigned>(request.cluster) != 0)
        return "the grid's x, " + std::to_string(grid.x) + ", is not a multiple of the cluster's " +
               std::to_string(request.cluster);
    if (request.cooperative) {
        const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
        const std::uint64_t most =
            static_cast<std::uint64_t>(multiprocessor_count()) * resident_blocks(chip, threads, request.shared);
        if (blocks > most)
            return "a cooperative grid of " + std::to_string(blocks) + " blocks, but " + std::to_string(most) + " fit at once" +
                   on;
    }
    return "";
}

}  // namespace heddle::emulator

// The special registers of PTX that tell about the chip.
namespace heddle::emulator::cuda::ptx {

bits multiprocessors() { return static_cast<bits>(multiprocessor_count()); }
bits multiprocessor() { return in_kernel("%smid").current->block->number % multiprocessors(); }

}  // namespace heddle::emulator::cuda::ptx
