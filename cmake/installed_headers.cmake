# Run by cmake --install with `folder`, where the headers were copied to, and `room_names`, core|kernels|...: their includes of each other
# become "heddle/core/tensor.h".
file(GLOB_RECURSE headers "${folder}/*.h")
foreach(header ${headers})
  file(READ "${header}" text)
  string(REGEX REPLACE "#include \"(${room_names})/" "#include \"heddle/\\1/" rewritten "${text}")
  if(NOT rewritten STREQUAL text)
    file(WRITE "${header}" "${rewritten}")
  endif()
endforeach()
