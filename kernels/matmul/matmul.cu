#include "kernels/matmul/product_cuda.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>

#include "core/device.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/number.h"
#include "kernels/matmul/batch_invariant.h"

namespace heddle::kernels {
namespace {

// ---- what a product starts from, without cuBLAS

// c[i, j] = bias[j], or 0 without a bias. A thread an element; neighbours write neighbours.
// c [batch][rows, cols] with a pitch and a stride, bias [cols] or null
template <class T>
__global__ void start_rows_kernel(T* c, const T* bias, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                                  std::int64_t stride, std::int64_t total) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < total; at += step) {
        const std::int64_t row = at / cols, col = at % cols;
        c[row / rows * stride + row % rows * pitch + col] = bias == nullptr ? device::store<T>(0) : bias[col];
    }
}

void start_rows(const DeviceProduct& product) {
    const std::int64_t total = product.batch * product.m * product.n;
    if (total == 0) return;
    device::dispatch(product.op, product.c.dtype, [&]<class T>(TypeTag<T>) {
        const T* bias = product.bias.defined() ? product.bias.data<T>() : nullptr;
        const unsigned blocks = device::blocks_for(std::min<std::int64_t>(total, std::int64_t{1} << 24), 256);
        device::launch({.grid = dim3(blocks), .block = dim3(256)}, start_rows_kernel<T>, static_cast<T*>(product.c.data), bias,
                       product.m, product.n, product.c.pitch, product.c.batch_stride, total);
    });
}

// ---- errors

std::string text_of(const DeviceProduct& p) {
    std::string text = "[" + std::to_string(p.m) + ", " + std::to_string(p.k) + "] x [" + std::to_string(p.k) + ", " +
                       std::to_string(p.n) + "] in " + std::string(name(p.a.dtype));
    if (p.batch != 1) text = std::to_string(p.batch) + " times " + text;
    return text;
}

void check_dtypes(const DeviceProduct& p) {
    const bool widened = p.a.dtype == DType::bf16 && p.c.dtype == DType::f32;
    if (p.a.dtype != p.b.dtype || (p.a.dtype != p.c.dtype && !widened))
        fail(std::string(p.op) + ": a product of " + std::string(name(p.a.dtype)) + " and " + std::string(name(p.b.dtype)) +
             " into " + std::string(name(p.c.dtype)) + ", wanted one dtype, or an f32 result of bf16 operands");
    if (p.bias.defined() && p.bias.dtype() != p.c.dtype)
        fail(std::string(p.op) + ": the bias is " + std::string(name(p.bias.dtype())) + ", wanted " +
             std::string(name(p.c.dtype)));
}

void check_status(cublasStatus_t status, const char* what, const DeviceProduct& product) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fail(std::string(product.op) + ": cuBLAS could not " + what + " for the product " + text_of(product) + ": " +
         cublasLtGetStatusString(status) + " (" + cublasLtGetStatusName(status) + ")");
}

// ---- one product, described to cuBLASLt

cudaDataType_t cuda_type(DType dtype) {
    return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

// The descriptors of a product and the algorithm that was chosen for it. They live as long as the process.
struct Plan {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
};

// A row-major [rows, cols] matrix as cuBLAS sees it: column-major [cols, rows].
cublasLtMatrixLayout_t layout_of(const DeviceProduct& product, const DeviceMatrix& matrix, std::int64_t rows, std::int64_t cols) {
    cublasLtMatrixLayout_t layout = nullptr;
    // One row may have any pitch for us; cuBLAS wants one that could hold it.
    const std::int64_t pitch = std::max(matrix.pitch, cols);
    check_status(cublasLtMatrixLayoutCreate(&layout, cuda_type(matrix.dtype), static_cast<std::uint64_t>(cols),
                                            static_cast<std::uint64_t>(rows), pitch),
                 "describe a matrix", product);
    if (product.batch > 1) {
        const auto count = static_cast<std::int32_t>(product.batch);
        const std::int64_t stride = matrix.batch_stride;
        check_status(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                     "describe a batch", product);
        check_status(
            cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
            "describe a batch", product);
    }
    return layout;
}

void set_product(Plan& plan, const DeviceProduct& product, cublasLtMatmulDescAttributes_t attribute, const void* value,
                 std::size_t bytes) {
    check_status(cublasLtMatmulDescSetAttribute(plan.product, attribute, value, bytes), "describe the product", product);
}

bool has_epilogue_bias(const DeviceProduct& product) { return product.bias.defined() && !product.accumulate; }

void set_bias_pointer(Plan& plan, const DeviceProduct& product) {
    const void* bias = product.bias.bytes_data();
    set_product(plan, product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

Plan describe(const DeviceProduct& product, std::int64_t m) {
    const bool wide = product.a.dtype == DType::f64;
    Plan plan;
    check_status(
        cublasLtMatmulDescCreate(&plan.product, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_R_64F : CUDA_R_32F),
        "describe the product", product);
    // Our B comes first. As stored, row-major [k, n] is cuBLAS's [n, k], which is the operand itself; stored [n, k], it is its
    // transpose.
    const auto left = static_cast<std::int32_t>(product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const auto right = static_cast<std::int32_t>(product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right);
    const bool bias = has_epilogue_bias(product);
    const auto epilogue =
        static_cast<std::uint32_t>(product.gelu_tanh ? (bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU)
                                   : bias            ? CUBLASLT_EPILOGUE_BIAS
                                                     : CUBLASLT_EPILOGUE_DEFAULT);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (bias) set_bias_pointer(plan, product);  // its alignment matters to the choice of the algorithm
    plan.left = product.b.transposed ? layout_of(product, product.b, product.n, product.k)
                                     : layout_of(product, product.b, product.k, product.n);
    plan.right = product.a.transposed ? layout_of(product, product.a, product.k, m) : layout_of(product, product.a, m, product.k);
    plan.result = layout_of(product, product.c, m, product.n);
    return plan;
}

void destroy(Plan& plan) {
    cublasLtMatrixLayoutDestroy(plan.left);
    cublasLtMatrixLayoutDestroy(plan.right);
    cublasLtMatrixLayoutDestroy(plan.result);
    cublasLtMatmulDescDestroy(plan.product);
}

// ---- the choice of an algorithm

// The largest power of two up to 256 that divides an address and the step from one matrix of a batch to the next.
std::uint32_t alignment_of(const DeviceMatrix& matrix) {
    const auto address =
        reinterpret_cast<std::uintptr_t>(matrix.data) | static_cast<std::uintptr_t>(matrix.batch_stride * size_of(matrix.dtype));
    std::uint32_t alignment = 256;
    while (address % alignment != 0) alignment /= 2;
    return alignment;
}

// The alignment that the algorithm may count on. Where it must be the same for every batch, that is no more than every row has (the
// largest power of two in the step from one row to the next), up to the 16 bytes of the widest load: where a batch, or a part of
// one, begins in memory then makes no difference.
std::uint32_t trusted_alignment(const DeviceProduct& product, const DeviceMatrix& matrix) {
    std::uint32_t alignment = alignment_of(matrix);
    if (!product.batch_invariant) return alignment;
    alignment = std::min<std::uint32_t>(alignment, 16);
    while (matrix.pitch * size_of(matrix.dtype) % alignment != 0) alignment /= 2;
    return alignment;
}

// Which rows of C an algorithm is chosen for when it must be the same for every number of rows.
constexpr std::int64_t kInvariantRows = 128;

// The one place that decides: the first algorithm of cuBLASLt's heuristic, without a trial run. Sums split over k are kept in f32
// until they are whole (COMPUTE_TYPE), which bf16 results need and which has one order; batch-invariant ones are never split.
cublasLtMatmulAlgo_t choose_algorithm(cublasLtHandle_t handle, const DeviceProduct& product, const Plan& plan) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_status(cublasLtMatmulPreferenceCreate(&preference), "choose an algorithm", product);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        check_status(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), "choose an algorithm",
                     product);
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kCublasWorkspace));
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(product.batch_invariant ? CUBLASLT_REDUCTION_SCHEME_NONE
                                                           : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, trusted_alignment(product, product.b));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, trusted_alignment(product, product.a));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, trusted_alignment(product, product.c));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, trusted_alignment(product, product.c));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, plan.product, plan.left, plan.right, plan.result,
                                                                 plan.result, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    check_status(status, "choose an algorithm", product);
    check_status(count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state, "find an algorithm", product);
    return found.algo;
}

// ---- what is kept

// Everything that the choice depends on.
using Key = std::array<std::int64_t, 17>;

Key key_of(const DeviceProduct& p) {
    const std::int64_t flags = p.a.transposed | p.b.transposed << 1 | p.accumulate << 2 | p.gelu_tanh << 3 |
                               p.batch_invariant << 4 | has_epilogue_bias(p) << 5;
    const auto bias = reinterpret_cast<std::uintptr_t>(p.bias.bytes_data());
    return {p.m,
            p.n,
            p.k,
            p.batch,
            flags,
            static_cast<std::int64_t>(p.a.dtype),
            static_cast<std::int64_t>(p.c.dtype),
            p.a.pitch,
            p.b.pitch,
            p.c.pitch,
            p.a.batch_stride,
            p.b.batch_stride,
            p.c.batch_stride,
            trusted_alignment(p, p.a),
            trusted_alignment(p, p.b),
            trusted_alignment(p, p.c),
            static_cast<std::int64_t>(bias % 256)};
}

struct Cublas {
    std::mutex mutex;
    cublasLtHandle_t handle = nullptr;
    std::map<Key, Plan> plans;
    std::map<void*, Tensor> workspaces;  // by stream
};

// Never destroyed: at the process's end the driver may be gone before static objects are.
Cublas& cublas() {
    static Cublas* const state = new Cublas;
    return *state;
}

Plan& plan_of(Cublas& state, const DeviceProduct& product) {
    constexpr std::size_t kMost = 4096;  // ragged batches have many shapes; the next ones start over
    const Key key = key_of(product);
    if (const auto known = state.plans.find(key); known != state.plans.end()) return known->second;
    if (state.plans.size() >= kMost) {
        for (auto& [shape, plan] : state.plans) destroy(plan);
        state.plans.clear();
    }
    Plan plan = describe(product, product.m);
    if (product.batch_invariant) {
        Plan nominal = describe(product, kInvariantRows);
        plan.algorithm = choose_algorithm(state.handle, product, nominal);
        destroy(nominal);
    } else {
        plan.algorithm = choose_algorithm(state.handle, product, plan);
    }
    return state.plans.emplace(key, plan).first->second;
}

void* workspace_of(Cublas& state, void* stream) {
    Tensor& workspace = state.workspaces[stream];
    if (!workspace.defined()) workspace = Tensor::empty({kCublasWorkspace}, DType::u8, Device::cuda);
    return workspace.bytes_data();
}

void multiply(const DeviceProduct& product) {
    Cublas& state = cublas();
    const std::lock_guard lock(state.mutex);
    if (state.handle == nullptr) check_status(cublasLtCreate(&state.handle), "start", product);
    Plan& plan = plan_of(state, product);
    if (has_epilogue_bias(product)) set_bias_pointer(plan, product);
    // The factors are read when the call is made, from host memory, in the type that is computed in.
    const bool wide = product.a.dtype == DType::f64;
    const double one_f64 = 1, start_f64 = product.accumulate ? 1 : 0;
    const float one_f32 = 1, start_f32 = product.accumulate ? 1 : 0;
    const void* const one = wide ? static_cast<const void*>(&one_f64) : &one_f32;
    const void* const start = wide ? static_cast<const void*>(&start_f64) : &start_f32;
    void* const stream = device::current_stream();
    check_status(
        cublasLtMatmul(state.handle, plan.product, one, product.b.data, plan.left, product.a.data, plan.right, start,
                       product.c.data, plan.result, product.c.data, plan.result, &plan.algorithm, workspace_of(state, stream),
                       static_cast<std::size_t>(kCublasWorkspace), static_cast<cudaStream_t>(stream)),
        "start the product", product);
}

}  // namespace

void product_cuda(const DeviceProduct& product) {
    if (product.m == 0 || product.n == 0 || product.batch == 0) return;
    check_dtypes(product);
    if (product.gelu_tanh && (product.c.dtype != DType::bf16 || product.k == 0))
        fail(std::string(product.op) + ": the product's own GELU is for bf16 and at least one term");
    if (product.bias.defined() && (product.accumulate || product.batch != 1))
        fail(std::string(product.op) + ": a product with a bias starts from nothing else and has no batch");
    if (product.k == 0) {
        if (!product.accumulate) start_rows(product);
        return;
    }
    constexpr std::int64_t kMostBatches = 65535;  // a grid's z
    DeviceProduct part = product;
    part.batch_invariant = product.batch_invariant || batch_invariant();
    if (product.bias.defined() && product.c.dtype == DType::f64) {  // cuBLASLt has no epilogue in f64
        start_rows(product);
        part.bias = Tensor();
        part.accumulate = true;
    }
    const auto advance = [](DeviceMatrix& matrix) {
        matrix.data = static_cast<std::byte*>(matrix.data) + kMostBatches * matrix.batch_stride * size_of(matrix.dtype);
    };
    for (std::int64_t first = 0; first < product.batch; first += kMostBatches) {
        part.batch = std::min(kMostBatches, product.batch - first);
        multiply(part);
        for (DeviceMatrix* const matrix : {&part.a, &part.b, &part.c}) advance(*matrix);
    }
}

}  // namespace heddle::kernels
