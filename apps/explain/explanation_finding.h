// What a check found in a traced run: the accesses that a race or another mistake is about.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "apps/explain/explanation.h"

namespace heddle::explain {

/// The tensor that contains the address, else the one that lies nearest to it. -1 if there are none.
int nearest_tensor(const std::vector<TracedTensor>& tensors, std::uint64_t address);

/// The warps, as block and warp, that take part in the launch's mistake.
std::vector<std::pair<std::uint32_t, std::uint32_t>> warps_of_mistake(const emulator::TracedLaunch& launch);

/// The pieces of shared memory with the names that the source gives them: those of the variables that take them. Empty if the
/// source of the answer does not say it plainly.
nlohmann::ordered_json pieces_of(const Explanation& explanation, const emulator::TracedLaunch& launch);

/// Schema: docs/explain.md. The explanation must have a finding.
nlohmann::ordered_json json_of_finding(const Explanation& explanation);

}  // namespace heddle::explain
