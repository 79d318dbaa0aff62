# How the whole project is compiled: through ccache, with which flags (nvcc's are in cuda.cmake) and with which precompiled header.

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

option(HEDDLE_STEP "Debug: compile for a debugger, so that each line is a step and each variable has a value" OFF)
option(HEDDLE_WERROR "Warnings are errors, as they are in continuous integration" OFF)
function(heddle_cxx_options)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endfunction()
heddle_cxx_options(-Winvalid-pch -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion)
if(HEDDLE_WERROR)
  heddle_cxx_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes the checked writes of Debian's fmt 9 for overflows once they are inlined.
  heddle_cxx_options(-Wno-stringop-overflow -Wno-stringop-overread)
  # GCC 12 sees writes past std::string once it is inlined from several sources (GCC bug 105329).
  heddle_cxx_options(-Wno-array-bounds)
  # GCC 12 and 13 see an overlap in "text" + std::string (GCC bug 105651).
  heddle_cxx_options(-Wno-restrict)
  # GCC collects no garbage below 512 MB (its own limit is at most 128 MB): the largest sources compile a sixth faster, with at most 1.1 GB each.
  heddle_cxx_options(--param=ggc-min-heapsize=524288)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 17)
  # std::stable_sort of GCC 12's library calls a function that the library itself calls deprecated.
  heddle_cxx_options(-Wno-deprecated-declarations)
endif()
# Rooms with loops over numbers ask for more (rooms.cmake); everything else compiles a fifth faster so.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(HEDDLE_SANITIZE)  # a report shows lines, not values
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
endif()
if(HEDDLE_STEP)
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
endif()
include_directories(${PROJECT_SOURCE_DIR})

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The baseline that every x86-64 machine of the last fifteen years has; *_fast.cpp files are built once per level on top.
  heddle_cxx_options(-march=x86-64-v2)
  set(HEDDLE_LEVELS v2 v3 v4)
  if(HEDDLE_STEP)  # a debugger shows the same lines for each, and without optimisation none is fast
    set(HEDDLE_LEVELS v2)
    add_compile_definitions(HEDDLE_ONE_LEVEL)
  endif()
else()
  # x86-64-v2 has no fused multiply-add; where the baseline has one, GCC would use it wherever it likes, and bits would depend on inlining.
  heddle_cxx_options(-ffp-contract=off)
  set(HEDDLE_LEVELS v2)
endif()

# Hardening, where the compiler knows it: a guard word behind arrays on the stack, libc's checks of known sizes, and addresses of functions that are
# read-only once the program runs. Sanitizers look for the same themselves, and without optimization libc cannot check.
set(HEDDLE_UNHARDENED "")  # what a target adds that does without
if(HEDDLE_SANITIZE)
  heddle_cxx_options(-fsanitize=${HEDDLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    heddle_cxx_options(-Wno-maybe-uninitialized)  # false ones in <regex>, which GCC's manual expects of this combination
  endif()
elseif(NOT HEDDLE_STEP)
  include(CheckCXXCompilerFlag)
  include(CheckLinkerFlag)
  check_cxx_compiler_flag(-fstack-protector-strong HEDDLE_HAS_STACK_PROTECTOR)
  if(HEDDLE_HAS_STACK_PROTECTOR)
    heddle_cxx_options(-fstack-protector-strong)
    list(APPEND HEDDLE_UNHARDENED -fno-stack-protector)
  endif()
  check_cxx_compiler_flag("-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2" HEDDLE_HAS_FORTIFY)
  if(HEDDLE_HAS_FORTIFY)
    heddle_cxx_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    list(APPEND HEDDLE_UNHARDENED -U_FORTIFY_SOURCE)
  endif()
  check_linker_flag(CXX "LINKER:-z,relro,-z,now" HEDDLE_HAS_RELRO)
  if(HEDDLE_HAS_RELRO)
    add_link_options("LINKER:-z,relro,-z,now")
  endif()
endif()

# One precompiled header for all rooms: the standard library, fmt and the headers of core that nearly every file includes. With the unity build it cuts the
# time of a build to a third (docs/measured/build.md). GCC takes it for -O2 and -O3 alike, but not with other flags for floating point or another -march, so
# *_fast.cpp files do without and .cu files have their own (cuda.cmake). No file may rely on it: tests/run.sh --all builds once with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
set(HEDDLE_PRECOMPILED
    <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
    <span> <sstream> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>
    <core/check.h> <core/format.h> <core/parallel.h> <core/random.h> <core/tensor.h>)
