# The emulator's libraries and how kernels are compiled for it. Used by Heddle (cmake/cuda.cmake) and by CMakeLists.txt beside this file.
set(HEDDLE_EMULATOR_FOLDER ${CMAKE_CURRENT_LIST_DIR})
get_filename_component(HEDDLE_EMULATOR_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

# GCC's libbacktrace knows the names of kernels in anonymous namespaces, and the source lines of addresses. Without it, reports show bare addresses.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles("#include <backtrace.h>\nint main() { return backtrace_create_state(nullptr, 0, nullptr, nullptr) == nullptr; }"
                          HEDDLE_HAS_BACKTRACE)
unset(CMAKE_REQUIRED_LIBRARIES)

# heddle_emulator(NAME): a library of the emulator. What knows nothing of the checker is compiled once for all of them.
function(heddle_emulator name)
  file(GLOB sources CONFIGURE_DEPENDS ${HEDDLE_EMULATOR_FOLDER}/*/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/frontend/")
  set(own "")
  foreach(source ${sources})
    file(STRINGS ${source} checked REGEX "^#include .*/(checker|run/trace_hooks)" LIMIT_COUNT 1)
    if(checked)
      list(APPEND own ${source})
    endif()
  endforeach()
  if(NOT TARGET heddle_emulator_shared)
    list(REMOVE_ITEM sources ${own})
    add_library(heddle_emulator_shared OBJECT ${sources})
    target_compile_definitions(heddle_emulator_shared PRIVATE HEDDLE_EMULATOR_SHARED)  # checker_hooks.h refuses to be included
    target_include_directories(heddle_emulator_shared PRIVATE ${HEDDLE_EMULATOR_ROOT})
    heddle_emulator_options(heddle_emulator_shared)
  endif()
  add_library(${name} STATIC ${own} $<TARGET_OBJECTS:heddle_emulator_shared>)
  heddle_emulator_options(${name})
endfunction()

function(heddle_emulator_options name)
  # The stand-ins for <cuda_runtime.h> and its kin.
  target_include_directories(${name} BEFORE PUBLIC $<BUILD_INTERFACE:${HEDDLE_EMULATOR_FOLDER}/include>)
  target_link_libraries(${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  # It moves between stacks and tells the sanitizers so; they watch the kernels, not it.
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  if(HEDDLE_HAS_BACKTRACE)
    target_compile_definitions(${name} PRIVATE HEDDLE_HAS_BACKTRACE)
    target_link_libraries(${name} PUBLIC backtrace)
  endif()
endfunction()

# How kernels are compiled so that each access is watched; `heddle learn` compiles answers with the same options. The compiler calls
# __tsan_read4(address) and its kin before each access. These are the emulator's own; nothing is linked with ThreadSanitizer. One access in the
# source stays one access, so no vectorisation and no splitting of structures (sra), and it stays where it is: compilers would move a read past
# a guard (sink). Of x += 1 clang would only report the write.
set(HEDDLE_WATCH_OPTIONS "-fsanitize=thread -O1 -g1 -fno-tree-vectorize -fno-unroll-loops")
set(HEDDLE_WATCH_OPTIONS_GNU "--param=tsan-instrument-func-entry-exit=0 -fno-tree-sink -fno-tree-sra")
set(HEDDLE_WATCH_OPTIONS_CLANG "-mllvm -tsan-instrument-func-entry-exit=0 -mllvm -instcombine-code-sinking=false \
-mllvm -tsan-instrument-read-before-write")

# heddle_watch_accesses(TARGET): compiles the target's kernels with these options.
function(heddle_watch_accesses target)
  set(of_compiler "${HEDDLE_WATCH_OPTIONS_GNU}")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(of_compiler "${HEDDLE_WATCH_OPTIONS_CLANG}")
  endif()
  target_compile_options(${target} PRIVATE "SHELL:${HEDDLE_WATCH_OPTIONS} ${of_compiler}")
endfunction()

# heddle_frontend(NAME): a library of what `heddle check` does: it builds CUDA C++ with the checked emulator, runs it and reports.
function(heddle_frontend name)
  file(GLOB sources CONFIGURE_DEPENDS ${HEDDLE_EMULATOR_FOLDER}/frontend/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${HEDDLE_EMULATOR_ROOT}>)
  target_link_libraries(${name} PUBLIC Threads::Threads)
  set(libraries "-lpthread")
  foreach(library ${CMAKE_DL_LIBS})
    string(APPEND libraries " -l${library}")
  endforeach()
  if(HEDDLE_HAS_BACKTRACE)
    string(APPEND libraries " -lbacktrace")
  endif()
  set_source_files_properties(${HEDDLE_EMULATOR_FOLDER}/frontend/build.cpp PROPERTIES COMPILE_DEFINITIONS "HEDDLE_CHECK_LIBRARIES=\"${libraries}\"")
  set_source_files_properties(${HEDDLE_EMULATOR_FOLDER}/frontend/compiler.cpp PROPERTIES COMPILE_DEFINITIONS
    "HEDDLE_WATCH_OPTIONS=\"${HEDDLE_WATCH_OPTIONS}\";HEDDLE_WATCH_OPTIONS_GNU=\"${HEDDLE_WATCH_OPTIONS_GNU}\";\
HEDDLE_WATCH_OPTIONS_CLANG=\"${HEDDLE_WATCH_OPTIONS_CLANG}\"")
  # Commands run once; the text of a file is long, but not so long that -O3 would be seen.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

# heddle_install_emulator(TARGETS...): these libraries and programs and the emulator's headers as the install component `emulator`, which is installed
# only when it is asked for by name.
function(heddle_install_emulator)
  include(GNUInstallDirs)
  install(TARGETS ${ARGN} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT emulator EXCLUDE_FROM_ALL
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT emulator EXCLUDE_FROM_ALL)
  heddle_install_emulator_headers(${CMAKE_INSTALL_INCLUDEDIR}/heddle/kernels emulator EXCLUDE_FROM_ALL)
endfunction()

# heddle_install_emulator_headers(FOLDER COMPONENT [EXCLUDE_FROM_ALL]): the headers, some of which have no ending (cuda/barrier).
function(heddle_install_emulator_headers folder component)
  install(DIRECTORY ${HEDDLE_EMULATOR_FOLDER} DESTINATION ${folder} COMPONENT ${component} ${ARGN}
          FILES_MATCHING PATTERN "*.h" REGEX "/emulator/include/" PATTERN "frontend" EXCLUDE)
endfunction()

# heddle_link_checked(PROGRAM LIBRARY): links the checked emulator first. The linker keeps the first copy of a std:: template's function, and the
# emulator must not run one that was compiled for a kernel file and calls the checker.
function(heddle_link_checked program library)
  target_link_options(${program} PRIVATE LINKER:--whole-archive $<TARGET_FILE:${library}> LINKER:--no-whole-archive)
  add_dependencies(${program} ${library})
endfunction()
