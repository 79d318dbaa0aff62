// Words of command lines, for messages that show commands.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// A word quoted for a shell if necessary.
std::string shell_word(std::string_view word);

}  // namespace heddle
