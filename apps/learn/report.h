// A check's result as text, as JSON and as a page of `heddle explain`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/explain/explanation.h"
#include "apps/learn/check.h"

namespace heddle::learn {

/// For a terminal: the kind, the sizes, the text, and the lines of the file that it is about. `next`: what to do after a pass,
/// "start guard", or empty.
std::string text_of(const ExercisePage& page, const CheckResult& result, const std::string& next);
/// Schema: docs/learn.md.
nlohmann::ordered_json json_of(const ExercisePage& page, const CheckResult& result);
/// The page of a check that kept its run: the kernels as far as they ran, and the verdict as finding unless it is a pass. Moves
/// `result.run`, which must be there, into the page.
explain::Explanation explanation_of(const ExercisePage& page, CheckResult& result);

}  // namespace heddle::learn
