# Where the CUDA kernels (*.cu) come from. One set of files, three ways to build them:
#   nvcc      for GPUs
#   emulated  by the host compiler against kernels/emulator, which runs them on the CPU
#   off       not at all: Device::cuda does not exist
# auto takes nvcc when it is found, else off.
set(HEDDLE_CUDA auto CACHE STRING "CUDA kernels: nvcc, emulated, off, or auto (nvcc when it is found, else off)")
set_property(CACHE HEDDLE_CUDA PROPERTY STRINGS auto nvcc emulated off)
option(HEDDLE_EMULATOR_CHECK "Emulated: build the kernels a second time, every access watched, and their tests with them" OFF)

set(HEDDLE_CUDA_MODE ${HEDDLE_CUDA})
if(HEDDLE_CUDA STREQUAL "auto")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(HEDDLE_CUDA_MODE nvcc)
  else()
    set(HEDDLE_CUDA_MODE off)
  endif()
elseif(NOT HEDDLE_CUDA MATCHES "^(nvcc|emulated|off)$")
  message(FATAL_ERROR "HEDDLE_CUDA=${HEDDLE_CUDA}: wanted nvcc, emulated, off or auto")
endif()
if(HEDDLE_EMULATOR_CHECK AND NOT HEDDLE_CUDA_MODE STREQUAL "emulated")
  message(FATAL_ERROR "HEDDLE_EMULATOR_CHECK watches emulated kernels; configure with -DHEDDLE_CUDA=emulated, too")
endif()
if(HEDDLE_EMULATOR_CHECK AND APPLE)
  message(FATAL_ERROR "HEDDLE_EMULATOR_CHECK needs programs in ELF, as Linux has them; leave it OFF")
endif()
message(STATUS "CUDA kernels: ${HEDDLE_CUDA_MODE}")

if(HEDDLE_CUDA_MODE STREQUAL "off")
  add_compile_definitions(HEDDLE_WITHOUT_CUDA)
elseif(HEDDLE_CUDA_MODE STREQUAL "nvcc")
  # Machine code for both generations, and PTX from which a driver makes code for any later one. One chip only, in half the time:
  # -DCMAKE_CUDA_ARCHITECTURES=90a-real
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 80-virtual)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O2")
  set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")
  find_package(CUDAToolkit REQUIRED)
endif()

# heddle_emulator(NAME): a library of the emulator.
function(heddle_emulator name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/emulator/*.cpp)
  add_library(${name} STATIC ${sources})
  # The stand-ins for <cuda_runtime.h> and its kin.
  target_include_directories(${name} BEFORE PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/kernels/emulator/include>)
  target_link_libraries(${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  # It moves between stacks and tells the sanitizers so; they watch the kernels, not it.
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  if(HEDDLE_HAS_BACKTRACE)
    target_compile_definitions(${name} PRIVATE HEDDLE_HAS_BACKTRACE)
    target_link_libraries(${name} PUBLIC backtrace)
  endif()
endfunction()

# What Device::cuda is made of, as heddle_cuda: the CUDA runtime with cuBLASLt, the emulator in its place, or nothing.
add_library(heddle_cuda INTERFACE)
if(HEDDLE_CUDA_MODE STREQUAL "nvcc")
  target_link_libraries(heddle_cuda INTERFACE CUDA::cudart_static CUDA::cublasLt)
elseif(HEDDLE_CUDA_MODE STREQUAL "emulated")
  # GCC's libbacktrace knows the names of kernels in anonymous namespaces, and the source lines of addresses. Reports show bare addresses without.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES backtrace)
  check_cxx_source_compiles("#include <backtrace.h>\nint main() { return backtrace_create_state(nullptr, 0, nullptr, nullptr) == nullptr; }"
                            HEDDLE_HAS_BACKTRACE)
  unset(CMAKE_REQUIRED_LIBRARIES)
  heddle_emulator(heddle_emulator)
  if(HEDDLE_EMULATOR_CHECK)
    heddle_emulator(heddle_emulator_checked)
    target_compile_definitions(heddle_emulator_checked PUBLIC HEDDLE_EMULATOR_CHECK)
  endif()
  target_link_libraries(heddle_cuda INTERFACE heddle_emulator)
endif()

# heddle_kernel_objects(NAME CHECKED FILES...): an object library of .cu files for the emulator. CHECKED: each of their accesses is watched.
function(heddle_kernel_objects name checked)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE heddle_core)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  # Line tables: reports name the source line of an access. No product and sum become one operation where the source has two.
  target_compile_options(${name} PRIVATE -Wno-unknown-pragmas -ffp-contract=off ${HEDDLE_UNHARDENED})
  if(checked)
    # The compiler calls __tsan_read4(address) and its kin before each access. These are the emulator's own (kernels/emulator);
    # nothing is linked with ThreadSanitizer. One access in the source stays one access, so no vectorisation.
    set(no_function_entries --param=tsan-instrument-func-entry-exit=0)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(no_function_entries "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
    endif()
    target_compile_options(${name} PRIVATE -fsanitize=thread -O1 -g1 -fno-tree-vectorize -fno-unroll-loops ${no_function_entries})
    target_link_libraries(${name} PRIVATE heddle_emulator_checked)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-g1>)
  endif()
  # Precompiled: what every kernel file includes. Kernels that only tests have reuse the library's header.
  if(name MATCHES "^heddle_kernels_")
    target_precompile_headers(${name} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <limits> <memory> <type_traits> <core/tensor.h>
                              <kernels/device/dispatch.h> <kernels/device/exponentials.h> <kernels/device/reduce.h> <kernels/device/rows.h>
                              <kernels/device/vector.h>)
  elseif(checked)
    target_precompile_headers(${name} REUSE_FROM heddle_kernels_checked_cu)
  else()
    target_precompile_headers(${name} REUSE_FROM heddle_kernels_cu)
  endif()
endfunction()

# heddle_kernel_files(TARGET FILES...): adds .cu files to TARGET, compiled as the mode asks.
function(heddle_kernel_files target)
  if(HEDDLE_CUDA_MODE STREQUAL "off" OR NOT ARGN)
    return()
  endif()
  if(HEDDLE_CUDA_MODE STREQUAL "nvcc")
    target_sources(${target} PRIVATE ${ARGN})
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    return()
  endif()
  heddle_kernel_objects(${target}_cu OFF ${ARGN})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cu>)
endfunction()
