// The ladder of softmax: six kernels from a thread a row to the library's narrow kernel, each with one new idea, for readers.
// Work goes through softmax.h.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

enum class SoftmaxStep {
    naive,      ///< a thread a row
    block,      ///< a block a row: neighbouring threads read neighbouring columns
    warp,       ///< a warp a row: shuffles instead of shared memory and barriers
    online,     ///< + maximum and sum in one pass
    registers,  ///< + the row stays in registers; up to 1024 columns
    vectors,    ///< + 16 bytes an access
};

/// y [rows, cols], the softmax of each row of x [rows, cols], computed by the kernel of this step. f32, on the device. Error when
/// x is anything else, or too wide for the step.
HEDDLE_CUDA_FUNCTION(Tensor softmax_ladder(SoftmaxStep step, const Tensor& x))
/// Registers of a thread of the step's kernel; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int softmax_ladder_registers(SoftmaxStep step))

}  // namespace heddle::kernels
