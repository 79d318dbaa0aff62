# cmake -DOUTPUT=FILE.cpp -DFILES=a.js,b.css -P scripts.cmake: writes the files as string literals, for apps/picture/scripts.h.
string(REPLACE "," ";" files "${FILES}")
list(SORT files)
set(constants "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(READ ${file} text)
  string(APPEND constants "const std::string_view ${name} = R\"script(\n${text})script\";\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"apps/picture/scripts.h\"

namespace heddle::picture {

${constants}
}  // namespace heddle::picture
")
