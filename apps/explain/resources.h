// What a kernel takes of a chip: the registers that ptxas gave it, and how many of its warps an SM holds at the same time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/explain/arithmetic.h"

namespace heddle::explain {

/// Of one thread.
struct Registers {
    int registers = 0;
    int spilled_bytes = 0;  ///< what ptxas calls spill stores; their loads are not added
};
/// From docs/measured/resources.md, as it was when the program was built. Nothing for a kernel that is not in it. `kernel`: with
/// its template arguments, as in LaunchReport.
std::optional<Registers> registers_of(const Chip& chip, std::string_view kernel);

struct Occupancy {
    int warps = 0;           ///< that an SM holds at the same time; 0: not even one block fits
    std::string_view limit;  ///< what allows no more: "registers", "shared memory", "blocks" (32 of them), or "warps": all 64
};
/// By the rules of NVIDIA's occupancy calculator: registers are given to a warp in units of 256 from one of the four quarters of
/// an SM, shared memory to a block in units of 128 bytes with 1 kB for the system.
Occupancy occupancy_of(const Chip& chip, int registers, unsigned threads, std::size_t shared_bytes);

/// A row for each count and chip, for the table of the launch. Empty for kernels that are not the library's.
std::vector<std::vector<std::string>> resource_rows(const Explanation& explanation, const emulator::TracedLaunch& launch);
/// Schema: docs/explain.md. Empty for kernels that are not the library's, too.
nlohmann::ordered_json resources_json(const Explanation& explanation, const emulator::TracedLaunch& launch);

}  // namespace heddle::explain
