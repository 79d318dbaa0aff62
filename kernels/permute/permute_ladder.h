// The ladder of the transposed copy: four kernels from a thread an element to a tile without bank conflicts, each with one new
// idea, for readers. Work goes through permute.h.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

enum class TransposeStep {
    naive,    ///< a thread an element: reads side by side, writes far apart
    tile,     ///< + a tile in shared memory: both side by side, and conflicts of the banks
    padding,  ///< + rows of the tile begin in different banks
    swizzle,  ///< the same without unused memory: the columns of each row in another order
};

/// y [cols, rows], the transpose of x [rows, cols], copied by the kernel of this step. f32, on the device. Error when x is
/// anything else.
HEDDLE_CUDA_FUNCTION(Tensor transpose_ladder(TransposeStep step, const Tensor& x))
/// Registers of a thread of the step's kernel; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int transpose_ladder_registers(TransposeStep step))

}  // namespace heddle::kernels
