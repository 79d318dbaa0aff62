// cuBLASLt's products: the choice of an algorithm, and a product as work of a stream.
#include "kernels/emulator/cublaslt/cublas_lt.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

constexpr std::uint64_t kSplitWorkspace = 64 * 1024;

/// Long sums of small results are split, as on a GPU that would be idle otherwise: their bits then depend on the shape.
bool worth_splitting(const Layout& a, const Layout& d, bool transposed) {
    const std::uint64_t k = transposed ? a.rows : a.columns;
    return k >= 256 && d.rows * d.columns * static_cast<std::uint64_t>(d.batch) <= 64 * 64;
}

/// As on a GPU, results with few columns and pointers that are not aligned for wide loads get an algorithm that divides its sums
/// differently. Code that promises the same bits for every batch must request the same algorithm each time.
std::uint32_t terms_at_once(const Layout& d, const Preference& wish) {
    const std::uint32_t alignment = *std::min_element(wish.alignment, wish.alignment + 4);
    return d.columns <= 16 || alignment < 16 ? 32 : 256;
}

double number(const void* pointer, cudaDataType_t type) {
    if (type == CUDA_R_64F) return *static_cast<const double*>(pointer);
    return *static_cast<const float*>(pointer);
}

Matrix matrix_of(const Layout& layout, const void* data) {
    return {static_cast<std::byte*>(const_cast<void*>(data)),
            layout.type,
            layout.rows,
            layout.columns,
            layout.leading,
            layout.batch_stride};
}

Product product_of(const Description& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    Product product = {};
    product.m = static_cast<std::int64_t>(d.rows);
    product.n = static_cast<std::int64_t>(d.columns);
    product.transpose_a = p.transpose_a != CUBLAS_OP_N;
    product.transpose_b = p.transpose_b != CUBLAS_OP_N;
    product.k = static_cast<std::int64_t>(product.transpose_a ? a.rows : a.columns);
    product.batch = d.batch;
    product.a = matrix_of(a, nullptr);
    product.b = matrix_of(b, nullptr);
    product.c = matrix_of(c, nullptr);
    product.d = matrix_of(d, nullptr);
    product.epilogue = epilogue_of(p.epilogue);
    const std::uint64_t length = product.epilogue.bgrad_b ? d.columns : d.rows;
    product.vector = {static_cast<std::byte*>(p.bias), d.type, length, 1, static_cast<std::int64_t>(length), p.bias_batch_stride};
    product.aux = {static_cast<std::byte*>(p.aux), d.type, d.rows, d.columns, p.aux_leading, p.aux_batch_stride};
    return product;
}

/// Lists the memory that the product touches, for the race check between streams.
void list_memory(const Product& product, void* workspace, std::size_t workspace_bytes, Operation& operation) {
    const auto add = [&](std::vector<Rows>& to, const Matrix& matrix, bool bits = false) {
        const std::vector<Rows> pieces = bytes_of(matrix, product.batch, bits);
        to.insert(to.end(), pieces.begin(), pieces.end());
    };
    const Epilogue& e = product.epilogue;
    add(operation.reads, product.a);
    add(operation.reads, product.b);
    if (product.beta != 0) add(operation.reads, product.c);
    if (e.vector()) add(e.vector_out() ? operation.writes : operation.reads, product.vector);
    if (e.aux()) add(e.aux_out ? operation.writes : operation.reads, product.aux, e.bits());
    add(operation.writes, product.d);
    if (workspace_bytes > 0) operation.writes.push_back(Rows::of(workspace, workspace_bytes));
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
    if (!lives(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmulAlgoGetHeuristic: not a handle"});
    if (!descriptor || !a || !b || !c || !d || !preference || !results || !found || wanted < 1)
        return refuse_invalid("cublasLtMatmulAlgoGetHeuristic: a null pointer, or no result wanted");
    *found = 0;
    const auto& p = static_cast<const Description&>(*descriptor);
    const auto& result = static_cast<const Layout&>(*d);
    const Answer answer =
        check_shapes(p, static_cast<const Layout&>(*a), static_cast<const Layout&>(*b), static_cast<const Layout&>(*c), result);
    if (answer.status != CUBLAS_STATUS_SUCCESS) return refuse(answer);
    const auto& wish = static_cast<const Preference&>(*preference);
    Algorithm algorithm;
    algorithm.made = Algorithm::kMade;
    algorithm.terms = terms_at_once(result, wish);
    std::copy_n(wish.alignment, 4, algorithm.alignment);
    algorithm.eights = result.columns % 8 == 0 ? 1 : 0;
    const bool may_split = wish.workspace >= kSplitWorkspace && (wish.reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
    const bool split_first = may_split && worth_splitting(static_cast<const Layout&>(*a), result, p.transpose_a != CUBLAS_OP_N);
    for (const bool split : {split_first, !split_first}) {
        if (*found == wanted || (split && !may_split)) continue;
        algorithm.split = split ? 2u : 1u;
        algorithm.workspace = split ? kSplitWorkspace : 0;
        cublasLtMatmulHeuristicResult_t& entry = results[(*found)++];
        entry = {};
        entry.algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
        entry.workspaceSize = algorithm.workspace;
        entry.state = CUBLAS_STATUS_SUCCESS;
        entry.wavesCount = 1;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
    if (!lives(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmulAlgoCheck: not a handle"});
    if (!descriptor || !a || !b || !c || !d || !algo || !result) return refuse_invalid("cublasLtMatmulAlgoCheck: a null pointer");
    const auto algorithm = std::bit_cast<Algorithm>(*algo);
    const auto& to = static_cast<const Layout&>(*d);
    Answer answer = check_shapes(static_cast<const Description&>(*descriptor), static_cast<const Layout&>(*a),
                                 static_cast<const Layout&>(*b), static_cast<const Layout&>(*c), to);
    if (answer.status == CUBLAS_STATUS_SUCCESS) answer = check_algorithm(algorithm, to);
    *result = {};
    result->state = answer.status;
    if (answer.status != CUBLAS_STATUS_SUCCESS) return refuse(answer);
    result->algo = *algo;
    result->workspaceSize = algorithm.workspace;
    result->wavesCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void* value, std::size_t bytes, std::size_t* written) {
    if (algo == nullptr || value == nullptr || bytes != sizeof(std::int32_t))
        return refuse_invalid("cublasLtMatmulAlgoConfigGetAttribute: a null pointer, or a size other than 4 bytes");
    const auto algorithm = std::bit_cast<Algorithm>(*algo);
    const bool split = algorithm.split > 1;
    const std::int32_t answer = name == CUBLASLT_ALGO_CONFIG_ID           ? (split ? 2 : 1) + (algorithm.terms == 32 ? 2 : 0)
                                : name == CUBLASLT_ALGO_CONFIG_SPLITK_NUM ? static_cast<std::int32_t>(algorithm.split)
                                : split                                   ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                                          : CUBLASLT_REDUCTION_SCHEME_NONE;
    std::memcpy(value, &answer, sizeof answer);
    if (written != nullptr) *written = sizeof answer;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                              Place place) {
    if (!lives(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmul: not a handle"});
    if (!descriptor || !alpha || !beta || !a || !b || !d || !a_layout || !b_layout || !c_layout || !d_layout)
        return refuse_invalid("cublasLtMatmul: a null pointer");
    const auto& p = static_cast<const Description&>(*descriptor);
    const auto& la = static_cast<const Layout&>(*a_layout);
    const auto& lb = static_cast<const Layout&>(*b_layout);
    const auto& lc = static_cast<const Layout&>(*c_layout);
    const auto& ld = static_cast<const Layout&>(*d_layout);
    if (const Answer answer = check_shapes(p, la, lb, lc, ld); answer.status != CUBLAS_STATUS_SUCCESS) return refuse(answer);
    const Algorithm algorithm = algo != nullptr ? std::bit_cast<Algorithm>(*algo) : Algorithm{.made = Algorithm::kMade};
    if (const Answer answer = check_algorithm(algorithm, ld); answer.status != CUBLAS_STATUS_SUCCESS) return refuse(answer);
    Product product = product_of(p, la, lb, lc, ld);
    product.a.data = static_cast<std::byte*>(const_cast<void*>(a));
    product.b.data = static_cast<std::byte*>(const_cast<void*>(b));
    product.c.data = static_cast<std::byte*>(const_cast<void*>(c));
    product.d.data = static_cast<std::byte*>(d);
    product.alpha = number(alpha, static_cast<cudaDataType_t>(p.scale));
    product.beta = number(beta, static_cast<cudaDataType_t>(p.scale));
    product.split = algorithm.split;
    product.terms = algorithm.terms;
    if (const Answer answer = check_pointers(product, algorithm, workspace, workspace_bytes);
        answer.status != CUBLAS_STATUS_SUCCESS)
        return refuse(answer);

    Operation operation;
    operation.what = "cublasLtMatmul";
    operation.place = place;
    const std::size_t used = algorithm.workspace;
    list_memory(product, workspace, used, operation);
    operation.work = [product, scratch = Rows::of(workspace, used), name = title(operation)] {
        try {
            if (!scratch.empty()) {  // overwritten, because an algorithm may leave anything there
                check_device(scratch, true);
                std::memset(scratch.start, 0xff, scratch.width);
            }
            compute(product);
        } catch (const std::exception& error) {
            throw std::runtime_error(name + " " + error.what());
        }
    };
    const cudaError_t error = submit(stream, std::move(operation));
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : refuse({CUBLAS_STATUS_EXECUTION_FAILED, cudaGetErrorString(error)});
}
