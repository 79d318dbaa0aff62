// Words of command lines, for messages that say what to type.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// A word of a command line as a shell reads it: quoted where it has to be.
std::string shell_word(std::string_view word);

}  // namespace heddle
