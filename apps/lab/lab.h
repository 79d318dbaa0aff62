// The command `heddle lab`.
#pragma once

#include <string>
#include <string_view>

#include "apps/lab/experiment.h"

namespace heddle::lab {

/// The result as a table for a terminal: variants as columns, then why, then the test.
std::string text(const Experiment& experiment, const Result& result);
/// The same as one line of JSON: name, title, seed, variants, findings {what: {variant: number}}, why, caught_by. JSON has no NaN
/// and no infinities: these are the texts "nan", "inf" and "-inf".
std::string json(const Experiment& experiment, const Result& result, const Options& options);
/// The same with its pictures. `command`: how to make it again.
picture::Page page(const Experiment& experiment, const Result& result, std::string_view command);

}  // namespace heddle::lab
