#include "kernels/matmul/product_cuda.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/device.h"
#include "core/storage.h"
#include "kernels/device/launch.h"
#include "kernels/matmul/batch_invariant.h"

namespace heddle::kernels {
namespace {

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

struct Destroy {
    void operator()(cublasLtMatmulDescOpaque_t* description) const { cublasLtMatmulDescDestroy(description); }
    void operator()(cublasLtMatrixLayoutOpaque_t* layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;

// The descriptors of a product and the algorithm that was chosen for it.
struct Plan {
    Description product;
    Layout left, right, result;
    cublasLtMatmulAlgo_t algorithm{};
    bool in_blocks = false;  // the algorithm refuses this number of rows
};

// A row-major [rows, cols] matrix as cuBLAS sees it: column-major [cols, rows].
Layout layout_of(const DeviceProduct& product, const DeviceMatrix& matrix, std::int64_t rows, std::int64_t cols) {
    cublasLtMatrixLayout_t layout = nullptr;
    // One row may have any pitch for us; cuBLAS wants one that could hold it.
    const std::int64_t pitch = std::max(matrix.pitch, cols);
    check_status(cublasLtMatrixLayoutCreate(&layout, cuda_type(matrix.dtype), static_cast<std::uint64_t>(cols),
                                            static_cast<std::uint64_t>(rows), pitch),
                 "describe a matrix", product);
    Layout owner(layout);
    if (product.batch > 1) {
        const auto count = static_cast<std::int32_t>(product.batch);
        const std::int64_t stride = matrix.batch_stride;
        check_status(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                     "describe a batch", product);
        check_status(
            cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
            "describe a batch", product);
    }
    return owner;
}

void set_product(Plan& plan, const DeviceProduct& product, cublasLtMatmulDescAttributes_t attribute, const void* value,
                 std::size_t bytes) {
    check_status(cublasLtMatmulDescSetAttribute(plan.product.get(), attribute, value, bytes), "describe the product", product);
}

// Epilogues read the bias in vectors of this many bytes (a worse address ended in cudaErrorMisalignedAddress for others), and
// there are none in f64.
constexpr std::uintptr_t kBiasAlignment = 16;
bool is_aligned(const Tensor& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.bytes_data()) % kBiasAlignment == 0; }
bool bias_fits_epilogue(const DeviceProduct& product) { return product.c.dtype != DType::f64 && is_aligned(product.bias); }

void set_bias_pointer(Plan& plan, const DeviceProduct& product, const std::byte* bias) {
    set_product(plan, product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

void set_input_pointer(Plan& plan, const DeviceProduct& product, const std::byte* input) {
    set_product(plan, product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &input, sizeof input);
}

// An address near the bias (or GELU's argument) that is aligned to kBiasAlignment and no better. Algorithms are chosen with it,
// because a choice made for the first bias that comes is used for the others, which may be aligned worse.
const std::byte* least_aligned(const Tensor& bias) {
    const std::byte* const address = bias.bytes_data();
    return address + (reinterpret_cast<std::uintptr_t>(address) % (2 * kBiasAlignment) == 0 ? kBiasAlignment : 0);
}

Plan describe(const DeviceProduct& product, std::int64_t m) {
    const bool wide = product.a.dtype == DType::f64;
    Plan plan;
    cublasLtMatmulDesc_t description = nullptr;
    check_status(
        cublasLtMatmulDescCreate(&description, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_R_64F : CUDA_R_32F),
        "describe the product", product);
    plan.product.reset(description);
    // Our B comes first. As stored, row-major [k, n] is cuBLAS's [n, k], which is the operand itself; stored [n, k], it is its
    // transpose.
    const auto left = static_cast<std::int32_t>(product.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const auto right = static_cast<std::int32_t>(product.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right);
    const bool bias = product.bias.defined();
    const bool input = product.gelu_input.defined();
    const auto epilogue = static_cast<std::uint32_t>(
        product.gelu_tanh ? (input ? (bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX)
                                   : (bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU))
        : input           ? CUBLASLT_EPILOGUE_DGELU
        : bias            ? CUBLASLT_EPILOGUE_BIAS
                          : CUBLASLT_EPILOGUE_DEFAULT);
    set_product(plan, product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (bias) set_bias_pointer(plan, product, least_aligned(product.bias));
    if (input) {
        const std::int64_t pitch = product.n;
        set_product(plan, product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &pitch, sizeof pitch);
        set_input_pointer(plan, product, least_aligned(product.gelu_input));
    }
    plan.left = product.b.transposed ? layout_of(product, product.b, product.n, product.k)
                                     : layout_of(product, product.b, product.k, product.n);
    plan.right = product.a.transposed ? layout_of(product, product.a, product.k, m) : layout_of(product, product.a, m, product.k);
    plan.result = layout_of(product, product.c, m, product.n);
    return plan;
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

// The alignment that the algorithm may count on. Where it must be the same for every batch, that is no more than every row has
// (the largest power of two in the step from one row to the next), up to the 16 bytes of the widest load: where a batch, or a
// part of one, begins in memory then makes no difference.
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
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, plan.product.get(), plan.left.get(), plan.right.get(), plan.result.get(),
                                       plan.result.get(), preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    check_status(status, "choose an algorithm", product);
    check_status(count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state, "find an algorithm", product);
    return found.algo;
}

// Whether the plan's algorithm, chosen for another number of rows, computes the plan's product.
bool suits(cublasLtHandle_t handle, const DeviceProduct& product, const Plan& plan) {
    cublasLtMatmulHeuristicResult_t found{};
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle, plan.product.get(), plan.left.get(), plan.right.get(),
                                                          plan.result.get(), plan.result.get(), &plan.algorithm, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
    check_status(status, "check an algorithm", product);
    return found.workspaceSize <= static_cast<std::size_t>(kCublasWorkspace);
}

// ---- what is kept

// Everything that the choice depends on.
using Key = std::array<std::int64_t, 16>;

Key key_of(const DeviceProduct& p) {
    const std::int64_t flags = p.a.transposed | p.b.transposed << 1 | p.accumulate << 2 | p.gelu_tanh << 3 |
                               p.batch_invariant << 4 | p.bias.defined() << 5 | p.gelu_input.defined() << 6;
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
            trusted_alignment(p, p.c)};
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
    if (state.plans.size() >= kMost) state.plans.clear();
    Plan plan = describe(product, product.m);
    if (product.batch_invariant) {
        plan.algorithm = choose_algorithm(state.handle, product, describe(product, kInvariantRows));
        plan.in_blocks = !suits(state.handle, product, plan);
    } else {
        plan.algorithm = choose_algorithm(state.handle, product, plan);
    }
    return state.plans.emplace(key, std::move(plan)).first->second;
}

void* workspace_of(Cublas& state, void* stream) {
    Tensor& workspace = state.workspaces[stream];
    if (!workspace.defined()) {
        const LastingMemory lasting;
        workspace = Tensor::empty({kCublasWorkspace}, DType::u8, Device::cuda);
    }
    return workspace.mutable_bytes_data();
}

void run(Cublas& state, Plan& plan, const DeviceProduct& product) {
    if (product.bias.defined()) set_bias_pointer(plan, product, product.bias.bytes_data());
    if (product.gelu_input.defined()) set_input_pointer(plan, product, product.gelu_input.bytes_data());
    // The factors are read when the call is made, from host memory, in the type that is computed in.
    const bool wide = product.a.dtype == DType::f64;
    const double one_f64 = 1, start_f64 = product.accumulate ? 1 : 0;
    const float one_f32 = 1, start_f32 = product.accumulate ? 1 : 0;
    const void* const one = wide ? static_cast<const void*>(&one_f64) : &one_f32;
    const void* const start = wide ? static_cast<const void*>(&start_f64) : &start_f32;
    void* const stream = device::current_stream();
    check_status(cublasLtMatmul(state.handle, plan.product.get(), one, product.b.data, plan.left.get(), product.a.data,
                                plan.right.get(), start, product.c.data, plan.result.get(), product.c.data, plan.result.get(),
                                &plan.algorithm, workspace_of(state, stream), static_cast<std::size_t>(kCublasWorkspace),
                                static_cast<cudaStream_t>(stream)),
                 "start the product", product);
}

// ---- the same algorithm for a number of rows that it refuses: blocks of kInvariantRows rows, the last one padded

void run_block(Cublas& state, const cublasLtMatmulAlgo_t& algorithm, const DeviceProduct& block) {
    Plan plan = describe(block, block.m);
    plan.algorithm = algorithm;
    run(state, plan, block);
}

// rest.m < kInvariantRows: A's rows are copied beside rows of zeros, and C's rows back.
void run_padded(Cublas& state, const cublasLtMatmulAlgo_t& algorithm, const DeviceProduct& rest) {
    DeviceProduct padded = rest;
    padded.m = kInvariantRows;
    const auto extents_of_a = [&](std::int64_t rows) {
        return rest.a.transposed ? Extents{rest.k, rows} : Extents{rows, rest.k};
    };
    // Pitches stay: the algorithm was chosen for them.
    const auto room_for = [&](const DeviceMatrix& matrix, Extents extents) {
        return Tensor::empty({rest.batch, extents.rows, std::max(matrix.pitch, extents.cols)}, matrix.dtype, Device::cuda);
    };
    const auto matrix_in = [](Tensor& room) { return DeviceResult(room).batched(room.dim(1) * room.dim(2)); };
    const Extents a_extents = extents_of_a(kInvariantRows), c_extents{kInvariantRows, rest.n};
    Tensor a = room_for(rest.a, a_extents), c = room_for(rest.c, c_extents);
    padded.a = rest.a.transposed ? DeviceMatrix(matrix_in(a)).transpose() : matrix_in(a);
    padded.c = matrix_in(c);
    copy_rows(rest, matrix_in(a), a_extents, rest.a, extents_of_a(rest.m));
    if (rest.accumulate) copy_rows(rest, padded.c, c_extents, rest.c, {rest.m, rest.n});
    run_block(state, algorithm, padded);
    copy_rows(rest, rest.c, {rest.m, rest.n}, padded.c, c_extents);
}

void run_in_blocks(Cublas& state, const cublasLtMatmulAlgo_t& algorithm, const DeviceProduct& product) {
    DeviceProduct block = product;
    for (std::int64_t first = 0; first < product.m; first += kInvariantRows) {
        block.m = std::min(kInvariantRows, product.m - first);
        if (block.m == kInvariantRows)
            run_block(state, algorithm, block);
        else
            run_padded(state, algorithm, block);
        block.a.advance(kInvariantRows * (block.a.transposed ? 1 : block.a.pitch));
        block.c.advance(kInvariantRows * block.c.pitch);
    }
}

void multiply(const DeviceProduct& product) {
    Cublas& state = cublas();
    const std::lock_guard lock(state.mutex);
    if (state.handle == nullptr) check_status(cublasLtCreate(&state.handle), "start", product);
    Plan& plan = plan_of(state, product);
    if (plan.in_blocks)
        run_in_blocks(state, plan.algorithm, product);
    else
        run(state, plan, product);
}

}  // namespace

void product_cuda(const DeviceProduct& product) {
    if (product.m == 0 || product.n == 0 || product.batch == 0) return;
    check_dtypes(product);
    if (product.gelu_tanh && (product.c.dtype != DType::bf16 || product.k == 0))
        fail(std::string(product.op) + ": the product's own GELU is for bf16 and at least one term");
    const Tensor& input = product.gelu_input;
    if (input.defined() && (product.c.dtype != DType::bf16 || input.dtype() != DType::bf16 || product.k == 0 ||
                            product.batch != 1 || (product.bias.defined() && !product.gelu_tanh) || product.n % 8 != 0 ||
                            !is_aligned(input) || product.batch_invariant || batch_invariant()))
        fail(std::string(product.op) +
             ": the product's own GELU keeps its argument, or takes its derivative there, in bf16, in aligned rows of a multiple "
             "of 8 numbers, without a batch, and never batch-invariant");
    if (product.bias.defined() && (product.accumulate || product.batch != 1))
        fail(std::string(product.op) + ": a product with a bias starts from nothing else and has no batch");
    if (product.k == 0) {
        if (!product.accumulate) start_rows(product);
        return;
    }
    constexpr std::int64_t kMostBatches = 65535;  // a grid's z
    DeviceProduct part = product;
    part.batch_invariant = product.batch_invariant || batch_invariant();
    if (product.bias.defined() && !bias_fits_epilogue(product)) {  // with GELU, too: it applies to what C held and the product
        start_rows(product);
        part.bias = Tensor();
        part.accumulate = true;
    }
    const auto advance = [](auto& matrix) { matrix.advance(kMostBatches * matrix.batch_stride); };
    for (std::int64_t first = 0; first < product.batch; first += kMostBatches) {
        part.batch = std::min(kMostBatches, product.batch - first);
        multiply(part);
        advance(part.a);
        advance(part.b);
        advance(part.c);
    }
}

}  // namespace heddle::kernels
