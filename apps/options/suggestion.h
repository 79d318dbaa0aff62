// "did you mean --model?" for unknown words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// "; did you mean CHOICE? NEXT" with the choice nearest to `word`, or "; NEXT" when none is near: for the end of a message.
/// Without `next` the sentence ends there. Near is less than a third of the longer word's letters changed; case, `_` for `-` and
/// dashes in front do not count. Nearest of all is the option that other programs call so: --lr for --learning-rate.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices, std::string_view next = "");

}  // namespace heddle::app
