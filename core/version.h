// Which Heddle this is.
#pragma once

namespace heddle {

/// "0.1.0", as CMakeLists.txt has it.
extern const char* const version;

}  // namespace heddle
