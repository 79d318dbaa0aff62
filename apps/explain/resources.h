// Occupancy: a kernel's registers (from ptxas) and how many of its warps an SM can hold at once.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/explain/arithmetic.h"

namespace heddle::explain {

/// Registers of one thread.
struct Registers {
    int registers = 0;
    int spilled_bytes = 0;  ///< "spill stores" in ptxas' output; spill loads are not included
};
/// From docs/measured/resources.md, as it was when the program was built. No value for a kernel without a row. `kernel`: with
/// its template arguments, as in LaunchReport.
std::optional<Registers> registers_of(const Chip& chip, std::string_view kernel);

struct Occupancy {
    int warps = 0;           ///< warps resident on an SM; 0: not even one block fits
    std::string_view limit;  ///< the limiting resource: "registers", "shared memory", "blocks" (32), or "warps" (64)
};
/// Follows NVIDIA's occupancy calculator: registers are allocated per warp in units of 256 from one of the SM's four quarters,
/// shared memory per block in units of 128 bytes plus 1 kB for the system.
Occupancy occupancy_of(const Chip& chip, int registers, unsigned threads, std::size_t shared_bytes);

/// Rows for the table of a launch, one per count and chip. Empty for kernels that are not the library's.
std::vector<std::vector<std::string>> resource_rows(const Explanation& explanation, const emulator::TracedLaunch& launch);
/// Schema: docs/explain.md. Empty for kernels that are not the library's.
nlohmann::ordered_json resources_json(const Explanation& explanation, const emulator::TracedLaunch& launch);

}  // namespace heddle::explain
