# heddle_chips(VARIABLE): the chips that kernels are compiled for by default, as CMAKE_CUDA_ARCHITECTURES: machine code for those that nvcc knows
# of Ampere (A100; A40, RTX 30), Ada (L40, RTX 40), Hopper (H100) and Blackwell (B200; RTX 50), and PTX for chips that come later.
function(heddle_chips variable)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(known sm_80 sm_90)
  endif()
  set(chips)
  foreach(chip 80 86 89 90 100 120)
    if("${known}" MATCHES "sm_${chip}([^0-9]|$)")
      string(REPLACE "90" "90a" chip ${chip})  # Hopper's own instructions
      list(APPEND chips ${chip}-real)
    endif()
  endforeach()
  set(${variable} ${chips} 80-virtual PARENT_SCOPE)
endfunction()
