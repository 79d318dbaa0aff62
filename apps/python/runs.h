// What the classes for trained models have in common: they open runs, look at lines, and give log-probabilities.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "apps/command/run.h"

namespace heddle::python {

/// The folder of a run, or those of several.
using RunPaths = std::variant<std::filesystem::path, std::vector<std::filesystem::path>>;
using Lines = std::vector<std::string>;

/// Lines that are computed between two looks for Ctrl-C; heddle translate reads as many at once.
constexpr std::size_t lines_at_once = 500;

/// Runs with the names that the caller gave.
struct OpenedRuns {
    std::vector<std::string> names;
    app::EnsembleRun run;
};

/// Opens the runs with their weights ("average" or "best"), for the class `owner`; the GIL is held, and released meanwhile.
/// UsageError when none is named, for other weights, and unless each is a language model or none is, as `language_model` says;
/// Error as app::open_ensemble().
OpenedRuns open_runs(const std::string& owner, const RunPaths& paths, const std::string& weights, bool language_model);

/// UsageError, which begins with `what`, when a line has a line end.
void check_lines(const Lines& lines, const std::string& what);

/// log p of each target given its source, which is empty for a language model, as heddle score prints it; `normalize`: divided
/// by the number of tokens. Python's warnings name unknown words. The GIL is held, and released meanwhile; Ctrl-C ends it.
std::vector<double> score(const app::EnsembleRun& run, const Lines& sources, const Lines& targets, bool normalize);

}  // namespace heddle::python
