// `heddle explain FILE.cu`: CUDA C++ of one's own, from its trace to the page.
#pragma once

#include <string>
#include <vector>

#include "apps/explain/explanation.h"
#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/settings.h"
#include "kernels/emulator/trace/trace_file.h"

namespace heddle::explain {

/// The trace of a checked program as an explanation: memory has the names of the program's pointers and variables, and types that
/// its declarations or its values suggest. The first violation whose access is in the trace, else the first one, is the finding.
Explanation explanation_of(emulator::ProgramTrace trace, const emulator::frontend::Settings& settings,
                           const std::vector<emulator::frontend::Finding>& findings, std::string command);

}  // namespace heddle::explain
