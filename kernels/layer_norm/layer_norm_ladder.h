// The ladder of layer norm: five kernels from a thread a row to the library's narrow kernel, each with one new idea, for readers.
// Work goes through layer_norm.h.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

enum class LayerNormStep {
    naive,      ///< a thread a row, three passes
    warp,       ///< a warp a row: neighbouring lanes read neighbouring columns
    one_pass,   ///< + mean and variance in one pass
    registers,  ///< + the row stays in registers; up to 1024 columns
    vectors,    ///< + 16 bytes an access
};

/// y [rows, cols] = gamma (x - mean) rstd + beta for x [rows, cols] and gamma, beta [cols] (layer_norm.h has the formula),
/// computed by the kernel of this step. f32, on the device. Error when the arguments are anything else, or too wide for the step.
HEDDLE_CUDA_FUNCTION(Tensor layer_norm_ladder(LayerNormStep step, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                              double eps))
/// Registers of a thread of the step's kernel; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int layer_norm_ladder_registers(LayerNormStep step))

}  // namespace heddle::kernels
