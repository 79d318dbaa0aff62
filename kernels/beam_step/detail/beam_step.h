// The CUDA side of beam_step.h: arguments are checked and results allocated by beam_step.cpp. A slot that leaves `top` or names
// no sentence stops the kernel.
#pragma once

#include "kernels/beam_step/beam_step.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Step number beams.steps, before it is counted.
HEDDLE_CUDA_FUNCTION(void beam_step_cuda(Beams& beams, const TopK& top, const Tensor& slots, BeamStep& result))

}  // namespace heddle::kernels
