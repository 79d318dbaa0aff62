// The command `heddle lab`.
#pragma once

#include <string>
#include <string_view>

#include "apps/lab/experiment.h"

namespace heddle::lab {

// Everywhere the mistakes stand first and what is right last: code, variants, pictures.

/// For a terminal: the code, wrong and right; the result as a table with the variants as columns; why; the test.
std::string text(const Experiment& experiment, const Result& result);
/// The same as one line of JSON: name, title, wrong and right (code), seed, variants, findings {what: {variant: number}}, why,
/// caught_by. JSON has no NaN and no infinities: these are the texts "nan", "inf" and "-inf".
std::string json(const Experiment& experiment, const Result& result, const Options& options);
/// The same with its pictures. `command`: how to make it again.
picture::Page page(const Experiment& experiment, const Result& result, std::string_view command);
/// The first finding in a line: "weight on the future, row 0: multiplied 0.9373, masked 0".
std::string headline(const Result& result);

}  // namespace heddle::lab
