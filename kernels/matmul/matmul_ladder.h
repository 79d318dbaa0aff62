// The ladder from three loops to tensor cores: five kernels for C = A B, each with one new idea, for readers. Work goes through
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
    tensor_cores,   ///< + mma, asynchronous copies, swizzle; bf16
};

/// C [m, n] = A [m, k] B [k, n] on the device, all of one dtype, computed by the kernel of this step; any extents, 0 too. Error
/// when the step does not know the dtype or the shapes do not fit.
HEDDLE_CUDA_FUNCTION(Tensor matmul_ladder(MatmulStep step, const Tensor& a, const Tensor& b))
/// Registers of a thread of the step's kernel for f32, or bf16 with tensor cores, and aligned rows; 0 on the emulated device.
HEDDLE_CUDA_FUNCTION(int matmul_ladder_registers(MatmulStep step))

}  // namespace heddle::kernels
