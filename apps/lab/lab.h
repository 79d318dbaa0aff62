// The command `heddle lab`.
#pragma once

#include <string>
#include <string_view>

#include "apps/lab/experiment.h"

namespace heddle::lab {

// Code, variants and pictures are always shown with the mistakes first and the correct form last.

/// For a terminal: the wrong and the right code, the results as a table with one column per variant, the explanation and the
/// test.
std::string text(const Experiment& experiment, const Result& result);
/// The same as one line of JSON: name, title, wrong and right (code), seed, variants, findings {what: {variant: number}}, why,
/// caught_by. JSON has no NaN and no infinities, so these are the strings "nan", "inf" and "-inf".
std::string json(const Experiment& experiment, const Result& result, const Options& options);
/// The same as a page with pictures. `command`: the command that reproduces it.
picture::Page page(const Experiment& experiment, const Result& result, std::string_view command);
/// The first finding in one line: "weight on the future, row 0: multiplied 0.9373, masked 0".
std::string headline(const Result& result);

}  // namespace heddle::lab
