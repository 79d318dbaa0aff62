// The accesses that caused a mistake (such as a race) in a traced run.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "apps/explain/explanation.h"

namespace heddle::explain {

/// Index of the tensor that contains the address, else of the nearest one. -1 if there are none.
int nearest_tensor(const std::vector<TracedTensor>& tensors, std::uint64_t address);

/// (block, warp) of each warp involved in the launch's mistake.
std::vector<std::pair<std::uint32_t, std::uint32_t>> warps_of_mistake(const emulator::TracedLaunch& launch);

/// The pieces of shared memory with the names of the variables that take them. Empty if the source does not name them one to
/// one.
nlohmann::ordered_json pieces_of(const Explanation& explanation, const emulator::TracedLaunch& launch);

/// Schema: docs/explain.md. The explanation must have a finding.
nlohmann::ordered_json json_of_finding(const Explanation& explanation);

}  // namespace heddle::explain
