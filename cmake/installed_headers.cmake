# Run by cmake --install with `folder`, where the headers were copied to, and `room_names`, core|kernels|...: their includes of each other
# become "heddle/core/tensor.h". The emulator's headers may lie there, too; they are used alone and stay as they are.
file(GLOB_RECURSE headers "${folder}/*.h")
list(FILTER headers EXCLUDE REGEX "/kernels/emulator/")
foreach(header ${headers})
  file(READ "${header}" text)
  string(REGEX REPLACE "#include \"(${room_names})/" "#include \"heddle/\\1/" rewritten "${text}")
  if(NOT rewritten STREQUAL text)
    file(WRITE "${header}" "${rewritten}")
  endif()
endforeach()
