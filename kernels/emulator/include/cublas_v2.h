// The part of cuBLAS that is emulated, under its names, for builds without CUDA. Matrices are column-major with leading
// dimensions. Each call is work of the handle's stream that reads and writes known device memory, so races with other streams,
// freed memory and memory that was never written are found.
//
// Products are those of the emulated cuBLASLt (plain sums in f32, f64 or integers; TF32 and the other fast forms are computed in
// full f32, CUBLAS_COMPUTE_16F in f32 and rounded once). Results of vectors are summed in f64, in the order of the elements.
// Not declared: complex types, triangular, symmetric, packed and banded matrices, rotations, what is made of a matrix and a
// vector but gemv.
#pragma once
#define CUBLAS_API_H_  // code that names the statuses of whichever library is included looks for this
#define CUBLAS_V2_H_

#include <cstddef>
#include <cstdint>

#include "kernels/emulator/include/cublas_types.h"
#include "kernels/emulator/place.h"
#if defined(__CUDACC__)  // foreign files find half and bfloat16 in it, too
#include "kernels/emulator/include/cuda_bf16.h"
#include "kernels/emulator/include/cuda_fp16.h"
#endif

typedef cudaDataType cublasDataType_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
/// All algorithms compute the same here.
typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_ALGO1 = 1,
    CUBLAS_GEMM_ALGO2 = 2,
    CUBLAS_GEMM_ALGO3 = 3,
    CUBLAS_GEMM_ALGO4 = 4,
    CUBLAS_GEMM_ALGO5 = 5,
    CUBLAS_GEMM_ALGO6 = 6,
    CUBLAS_GEMM_ALGO7 = 7,
    CUBLAS_GEMM_ALGO8 = 8,
    CUBLAS_GEMM_ALGO9 = 9,
    CUBLAS_GEMM_ALGO23 = 23,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
    CUBLAS_GEMM_ALGO15_TENSOR_OP = 115,
} cublasGemmAlgo_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION 130000

typedef struct cublasContext* cublasHandle_t;

#define HEDDLE_PLACE heddle::emulator::Place place = heddle::emulator::Place::current()

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
/// Kept and returned; the emulator's products need none.
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);
/// Where alpha, beta and results of vectors lie. In device memory they are read and written when the work runs.
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
/// Kept and returned; all modes compute the same here.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
const char* cublasGetStatusName(cublasStatus_t status);
/// For the status that was returned last on this thread, the emulator's reason.
const char* cublasGetStatusString(cublasStatus_t status);

/// Copies of vectors and matrices between host and device: elements of `size` bytes.
cublasStatus_t cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy, HEDDLE_PLACE);
cublasStatus_t cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy, HEDDLE_PLACE);
cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void* a, int lda, void* b, int ldb, HEDDLE_PLACE);
cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void* a, int lda, void* b, int ldb, HEDDLE_PLACE);

namespace heddle::emulator::cublas {

/// Who calls.
struct Call {
    const char* name;
    cublasHandle_t handle;
    Place place;
};
/// A matrix, or the matrices of a batch: `stride` elements apart, or, with `each`, by pointers that lie in device memory.
struct MatrixOf {
    const void* data;
    cudaDataType type;
    std::int64_t leading;
    std::int64_t stride = 0;
    bool each = false;
};
/// A vector: element i at data + i step, for a negative step the last one first.
struct VectorOf {
    const void* data;
    cudaDataType type;
    std::int64_t step;
};
struct ProductOf {
    cublasOperation_t transpose_a, transpose_b;
    std::int64_t m, n, k;
    cublasComputeType_t compute;
    std::int64_t batch = 1;
};

/// C = alpha op(A) op(B) + beta C.
cublasStatus_t gemm(const Call& call, const ProductOf& product, const void* alpha, const MatrixOf& a, const MatrixOf& b,
                    const void* beta, const MatrixOf& c);
/// y = alpha op(A) x + beta y.
cublasStatus_t gemv(const Call& call, cublasOperation_t transpose, std::int64_t m, std::int64_t n, const void* alpha,
                    const MatrixOf& a, const VectorOf& x, const void* beta, const VectorOf& y);

enum class Update { axpy, scal, copy, swap };
/// y += alpha x, x *= alpha, y = x, x <-> y; `alpha` (of type `scale`) where there is one.
cublasStatus_t update(const Call& call, Update kind, std::int64_t n, const void* alpha, cudaDataType scale, const VectorOf& x,
                      const VectorOf& y);
enum class Measure { dot, nrm2, asum, amax, amin };
/// x . y, |x|, the sum of |x_i|, the first largest or smallest |x_i| (a position from 1, of type int).
cublasStatus_t measure(const Call& call, Measure kind, std::int64_t n, const VectorOf& x, const VectorOf& y, void* result,
                       cudaDataType type);

}  // namespace heddle::emulator::cublas

// The typed functions: S is f32, D is f64.
#define HEDDLE_CUBLAS(name) (heddle::emulator::cublas::Call{name, handle, place})
#define HEDDLE_TYPED(L, T, TYPE, COMPUTE)                                                                                       \
    inline cublasStatus_t cublas##L##gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,      \
                                          int k, const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, \
                                          int ldc, HEDDLE_PLACE) {                                                              \
        return heddle::emulator::cublas::gemm(HEDDLE_CUBLAS("cublas" #L "gemm"), {ta, tb, m, n, k, COMPUTE}, alpha,             \
                                              {a, TYPE, lda}, {b, TYPE, ldb}, beta, {c, TYPE, ldc});                            \
    }                                                                                                                           \
    inline cublasStatus_t cublas##L##gemmStridedBatched(                                                                        \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha, const T* a,     \
        int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc, long long stride_c, \
        int batch, HEDDLE_PLACE) {                                                                                              \
        return heddle::emulator::cublas::gemm(HEDDLE_CUBLAS("cublas" #L "gemmStridedBatched"),                                  \
                                              {ta, tb, m, n, k, COMPUTE, batch}, alpha, {a, TYPE, lda, stride_a},               \
                                              {b, TYPE, ldb, stride_b}, beta, {c, TYPE, ldc, stride_c});                        \
    }                                                                                                                           \
    inline cublasStatus_t cublas##L##gemmBatched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,      \
                                                 int n, int k, const T* alpha, const T* const a[], int lda, const T* const b[], \
                                                 int ldb, const T* beta, T* const c[], int ldc, int batch, HEDDLE_PLACE) {      \
        return heddle::emulator::cublas::gemm(HEDDLE_CUBLAS("cublas" #L "gemmBatched"), {ta, tb, m, n, k, COMPUTE, batch},      \
                                              alpha, {a, TYPE, lda, 0, true}, {b, TYPE, ldb, 0, true}, beta,                    \
                                              {c, TYPE, ldc, 0, true});                                                         \
    }
#define HEDDLE_VECTORS(L, T, TYPE)                                                                                            \
    inline cublasStatus_t cublas##L##gemv(cublasHandle_t handle, cublasOperation_t transpose, int m, int n, const T* alpha,   \
                                          const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy,           \
                                          HEDDLE_PLACE) {                                                                     \
        return heddle::emulator::cublas::gemv(HEDDLE_CUBLAS("cublas" #L "gemv"), transpose, m, n, alpha, {a, TYPE, lda},      \
                                              {x, TYPE, incx}, beta, {y, TYPE, incy});                                        \
    }                                                                                                                         \
    inline cublasStatus_t cublas##L##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy, \
                                          HEDDLE_PLACE) {                                                                     \
        return heddle::emulator::cublas::update(HEDDLE_CUBLAS("cublas" #L "axpy"), heddle::emulator::cublas::Update::axpy, n, \
                                                alpha, TYPE, {x, TYPE, incx}, {y, TYPE, incy});                               \
    }                                                                                                                         \
    inline cublasStatus_t cublas##L##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx, HEDDLE_PLACE) {       \
        return heddle::emulator::cublas::update(HEDDLE_CUBLAS("cublas" #L "scal"), heddle::emulator::cublas::Update::scal, n, \
                                                alpha, TYPE, {x, TYPE, incx}, {x, TYPE, incx});                               \
    }                                                                                                                         \
    inline cublasStatus_t cublas##L##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result, \
                                         HEDDLE_PLACE) {                                                                      \
        return heddle::emulator::cublas::measure(HEDDLE_CUBLAS("cublas" #L "dot"), heddle::emulator::cublas::Measure::dot, n, \
                                                 {x, TYPE, incx}, {y, TYPE, incy}, result, TYPE);                             \
    }
#define HEDDLE_MOVES(L, NAME, FROM, T, TYPE)                                                                                \
    inline cublasStatus_t cublas##L##NAME(cublasHandle_t handle, int n, FROM* x, int incx, T* y, int incy, HEDDLE_PLACE) {  \
        return heddle::emulator::cublas::update(HEDDLE_CUBLAS("cublas" #L#NAME), heddle::emulator::cublas::Update::NAME, n, \
                                                nullptr, TYPE, {x, TYPE, incx}, {y, TYPE, incy});                           \
    }
#define HEDDLE_MEASURES(L, NAME, T, TYPE, RESULT, RESULT_TYPE)                                                                \
    inline cublasStatus_t cublas##L##NAME(cublasHandle_t handle, int n, const T* x, int incx, RESULT* result, HEDDLE_PLACE) { \
        return heddle::emulator::cublas::measure(HEDDLE_CUBLAS("cublas" #L#NAME), heddle::emulator::cublas::Measure::NAME, n, \
                                                 {x, TYPE, incx}, {x, TYPE, incx}, result, RESULT_TYPE);                      \
    }

HEDDLE_TYPED(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
HEDDLE_TYPED(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
struct __half;
HEDDLE_TYPED(H, __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
HEDDLE_VECTORS(S, float, CUDA_R_32F)
HEDDLE_MOVES(S, copy, const float, float, CUDA_R_32F)
HEDDLE_MOVES(S, swap, float, float, CUDA_R_32F)
HEDDLE_MEASURES(S, nrm2, float, CUDA_R_32F, float, CUDA_R_32F)
HEDDLE_MEASURES(S, asum, float, CUDA_R_32F, float, CUDA_R_32F)
HEDDLE_MEASURES(Is, amax, float, CUDA_R_32F, int, CUDA_R_32I)
HEDDLE_MEASURES(Is, amin, float, CUDA_R_32F, int, CUDA_R_32I)
HEDDLE_VECTORS(D, double, CUDA_R_64F)
HEDDLE_MOVES(D, copy, const double, double, CUDA_R_64F)
HEDDLE_MOVES(D, swap, double, double, CUDA_R_64F)
HEDDLE_MEASURES(D, nrm2, double, CUDA_R_64F, double, CUDA_R_64F)
HEDDLE_MEASURES(D, asum, double, CUDA_R_64F, double, CUDA_R_64F)
HEDDLE_MEASURES(Id, amax, double, CUDA_R_64F, int, CUDA_R_32I)
HEDDLE_MEASURES(Id, amin, double, CUDA_R_64F, int, CUDA_R_32I)
#undef HEDDLE_TYPED
#undef HEDDLE_VECTORS
#undef HEDDLE_MOVES
#undef HEDDLE_MEASURES

namespace heddle::emulator::cublas {
/// The type of the sums, from the data type that releases before 11 named instead.
constexpr cublasComputeType_t compute_of(cudaDataType type) {
    return type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
           : type == CUDA_R_64F ? CUBLAS_COMPUTE_64F
           : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                : CUBLAS_COMPUTE_32F;
}
constexpr cublasComputeType_t compute_of(cublasComputeType_t type) { return type; }
}  // namespace heddle::emulator::cublas

template <class Compute>
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
                            int ldb, const void* beta, void* c, cudaDataType c_type, int ldc, Compute compute, cublasGemmAlgo_t,
                            HEDDLE_PLACE) {
    using namespace heddle::emulator::cublas;
    return gemm(HEDDLE_CUBLAS("cublasGemmEx"), {ta, tb, m, n, k, compute_of(compute)}, alpha, {a, a_type, lda}, {b, b_type, ldb},
                beta, {c, c_type, ldc});
}
template <class Compute>
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type, int lda, long long stride_a,
                                          const void* b, cudaDataType b_type, int ldb, long long stride_b, const void* beta,
                                          void* c, cudaDataType c_type, int ldc, long long stride_c, int batch, Compute compute,
                                          cublasGemmAlgo_t, HEDDLE_PLACE) {
    using namespace heddle::emulator::cublas;
    return gemm(HEDDLE_CUBLAS("cublasGemmStridedBatchedEx"), {ta, tb, m, n, k, compute_of(compute), batch}, alpha,
                {a, a_type, lda, stride_a}, {b, b_type, ldb, stride_b}, beta, {c, c_type, ldc, stride_c});
}
template <class Compute>
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                   const void* alpha, const void* const a[], cudaDataType a_type, int lda, const void* const b[],
                                   cudaDataType b_type, int ldb, const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int batch, Compute compute, cublasGemmAlgo_t, HEDDLE_PLACE) {
    using namespace heddle::emulator::cublas;
    return gemm(HEDDLE_CUBLAS("cublasGemmBatchedEx"), {ta, tb, m, n, k, compute_of(compute), batch}, alpha,
                {a, a_type, lda, 0, true}, {b, b_type, ldb, 0, true}, beta, {c, c_type, ldc, 0, true});
}
#undef HEDDLE_CUBLAS
#undef HEDDLE_PLACE

// The names that cuBLAS's library has since its second interface.
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
#define cublasSaxpy_v2 cublasSaxpy
#define cublasDaxpy_v2 cublasDaxpy
#define cublasSdot_v2 cublasSdot
#define cublasDdot_v2 cublasDdot
#define cublasSscal_v2 cublasSscal
#define cublasDscal_v2 cublasDscal
#define cublasSnrm2_v2 cublasSnrm2
#define cublasDnrm2_v2 cublasDnrm2
