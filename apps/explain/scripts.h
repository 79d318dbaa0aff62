// The script and style of the page: the files in apps/explain/scripts, compiled into the program.
#pragma once

#include <string_view>

namespace heddle::explain {

extern const std::string_view explain_css;
extern const std::string_view explain_base_js, explain_pictures_js;
extern const std::string_view explain_finding_css,
    explain_finding_js;  ///< for pages with a finding; runs before explain_viewer_js
extern const std::string_view explain_viewer_js;
extern const std::string_view explain_js;

}  // namespace heddle::explain
