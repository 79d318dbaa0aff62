// The scripts of interactive pages: the files in apps/picture/scripts, compiled into the program.
#pragma once

#include <string_view>

namespace heddle::picture {

extern const std::string_view attention_css;
extern const std::string_view attention_js;  ///< for apps/translation/report/attention.h

}  // namespace heddle::picture
