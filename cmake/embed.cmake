# cmake -DOUTPUT=FILE.cpp -DFILES=a.toml,b.toml -DROOM=presets -P embed.cmake: writes presets as string literals, for apps/presets/presets.h.
# cmake -DOUTPUT=FILE.cpp -DFILES=a.js,b.css -DROOM=picture -P embed.cmake: writes scripts and styles so, for apps/ROOM/scripts.h.
string(REPLACE "," ";" files "${FILES}")
if(NOT ROOM STREQUAL "presets")
  list(SORT files)
  set(constants "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" name ${name})
    file(READ ${file} text)
    string(APPEND constants "const std::string_view ${name} = R\"script(\n${text})script\";\n")
  endforeach()
  # The pragma: more than the 65,536 characters that compilers must support; all do.
  file(WRITE ${OUTPUT} "#pragma GCC diagnostic ignored \"-Woverlength-strings\"
#include \"apps/${ROOM}/scripts.h\"

namespace heddle::${ROOM} {

${constants}
}  // namespace heddle::${ROOM}
")
else()
  set(names "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    list(APPEND names ${name})
    file(READ ${file} text_of_${name})
  endforeach()
  list(SORT names)
  set(rows "")
  foreach(name ${names})
    string(APPEND rows "    {\"${name}\", R\"toml(${text_of_${name}})toml\"},\n")
  endforeach()
  file(WRITE ${OUTPUT} "#include \"apps/presets/presets.h\"

namespace heddle::app {
namespace {

constexpr Preset all[] = {
${rows}};

}  // namespace

std::span<const Preset> presets() { return all; }

}  // namespace heddle::app
")
endif()
