// What the tests of text files share.
#pragma once

#include <string>

namespace heddle::app {

/// The byte order mark of UTF-8.
inline const std::string bom = "\xEF\xBB\xBF";

}  // namespace heddle::app
