// The results for people (stderr) and for programs (JSON and SARIF).
#pragma once

#include <string>

#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// A finding with both of its lines quoted.
std::string report_of(const Finding& finding);

/// A table of each kernel's memory traffic, with the line that wastes most.
std::string cost_table(const std::vector<KernelCost>& costs);

/// The whole outcome as one JSON object.
std::string json_of(const Outcome& outcome, const Settings& settings);
/// The same in SARIF 2.1.0, which GitHub shows beside the lines.
std::string sarif_of(const Outcome& outcome);

}  // namespace heddle::emulator::frontend
