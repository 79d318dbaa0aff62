# Where the CUDA kernels (*.cu) come from. One set of files, three ways to build them:
#   nvcc      for GPUs
#   emulated  by the host compiler against kernels/emulator, which runs them on the CPU
#   off       not at all: Device::cuda does not exist
# auto takes nvcc when it is found, else off.
set(HEDDLE_CUDA auto CACHE STRING "CUDA kernels: nvcc, emulated, off, or auto (nvcc when it is found, else off)")
set_property(CACHE HEDDLE_CUDA PROPERTY STRINGS auto nvcc emulated off)
option(HEDDLE_EMULATOR_CHECK "Emulated: watch every access of every kernel. Builds the kernels and their device tests only" OFF)

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

# What Device::cuda is made of, as heddle_cuda: the CUDA runtime with cuBLASLt, the emulator in its place, or nothing.
add_library(heddle_cuda INTERFACE)
if(HEDDLE_CUDA_MODE STREQUAL "nvcc")
  target_link_libraries(heddle_cuda INTERFACE CUDA::cudart_static CUDA::cublasLt)
elseif(HEDDLE_CUDA_MODE STREQUAL "emulated")
  file(GLOB emulator_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/emulator/*.cpp)
  if(NOT emulator_sources)
    set(emulator_sources ${PROJECT_SOURCE_DIR}/cmake/empty.cpp)
  endif()
  add_library(heddle_emulator STATIC ${emulator_sources})
  # The stand-ins for <cuda_runtime.h> and its kin.
  target_include_directories(heddle_emulator BEFORE PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/kernels/emulator/include>)
  target_link_libraries(heddle_emulator PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(heddle_emulator PRIVATE $<$<CONFIG:Release>:-O3>)
  # It moves between stacks and tells the sanitizers so; they watch the kernels, not it.
  target_compile_options(heddle_emulator PRIVATE -fno-sanitize=all)
  # GCC's libbacktrace knows the names of kernels in anonymous namespaces, and the source lines of addresses. Reports show bare addresses without.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES backtrace)
  check_cxx_source_compiles("#include <backtrace.h>\nint main() { return backtrace_create_state(nullptr, 0, nullptr, nullptr) == nullptr; }"
                            HEDDLE_HAS_BACKTRACE)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(HEDDLE_HAS_BACKTRACE)
    target_compile_definitions(heddle_emulator PRIVATE HEDDLE_HAS_BACKTRACE)
    target_link_libraries(heddle_emulator PUBLIC backtrace)
  endif()
  if(HEDDLE_EMULATOR_CHECK)
    target_compile_definitions(heddle_emulator PUBLIC $<BUILD_INTERFACE:HEDDLE_EMULATOR_CHECK>)
  endif()
  target_link_libraries(heddle_cuda INTERFACE heddle_emulator)
endif()

# heddle_kernel_files(TARGET FILES...): adds .cu files to a library, compiled as the mode asks.
function(heddle_kernel_files target)
  if(HEDDLE_CUDA_MODE STREQUAL "off" OR NOT ARGN)
    return()
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  if(HEDDLE_CUDA_MODE STREQUAL "nvcc")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    return()
  endif()
  # Line tables: reports name the source line of an access. No product and sum become one operation where the source has two.
  set(options -Wno-unknown-pragmas -ffp-contract=off)
  if(HEDDLE_EMULATOR_CHECK)
    # The compiler calls __tsan_read4(address) and its kin before each access. These are the emulator's own (kernels/emulator);
    # nothing is linked with ThreadSanitizer. One access in the source stays one access, so no vectorisation.
    list(APPEND options -fsanitize=thread -O1 -g -fno-tree-vectorize -fno-unroll-loops --param=tsan-instrument-func-entry-exit=0)
  else()
    list(APPEND options $<$<CONFIG:Release>:-g1>)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
