// The ladder from three loops to tensor cores: nine kernels for C = A B, each with one new idea, for readers. Work goes through
// product_cuda.h.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

enum class MatmulStep {
    naive,          ///< a thread an element; f32, bf16, f64
    shared_tile,    ///< + a tile of A and B in shared memory; f32
    register_tile,  ///< + 8 x 8 elements a thread; f32
    vector_loads,   ///< + 16 bytes an access; f32
    warp_tile,      ///< + 64 x 64 elements a warp, 8 x 16 a thread; f32
    tensor_cores,   ///< + mma, tiles with padding; bf16, as the following
    copies_ahead,   ///< + asynchronous copies of the next tile
    swizzle,        ///< + no padding
    whole_lines,    ///< + C written 16 bytes a lane
};

/// C [m, n] = A [m, k] B [k, n] on the device, all of one dtype, computed by the kernel of this step; any extents, 0 too. Error
/// when the step does not know the dtype or the shapes do not fit.
HEDDLE_CUDA_FUNCTION(Tensor matmul_ladder(MatmulStep step, const Tensor& a, const Tensor& b))
/// Registers of a thread of the step's kernel for f32, or bf16 with tensor cores, and aligned rows; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int matmul_ladder_registers(MatmulStep step))

// ---- the steps from tensor_cores on (matmul_ladder_cores.cu): arguments are checked and the result allocated by
// matmul_ladder.cu

HEDDLE_CUDA_FUNCTION(void matmul_ladder_cores(MatmulStep step, const Tensor& left, const Tensor& right, Tensor& result))
HEDDLE_CUDA_FUNCTION(int matmul_ladder_cores_registers(MatmulStep step))

}  // namespace heddle::kernels
