// The scripts of interactive pages: the files of apps/picture/scripts, which are compiled into the program.
#pragma once

#include <string_view>

namespace heddle::picture {

extern const std::string_view attention_css;
extern const std::string_view attention_js;  ///< for apps/translation/report/attention.h
extern const std::string_view chart_js;      ///< for charts and heat maps; a page with one has it

}  // namespace heddle::picture
