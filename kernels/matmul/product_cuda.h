// The matrix product of the CUDA side, by cuBLASLt: what every op that multiplies calls there.
//
//     C [m, n] = op(A) [m, k] op(B) [k, n] + start          start = 0, the bias in each row, or what C holds
//
// Row-major on our side, column-major on cuBLAS's: the bytes of a row-major C [m, n] are those of a column-major C^T [n, m]. So
// cuBLAS is asked for C^T = op(B)^T op(A)^T, its first operand being our B, and nothing is transposed in memory. Its bias runs
// along the rows of C^T, which are our columns: just what a linear map wants.
//
// Numbers: f64 in f64; f32 in f32 (CUBLAS_COMPUTE_32F: never tf32); bf16 operands with f32 accumulation and a bf16 or f32 result.
// Bits: the algorithm is the heuristic's first, asked for once per shape, layout, alignment and epilogue, never timed; parts of a
// split sum are kept in f32 and added in a fixed order. The same call gives the same bits at each run.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// A row-major matrix in device memory that a product reads, or `batch` of them: row i of matrix b starts at
/// data + b * batch_stride + i * pitch (in elements).
struct DeviceMatrix {
    const void* data = nullptr;
    DType dtype = DType::f32;
    std::int64_t pitch = 0;
    std::int64_t batch_stride = 0;  ///< 0: one matrix serves the whole batch
    bool transposed = false;        ///< the product takes its transpose

    DeviceMatrix() = default;
    /// All of a tensor [.., cols] as a matrix [rows, cols].
    explicit DeviceMatrix(const Tensor& tensor) : data(tensor.bytes_data()), dtype(tensor.dtype()), pitch(tensor.cols()) {}
    /// A column slice, read in place.
    explicit DeviceMatrix(const Columns& columns)
        : data(columns.base.bytes_data() + columns.begin * size_of(columns.base.dtype())),
          dtype(columns.base.dtype()),
          pitch(columns.pitch()) {}
    DeviceMatrix transpose() const {
        DeviceMatrix result = *this;
        result.transposed = !transposed;
        return result;
    }
    DeviceMatrix batched(std::int64_t stride) const {
        DeviceMatrix result = *this;
        result.batch_stride = stride;
        return result;
    }
    /// Moves on by so many elements.
    void advance(std::int64_t elements) { data = static_cast<const std::byte*>(data) + elements * size_of(dtype); }
};

/// The same to write: where a product's C goes.
struct DeviceResult {
    void* data = nullptr;
    DType dtype = DType::f32;
    std::int64_t pitch = 0;
    std::int64_t batch_stride = 0;

    DeviceResult() = default;
    /// All of a tensor [.., cols] as a matrix [rows, cols].
    explicit DeviceResult(Tensor tensor) : data(tensor.mutable_bytes_data()), dtype(tensor.dtype()), pitch(tensor.cols()) {}
    /// A column slice, written in place.
    explicit DeviceResult(Columns columns)
        : data(columns.base.mutable_bytes_data() + columns.begin * size_of(columns.base.dtype())),
          dtype(columns.base.dtype()),
          pitch(columns.pitch()) {}
    DeviceResult batched(std::int64_t stride) const {
        DeviceResult result = *this;
        result.batch_stride = stride;
        return result;
    }
    void advance(std::int64_t elements) { data = static_cast<std::byte*>(data) + elements * size_of(dtype); }
    /// A read-only view of the output.
    operator DeviceMatrix() const {  // NOLINT: what may be written may be read
        DeviceMatrix result;
        result.data = data, result.dtype = dtype, result.pitch = pitch, result.batch_stride = batch_stride;
        return result;
    }
};

struct DeviceProduct {
    const char* op = "matmul";  ///< for messages
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t batch = 1;
    DeviceMatrix a = {}, b = {};
    DeviceResult c = {};
    /// [n] of C's dtype or undefined: every row of C starts from it. Not together with `accumulate` or a batch. At any address;
    /// cuBLASLt itself adds one that is aligned to 16 bytes, another one costs a pass that writes it into C first.
    Tensor bias = {};
    bool accumulate = false;  ///< C starts from what it holds
    bool gelu_tanh = false;   ///< C = gelu(C) in its tanh form, bf16 only: cuBLASLt's f32 tanh promises no accuracy
    /// [m, n] of C's dtype, aligned to 16 bytes, n a multiple of 8, no batch. Beside gelu_tanh: GELU's argument is kept there.
    /// Alone: C = C times gelu_tanh'(gelu_input), bf16 only. Never batch-invariant.
    Tensor gelu_input = {};
    /// One algorithm for every m and every address, its sum over k in one piece: a row's bits then do not depend on the rows
    /// beside it. Where cuBLASLt refuses that algorithm for m rows, they are multiplied in blocks of 128, the last one padded.
    /// Set for all products by set_batch_invariant (kernels/matmul/batch_invariant.h).
    bool batch_invariant = false;
};

/// Puts the product into the current stream. a and b have the same dtype (f32, f64 or bf16), c too, or c is f32 and they bf16.
/// Empty extents need no product: without k, C is its start. Error with cuBLAS's message, the op and the shape when it fails.
HEDDLE_CUDA_FUNCTION(void product_cuda(const DeviceProduct& product))

/// Bytes of device memory that cuBLASLt may use in a stream. One workspace per stream, kept: products of one stream follow each
/// other.
inline constexpr std::int64_t kCublasWorkspace = std::int64_t{32} << 20;

// ---- operations of matmul.cu on C and A without cuBLASLt (matmul_rows.cu)

/// Each row of the product's C becomes its bias, or 0 without one.
void start_rows(const DeviceProduct& product);

struct Extents {
    std::int64_t rows, cols;
};
/// For each matrix of the product's batch: `to` receives `from`, which may be smaller, and zeros outside of it. One dtype, no
/// overlap.
void copy_rows(const DeviceProduct& product, const DeviceResult& to, Extents to_extents, const DeviceMatrix& from,
               Extents from_extents);

}  // namespace heddle::kernels
