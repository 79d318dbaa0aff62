# Read by find_package(heddle): how a program's own CUDA kernels are compiled, written with the headers of <heddle/kernels/device>.
#
# heddle_add_kernels(TARGET FILES...): adds .cu files to TARGET. heddle_CUDA says how this Heddle was built, and they are compiled likewise:
#   nvcc      by nvcc, for the chips that CMAKE_CUDA_ARCHITECTURES names, or else for those of Heddle's own kernels
#   emulated  by the host compiler, for the device that runs on the CPU
#   off       not at all: functions declared with HEDDLE_CUDA_FUNCTION then fail, and Device::cuda does not exist

include(${CMAKE_CURRENT_LIST_DIR}/heddleChips.cmake)

# A macro, because languages are enabled outside of functions.
macro(heddle_add_kernels target)
  if(heddle_CUDA STREQUAL "nvcc")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real)  # for the compiler's own tests
      enable_language(CUDA)
      heddle_chips(CMAKE_CUDA_ARCHITECTURES)
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
                          CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
    target_sources(${target} PRIVATE ${ARGN})
  elseif(heddle_CUDA STREQUAL "emulated")
    heddle_emulate_kernels(${target} ${ARGN})
  endif()
endmacro()

# No product and sum become one operation where the source has two: which pairs do is each compiler's own choice. The emulator's headers name each
# other from include/heddle on; that folder is searched last, so that a program's own core/tensor.h stays its own.
function(heddle_emulate_kernels target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  add_library(${target}_kernels OBJECT ${ARGN})
  set_target_properties(${target}_kernels PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${target}_kernels PRIVATE heddle::heddle)
  target_include_directories(${target}_kernels BEFORE PRIVATE ${heddle_INCLUDE_DIR}/heddle/kernels/emulator/include)
  target_compile_options(${target}_kernels PRIVATE -Wno-unknown-pragmas -ffp-contract=off "SHELL:-idirafter \"${heddle_INCLUDE_DIR}/heddle\"")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_kernels>)
endfunction()
