# The emulator's libraries and how kernels are compiled for it. Used by Heddle (cmake/cuda.cmake) and by CMakeLists.txt beside this file.
set(HEDDLE_EMULATOR_FOLDER ${CMAKE_CURRENT_LIST_DIR})
get_filename_component(HEDDLE_EMULATOR_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

# GCC's libbacktrace knows the names of kernels in anonymous namespaces, and the source lines of addresses. Without it, reports show bare addresses.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles("#include <backtrace.h>\nint main() { return backtrace_create_state(nullptr, 0, nullptr, nullptr) == nullptr; }"
                          HEDDLE_HAS_BACKTRACE)
unset(CMAKE_REQUIRED_LIBRARIES)

# heddle_emulator(NAME): a library of the emulator.
function(heddle_emulator name)
  file(GLOB sources CONFIGURE_DEPENDS ${HEDDLE_EMULATOR_FOLDER}/*.cpp)
  add_library(${name} STATIC ${sources})
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

# heddle_watch_accesses(TARGET): compiles the target's kernels so that each access is watched. The compiler calls __tsan_read4(address) and its
# kin before each access. These are the emulator's own; nothing is linked with ThreadSanitizer. One access in the source stays one access, so
# no vectorisation, and it stays where it is: GCC would move a read behind the guard that its value is used behind.
function(heddle_watch_accesses target)
  set(no_function_entries --param=tsan-instrument-func-entry-exit=0 -fno-tree-sink)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(no_function_entries "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
  endif()
  target_compile_options(${target} PRIVATE -fsanitize=thread -O1 -g1 -fno-tree-vectorize -fno-unroll-loops ${no_function_entries})
endfunction()

# heddle_install_emulator(LIBRARIES...): these libraries and the emulator's headers as the install component `emulator`, which is installed only
# when it is asked for by name.
function(heddle_install_emulator)
  include(GNUInstallDirs)
  install(TARGETS ${ARGN} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT emulator EXCLUDE_FROM_ALL)
  install(DIRECTORY ${HEDDLE_EMULATOR_FOLDER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/kernels COMPONENT emulator EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.h")
endfunction()

# heddle_link_checked(PROGRAM LIBRARY): links the checked emulator first. The linker keeps the first copy of a std:: template's function, and the
# emulator must not run one that was compiled for a kernel file and calls the checker.
function(heddle_link_checked program library)
  target_link_options(${program} PRIVATE LINKER:--whole-archive $<TARGET_FILE:${library}> LINKER:--no-whole-archive)
  add_dependencies(${program} ${library})
endfunction()
