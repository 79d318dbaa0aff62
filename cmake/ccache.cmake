# Compiles through ccache where it is installed. HEDDLE_CCACHE=OFF, or a launcher of your own, leaves it out.
option(HEDDLE_CCACHE "Compile through ccache when it is installed" ON)
find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(HEDDLE_CCACHE AND CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these ccache refuses every file that takes a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()
