# Where the CUDA kernels (*.cu) come from. One set of files, three ways to build them:
#   nvcc      for GPUs
#   emulated  by the host compiler against kernels/emulator, which runs them on the CPU
#   off       not at all: Device::cuda does not exist
# auto takes nvcc when it is found, else off.
set(HEDDLE_CUDA auto CACHE STRING "CUDA kernels: nvcc, emulated, off, or auto (nvcc when it is found, else off)")
set_property(CACHE HEDDLE_CUDA PROPERTY STRINGS auto nvcc emulated off)
option(HEDDLE_EMULATOR_CHECK "Emulated: build the kernels a second time, every access watched, and their tests with them" OFF)
option(HEDDLE_EMULATOR_CONTRACT "Emulated: let products and sums of kernels become one operation, as nvcc does" OFF)

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
if(HEDDLE_EMULATOR_CONTRACT AND NOT HEDDLE_CUDA_MODE STREQUAL "emulated")
  message(FATAL_ERROR "HEDDLE_EMULATOR_CONTRACT is about emulated kernels; configure with -DHEDDLE_CUDA=emulated, too")
endif()
message(STATUS "CUDA kernels: ${HEDDLE_CUDA_MODE}")

if(HEDDLE_CUDA_MODE STREQUAL "off")
  add_compile_definitions(HEDDLE_WITHOUT_CUDA)
elseif(HEDDLE_CUDA_MODE STREQUAL "nvcc")
  # Machine code for every generation that this nvcc knows, and PTX from which a driver makes code for any later one. One chip only, in a
  # fraction of the time: -DCMAKE_CUDA_ARCHITECTURES=native or 90a-real
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real)  # for the compiler's own tests
    set(HEDDLE_ALL_CHIPS ON)
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.3)
    message(FATAL_ERROR "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is too old: Heddle asks for kernels' names by cudaFuncGetName, which came with CUDA 12.3. "
                        "Install CUDA 12.3 or later and name its nvcc by -DCMAKE_CUDA_COMPILER=, or configure with -DHEDDLE_CUDA=emulated")
  endif()
  if(HEDDLE_ALL_CHIPS)
    include(${CMAKE_CURRENT_LIST_DIR}/heddleChips.cmake)
    heddle_chips(CMAKE_CUDA_ARCHITECTURES)
  endif()
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O2")
  set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>")
  if(HEDDLE_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>")
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()

# What Device::cuda is made of, as heddle_cuda: the CUDA runtime with cuBLASLt, the emulator in its place, or nothing.
add_library(heddle_cuda INTERFACE)
if(HEDDLE_CUDA_MODE STREQUAL "off")
  target_compile_definitions(heddle_cuda INTERFACE HEDDLE_WITHOUT_CUDA)  # for programs that use an installed Heddle
endif()
if(HEDDLE_CUDA_MODE STREQUAL "nvcc")
  target_link_libraries(heddle_cuda INTERFACE CUDA::cudart_static CUDA::cublasLt)
elseif(HEDDLE_CUDA_MODE STREQUAL "emulated")
  include(${PROJECT_SOURCE_DIR}/kernels/emulator/emulator.cmake)
  heddle_emulator(heddle_emulator)
  target_link_libraries(heddle_cuda INTERFACE heddle_emulator)
endif()
# Not a device: the programs of `heddle check` are linked to it, and heddle-grader, which runs the answers of `heddle learn`. It needs programs in
# ELF, as Linux has them.
include(${PROJECT_SOURCE_DIR}/kernels/emulator/emulator.cmake)
heddle_frontend(heddle_frontend)
include(GNUInstallDirs)
set(HEDDLE_CHECK_INSTALLED ${CMAKE_INSTALL_LIBDIR}/heddle/check)  # the headers and the library
if(NOT APPLE)
  heddle_emulator(heddle_emulator_checked)
  target_compile_definitions(heddle_emulator_checked PUBLIC HEDDLE_EMULATOR_CHECK)
endif()

# heddle_kernel_objects(NAME CHECKED FILES...): an object library of .cu files for the emulator. CHECKED: each of their accesses is watched.
function(heddle_kernel_objects name checked)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE heddle_core)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  # Line tables: reports name the source line of an access. No product and sum become one operation where the source has two, unless that is
  # what is tested: which pairs become one is each compiler's own choice.
  set(contraction -ffp-contract=off)
  if(HEDDLE_EMULATOR_CONTRACT)
    set(contraction -ffp-contract=fast)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      list(APPEND contraction -mfma)
    endif()
  endif()
  target_compile_options(${name} PRIVATE -Wno-unknown-pragmas ${contraction} ${HEDDLE_UNHARDENED})
  if(checked)
    heddle_watch_accesses(${name})
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

# heddle_add_kernels(TARGET FILES...): adds .cu files to TARGET, compiled as the mode asks. An installed Heddle has a function of this name, too
# (heddleKernels.cmake).
function(heddle_add_kernels target)
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
