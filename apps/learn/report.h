// A verdict for a person and for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/learn/check.h"

namespace heddle::learn {

/// For a terminal: the kind, the sizes, the text, and the lines of the file that it is about. `next`: what to do after a pass,
/// "start guard", or empty.
std::string text_of(const ExercisePage& page, const CheckResult& result, const std::string& next);
/// Schema: docs/learn.md.
nlohmann::ordered_json json_of(const ExercisePage& page, const CheckResult& result);

}  // namespace heddle::learn
