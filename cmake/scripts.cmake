# cmake -DOUTPUT=FILE.cpp -DFILES=a.js,b.css -DROOM=picture -P scripts.cmake: writes the files as string literals, for apps/ROOM/scripts.h.
string(REPLACE "," ";" files "${FILES}")
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
