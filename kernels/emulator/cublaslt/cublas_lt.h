// Shared by the files that implement cublasLt.h: descriptors, and the complete description of a product.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/include/cublasLt.h"
#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

// Handles point to the opaque base structures.
struct Layout : cublasLtMatrixLayoutOpaque_t {
    cudaDataType_t type = CUDA_R_32F;
    std::int32_t order = CUBLASLT_ORDER_COL;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t leading = 0;
    std::int32_t batch = 1;
    std::int64_t batch_stride = 0;
};
struct Description : cublasLtMatmulDescOpaque_t {
    std::int32_t compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    void *bias = nullptr, *aux = nullptr;
    std::int64_t bias_batch_stride = 0, aux_leading = 0, aux_batch_stride = 0;
    std::int32_t bias_type = -1, aux_type = -1;  // -1: as D
};
struct Preference : cublasLtMatmulPreferenceOpaque_t {
    std::uint64_t workspace = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d
};
/// The contents of a cublasLtMatmulAlgo_t.
struct Algorithm {
    std::uint64_t made = 0;           ///< kMade
    std::uint32_t split = 1;          ///< number of parts of k that are summed separately
    std::uint32_t terms = 256;        ///< number of terms that are summed before they are added to the total
    std::uint64_t workspace = 0;      ///< bytes
    std::uint64_t alignment[4] = {};  ///< that a, b, c and d must have
    std::uint64_t eights = 0;         ///< 1: for columns in groups of 8, see check_algorithm
    static constexpr std::uint64_t kMade = 0x4865646c65;
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

/// The parts of an epilogue.
struct Epilogue {
    bool bias, relu, gelu, aux_out, drelu, dgelu, bgrad, bgrad_a, bgrad_b;
    bool aux() const { return aux_out || drelu || dgelu; }
    bool bits() const { return drelu || (aux_out && relu); }  ///< the aux matrix holds bits
    bool vector() const { return bias || bgrad || bgrad_a || bgrad_b; }
    bool vector_out() const { return vector() && !bias; }
};
Epilogue epilogue_of(std::uint32_t code);

/// One matrix of a batch, column-major: element (i, j) at data + (i + j leading) elements.
struct Matrix {
    std::byte* data;
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t leading;
    std::int64_t batch_stride;
};
struct Product {
    std::int64_t m, n, k;
    std::int32_t batch;
    bool transpose_a, transpose_b;
    Matrix a, b, c, d;
    double alpha, beta;
    Epilogue epilogue;
    Matrix vector;  ///< bias or bias gradient, one column
    Matrix aux;     ///< rows and columns of D; for bits `leading` and `batch_stride` count bits
    std::int64_t split, terms;
};

std::size_t size_of(cudaDataType_t type);
/// The bytes of the matrices of a batch: one piece each, or, if there are many, one piece for all and the gaps between them.
std::vector<Rows> bytes_of(const Matrix& matrix, std::int32_t batch, bool bits);

/// A status and why.
struct Answer {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    std::string why;
};
/// Remembers the reason for cublasLtGetStatusString.
cublasStatus_t refuse(const Answer& answer);
inline cublasStatus_t refuse_invalid(const std::string& why) { return refuse({CUBLAS_STATUS_INVALID_VALUE, why}); }
bool lives(cublasLtHandle_t handle);

/// Whether there is such an algorithm and it can compute this result. One that was found for whole groups of 8 columns takes no
/// result whose last group has fewer than 4: on a GPU, too, an algorithm found for one shape may not exist for another one.
Answer check_algorithm(const Algorithm& algorithm, const Layout& result);
/// Whether such a product exists: types, shapes, epilogue. Does not look at pointers.
Answer check_shapes(const Description& description, const Layout& a, const Layout& b, const Layout& c, const Layout& d);
/// Whether the product can be computed with these pointers and this workspace.
Answer check_pointers(const Product& product, const Algorithm& algorithm, const void* workspace, std::size_t workspace_bytes);

/// Computes D, the aux matrix and the vector. Throws Violation for memory that was freed or never written.
void compute(const Product& product);

}  // namespace heddle::emulator
