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

# What stands above the declarations in every exercise.h: of kernels, and of ops on the tape.
set(HEDDLE_KERNEL_PROLOGUE [[
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"

using heddle::device::copy_async, heddle::device::load_vector, heddle::device::store_vector;
using heddle::device::Pipeline, heddle::device::SharedArena, heddle::device::Vector;

]])
set(HEDDLE_TAPE_PROLOGUE [[
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/tape.h"

using heddle::backward, heddle::record;
using heddle::DType, heddle::Gradients, heddle::Tensor, heddle::Variable, heddle::Where;

]])

# Writes each exercise's header to FOLDER/NAME/exercise.h: the prologue, then the declarations under "## exercise.h" of its page.
function(heddle_exercise_headers folder)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/learn/exercises/*.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})
  foreach(page IN LISTS pages)
    file(READ ${page} text)
    if(NOT text MATCHES "\n## exercise\\.h\n\n```cpp\n(.*)```\n\n## Hints\n")
      message(FATAL_ERROR "${page}: wanted ## exercise.h with a block of C++, then ## Hints")
    endif()
    set(declared "${CMAKE_MATCH_1}")
    get_filename_component(exercise ${page} NAME_WE)
    if(text MATCHES "\n```cuda\n")
      set(declared "${HEDDLE_KERNEL_PROLOGUE}extern \"C\" {\n${declared}}\n")
    else()
      set(declared "${HEDDLE_TAPE_PROLOGUE}${declared}")
    endif()
    file(CONFIGURE OUTPUT ${folder}/${exercise}/exercise.h CONTENT "${declared}" @ONLY)
  endforeach()
endfunction()
