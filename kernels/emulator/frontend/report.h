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

// Lines of source files in reports.

/// "      7 |     y[i] = x[i];\n        |     ^~~~~~~~~~~~\n"; empty when the file or the line is not there.
std::string quoted_line(const std::string& file, int line);

/// The text of a line without the spaces around it; empty when it is not there.
std::string source_line(const std::string& file, int line);

/// A compiler's messages, with the line of the source below each error.
std::string with_quotes(const std::string& messages);

/// A path as a reader knows it: below the current folder without it, and without "./" at its beginning.
std::string shown_path(const std::string& file);

/// "3", "0.5".
std::string short_number(double number);

}  // namespace heddle::emulator::frontend
