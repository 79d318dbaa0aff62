// "did you mean --model?" for unknown words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::app {

/// "; did you mean CHOICE? NEXT" with the choice nearest to `word`, or "; NEXT" when none is near: for the end of a message.
/// Without `next` the sentence ends there. Near is less than a third of the longer word's letters changed; case, `_` for `-` and
/// dashes in front do not count. A name that other programs use comes first: --learning-rate gives --lr.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices, std::string_view next = "");

/// The names that other programs give to options of train, translate and evaluate, with Heddle's, without dashes.
std::span<const std::pair<std::string_view, std::string_view>> other_names();

}  // namespace heddle::app
