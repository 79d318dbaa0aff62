// The version of Heddle.
#pragma once

namespace heddle {

/// "0.1.0", defined in CMakeLists.txt.
extern const char* const version;

}  // namespace heddle
