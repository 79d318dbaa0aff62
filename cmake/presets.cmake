# cmake -DOUTPUT=FILE.cpp -DFILES=a.toml,b.toml -P presets.cmake: writes the files as string literals, for apps/presets/presets.h.
string(REPLACE "," ";" files "${FILES}")
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
