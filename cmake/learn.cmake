# The headers that answers of `heddle learn` include, and what these include: an answer sees no others, installed or not. The ops of
# autograd/ops.h would be answers.
set(HEDDLE_LEARN_HEADERS
    autograd/tape.h autograd/variable.h core/axes.h core/dtype.h core/enum_words.h core/members.h core/shape.h core/storage.h core/tensor.h core/where.h
    kernels/device/cuda.h
    kernels/device/number.h kernels/device/pipeline.h kernels/device/ptx.h kernels/device/shared.h kernels/device/vector.h
    kernels/emulator/cuda/answer.h kernels/emulator/cuda/device_properties.h kernels/emulator/cuda/error_codes.h
    kernels/emulator/indices.h kernels/emulator/cuda/launch_types.h kernels/emulator/cuda/shared.h
    kernels/emulator/cuda/symbols.h kernels/emulator/include/driver_types.h kernels/emulator/include/vector_types.h
    kernels/emulator/interface.h kernels/emulator/kernel.h kernels/emulator/place.h)

# Writes each exercise's header, the block under "## exercise.h" of its page, to FOLDER/NAME/exercise.h.
function(heddle_exercise_headers folder)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/learn/exercises/*/page.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})
  foreach(page IN LISTS pages)
    file(READ ${page} text)
    if(NOT text MATCHES "\n## exercise\\.h\n\n```cpp\n(.*)```\n\n## Hints\n")
      message(FATAL_ERROR "${page}: wanted ## exercise.h with a block of C++, then ## Hints")
    endif()
    get_filename_component(exercise ${page} DIRECTORY)
    get_filename_component(exercise ${exercise} NAME)
    file(CONFIGURE OUTPUT ${folder}/${exercise}/exercise.h CONTENT "${CMAKE_MATCH_1}" @ONLY)
  endforeach()
endfunction()
