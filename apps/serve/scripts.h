// The files of the server's page, apps/serve/scripts, compiled into the program.
#pragma once

#include <string_view>

namespace heddle::serve {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;

}  // namespace heddle::serve
