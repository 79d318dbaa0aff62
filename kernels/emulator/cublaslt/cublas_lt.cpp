// cuBLASLt's descriptors, the choice of an algorithm, what is refused, and a product as work of a stream. NOT_SUPPORTED: no
// algorithm can do it. INVALID_VALUE: the arguments contradict each other.
#include "kernels/emulator/cublaslt/cublas_lt.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>

#include "kernels/emulator/cublaslt/elements.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

struct cublasLtContext {};

namespace {

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
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    cudaDataType_t scale = CUDA_R_32F;
    std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    void *bias = nullptr, *aux = nullptr;
    std::int64_t aux_leading = 0;
    std::int32_t bias_type = -1, aux_type = -1;  // -1: as D
};
struct Preference : cublasLtMatmulPreferenceOpaque_t {
    std::uint64_t workspace = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t alignment[4] = {256, 256, 256, 256};  // of a, b, c, d
};
// The contents of a cublasLtMatmulAlgo_t.
struct Algorithm {
    static constexpr std::uint64_t kMade = 0x4865646c65;
    std::uint64_t made = kMade;
    std::uint32_t split = 1;          // number of parts of k that are summed separately
    std::uint32_t terms = 256;        // number of terms that are summed before they are added to the total
    std::uint64_t workspace = 0;      // bytes
    std::uint64_t alignment[4] = {};  // that a, b, c and d must have
    std::uint64_t eights = 0;         // 1: for columns in groups of 8, see check_algorithm
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

// The four layouts and the description of a call.
struct Arguments {
    const Description& p;
    const Layout &a, &b, &c, &d;
    Arguments(cublasLtMatmulDesc_t p_, cublasLtMatrixLayout_t a_, cublasLtMatrixLayout_t b_, cublasLtMatrixLayout_t c_,
              cublasLtMatrixLayout_t d_)
        : p(static_cast<const Description&>(*p_)),
          a(static_cast<const Layout&>(*a_)),
          b(static_cast<const Layout&>(*b_)),
          c(static_cast<const Layout&>(*c_)),
          d(static_cast<const Layout&>(*d_)) {}
};

thread_local cublasStatus_t explained_status = CUBLAS_STATUS_SUCCESS;
thread_local const char* explained_by = nullptr;

Handles<cublasLtContext>& lt_handles() {
    static auto* const handles = new Handles<cublasLtContext>;
    return *handles;
}

// ---- descriptors

struct Attribute {
    int name;
    void* place;
    std::size_t bytes;
    template <class T>
    Attribute(int n, T& value) : name(n), place(&value), bytes(sizeof value) {}
};
cublasStatus_t set(const std::string& call, int name, const void* value, std::size_t bytes,
                   std::initializer_list<Attribute> attributes) {
    const auto* const found = std::find_if(attributes.begin(), attributes.end(), [&](auto& each) { return each.name == name; });
    if (found == attributes.end()) return refuse_invalid(call + ": an attribute that the emulator does not know");
    if (value == nullptr || bytes != found->bytes)
        return refuse_invalid(call + ": the attribute has " + std::to_string(found->bytes) + " bytes, not " +
                              std::to_string(bytes));
    std::memcpy(found->place, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Base>
cublasStatus_t create(Base** to, T made) {
    if (to == nullptr) return refuse_invalid("cublasLt: a null pointer for the descriptor that is to be created");
    *to = new T(std::move(made));
    return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Base>
cublasStatus_t destroy(Base* descriptor) {
    delete static_cast<T*>(descriptor);
    return CUBLAS_STATUS_SUCCESS;
}

// ---- what is refused

Answer invalid(std::string why) { return {CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul: " + std::move(why)}; }
Answer unsupported(std::string why) { return {CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul: " + std::move(why)}; }
bool fine(const Answer& answer) { return answer.status == CUBLAS_STATUS_SUCCESS; }

std::string shape(const Layout& l) { return "[" + std::to_string(l.rows) + ", " + std::to_string(l.columns) + "]"; }

Answer check_layout(const Layout& l, std::int32_t batch, const std::string& name) {
    if (l.order != CUBLASLT_ORDER_COL) return unsupported(name + ": the emulator knows column order only");
    if (l.rows == 0 || l.columns == 0) return invalid(name + " " + shape(l) + " is empty");
    if (l.leading < 0 || static_cast<std::uint64_t>(l.leading) < l.rows)
        return invalid(name + " " + shape(l) + " has the leading dimension " + std::to_string(l.leading) +
                       ", less than its rows");
    if (l.batch < 1) return invalid(name + ": a batch of " + std::to_string(l.batch));
    if (l.batch != batch) return invalid(name + " has a batch of " + std::to_string(l.batch) + ", D of " + std::to_string(batch));
    return {};
}

// The parts of an epilogue by its number, or nothing.
const Epilogue* epilogue_of(std::uint32_t code) {
    static constexpr std::pair<std::uint32_t, Epilogue> known[] = {
        {CUBLASLT_EPILOGUE_DEFAULT, {}},
        {CUBLASLT_EPILOGUE_BIAS, {.bias = true}},
        {CUBLASLT_EPILOGUE_GELU, {.gelu = true}},
        {CUBLASLT_EPILOGUE_GELU_BIAS, {.bias = true, .gelu = true}},
        {CUBLASLT_EPILOGUE_GELU_AUX, {.gelu = true, .aux_out = true}},
        {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, {.bias = true, .gelu = true, .aux_out = true}},
        {CUBLASLT_EPILOGUE_DGELU, {.dgelu = true}},
        {CUBLASLT_EPILOGUE_BGRADB, {.bgrad_b = true}},
    };
    const auto* const found = std::find_if(std::begin(known), std::end(known), [&](auto& each) { return each.first == code; });
    return found == std::end(known) ? nullptr : &found->second;
}

Answer check_epilogue(const Description& p, const Layout& d) {
    const Epilogue* const e = epilogue_of(p.epilogue);
    if (e == nullptr) return unsupported("the emulator has no epilogue " + std::to_string(p.epilogue));
    if (p.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return {};
    if (d.type == CUDA_R_64F) return unsupported("there is no epilogue in f64");
    if (d.batch > 1) return unsupported("the emulator has no epilogue of a batch");
    if (e->vector() && p.bias_type != -1 && p.bias_type != d.type) return unsupported("the bias must have D's type");
    if (!e->aux()) return {};
    if (p.aux_type != -1 && p.aux_type != d.type) return unsupported("the aux matrix must have D's type");
    if (p.aux_leading < static_cast<std::int64_t>(d.rows) || p.aux_leading % 8 != 0)
        return invalid("the aux matrix has the leading dimension " + std::to_string(p.aux_leading) +
                       ": wanted a multiple of 8 not below D's " + std::to_string(d.rows) + " rows");
    return {};
}

// Whether such a product exists: types, shapes, epilogue. Does not look at pointers.
Answer check_shapes(const Arguments& x) {
    const Description& p = x.p;
    if (p.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return unsupported("the emulator reads alpha and beta from the host only");
    for (const std::int32_t t : {p.transpose_a, p.transpose_b})
        if (t != CUBLAS_OP_N && t != CUBLAS_OP_T && t != CUBLAS_OP_C)
            return invalid("there is no transposition " + std::to_string(t));
    const Scale scale = scale_of(p.compute, x.a.type, x.b.type, x.d.type);
    if (!scale.why.empty()) return unsupported(scale.why);
    if (x.c.type != x.d.type) return unsupported("C and D have different types");
    if (p.scale != scale.type) return unsupported("alpha and beta have the wrong type for this compute type");
    for (const auto& [layout, name] : {std::pair{&x.a, "A"}, {&x.b, "B"}, {&x.c, "C"}, {&x.d, "D"}})
        if (const Answer answer = check_layout(*layout, x.d.batch, name); !fine(answer)) return answer;
    const bool ta = p.transpose_a != CUBLAS_OP_N, tb = p.transpose_b != CUBLAS_OP_N;
    const bool fits = (ta ? x.a.columns : x.a.rows) == x.d.rows && (tb ? x.b.rows : x.b.columns) == x.d.columns &&
                      (ta ? x.a.rows : x.a.columns) == (tb ? x.b.columns : x.b.rows) && x.c.rows == x.d.rows &&
                      x.c.columns == x.d.columns;
    if (!fits)
        return invalid("the shapes do not fit: A " + shape(x.a) + (ta ? " transposed" : "") + ", B " + shape(x.b) +
                       (tb ? " transposed" : "") + ", C " + shape(x.c) + ", D " + shape(x.d));
    return check_epilogue(p, x.d);
}

// Whether there is such an algorithm and it can compute this result. One that was found for whole groups of 8 columns takes no
// result whose last group has fewer than 4: on a GPU, too, an algorithm found for one shape may not exist for another one.
Answer check_algorithm(const Algorithm& algorithm, const Layout& result) {
    constexpr std::uint64_t kGroup = 8, kLeast = 4;
    if (algorithm.made != Algorithm::kMade) return invalid("the algorithm does not come from cublasLtMatmulAlgoGetHeuristic");
    const std::uint64_t last = result.columns % kGroup;
    if (algorithm.eights != 0 && last != 0 && last < kLeast)
        return unsupported("the algorithm was found for columns in groups of 8, and D " + shape(result) + " ends with " +
                           std::to_string(last));
    return {};
}

// ---- a product

constexpr std::uint64_t kSplitWorkspace = 64 * 1024;

// Long sums of small results are split, as on a GPU that would be idle otherwise: their bits then depend on the shape.
bool worth_splitting(const Arguments& x) {
    const std::uint64_t k = x.p.transpose_a != CUBLAS_OP_N ? x.a.rows : x.a.columns;
    return k >= 256 && x.d.rows * x.d.columns * static_cast<std::uint64_t>(x.d.batch) <= 64 * 64;
}

// As on a GPU, results with few columns and pointers that are not aligned for wide loads get an algorithm that divides its sums
// differently. Code that promises the same bits for every batch must request the same algorithm each time.
std::uint32_t terms_at_once(const Layout& d, const Preference& wish) {
    const std::uint32_t alignment = *std::min_element(wish.alignment, wish.alignment + 4);
    return d.columns <= 16 || alignment < 16 ? 32 : 256;
}

Matrix matrix_of(const Layout& layout, const void* data) {
    return {static_cast<std::byte*>(const_cast<void*>(data)),
            layout.type,
            layout.rows,
            layout.columns,
            layout.leading,
            layout.batch_stride};
}

void fill_in(cublasLtMatmulHeuristicResult_t& entry, const Algorithm& algorithm) {
    entry = {};
    entry.algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
    entry.workspaceSize = algorithm.workspace;
    entry.state = CUBLAS_STATUS_SUCCESS;
    entry.wavesCount = 1;
}

}  // namespace

namespace heddle::emulator {

cublasStatus_t refuse(const Answer& answer) {
    explained_status = answer.status;
    explained_by = kept(answer.why);
    return answer.status;
}

}  // namespace heddle::emulator

const char* cublasLtGetStatusName(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
        case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
        case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
        case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
        case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
    }
    return "unknown cuBLAS status";
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
    return status != CUBLAS_STATUS_SUCCESS && status == explained_status ? explained_by : cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return lt_handles().create("cublasLtCreate", handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return lt_handles().destroy("cublasLtDestroy", handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute, cudaDataType_t scale) {
    return create(descriptor, Description{{}, compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) { return destroy<Description>(descriptor); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t name,
                                              const void* value, std::size_t bytes) {
    if (descriptor == nullptr) return refuse_invalid("cublasLtMatmulDescSetAttribute: a null pointer for the descriptor");
    auto& d = static_cast<Description&>(*descriptor);
    return set("cublasLtMatmulDescSetAttribute", name, value, bytes,
               {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, d.compute},
                {CUBLASLT_MATMUL_DESC_SCALE_TYPE, d.scale},
                {CUBLASLT_MATMUL_DESC_POINTER_MODE, d.pointer_mode},
                {CUBLASLT_MATMUL_DESC_TRANSA, d.transpose_a},
                {CUBLASLT_MATMUL_DESC_TRANSB, d.transpose_b},
                {CUBLASLT_MATMUL_DESC_EPILOGUE, d.epilogue},
                {CUBLASLT_MATMUL_DESC_BIAS_POINTER, d.bias},
                {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, d.aux},
                {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, d.aux_leading},
                {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, d.aux_type},
                {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, d.bias_type}});
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading_dimension) {
    return create(layout, Layout{{}, type, CUBLASLT_ORDER_COL, rows, columns, leading_dimension});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy<Layout>(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, std::size_t bytes) {
    if (layout == nullptr) return refuse_invalid("cublasLtMatrixLayoutSetAttribute: a null pointer for the layout");
    auto& l = static_cast<Layout&>(*layout);
    return set("cublasLtMatrixLayoutSetAttribute", name, value, bytes,
               {{CUBLASLT_MATRIX_LAYOUT_TYPE, l.type},
                {CUBLASLT_MATRIX_LAYOUT_ORDER, l.order},
                {CUBLASLT_MATRIX_LAYOUT_ROWS, l.rows},
                {CUBLASLT_MATRIX_LAYOUT_COLS, l.columns},
                {CUBLASLT_MATRIX_LAYOUT_LD, l.leading},
                {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, l.batch},
                {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, l.batch_stride}});
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) { return create(preference, Preference()); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy<Preference>(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void* value,
                                                    std::size_t bytes) {
    if (preference == nullptr) return refuse_invalid("cublasLtMatmulPreferenceSetAttribute: a null pointer for the preference");
    auto& p = static_cast<Preference&>(*preference);
    return set("cublasLtMatmulPreferenceSetAttribute", name, value, bytes,
               {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, p.workspace},
                {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, p.reductions},
                {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.alignment[0]},
                {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.alignment[1]},
                {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.alignment[2]},
                {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.alignment[3]}});
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
    if (!lt_handles().live(handle))
        return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmulAlgoGetHeuristic: not a handle"});
    if (!descriptor || !a || !b || !c || !d || !preference || !results || !found || wanted < 1)
        return refuse_invalid("cublasLtMatmulAlgoGetHeuristic: a null pointer, or no result wanted");
    *found = 0;
    const Arguments x(descriptor, a, b, c, d);
    if (const Answer answer = check_shapes(x); !fine(answer)) return refuse(answer);
    const auto& wish = static_cast<const Preference&>(*preference);
    Algorithm algorithm;
    algorithm.terms = terms_at_once(x.d, wish);
    std::copy_n(wish.alignment, 4, algorithm.alignment);
    algorithm.eights = x.d.columns % 8 == 0 ? 1 : 0;
    const bool may_split = wish.workspace >= kSplitWorkspace && (wish.reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
    const bool split_first = may_split && worth_splitting(x);
    for (const bool split : {split_first, !split_first}) {
        if (*found == wanted || (split && !may_split)) continue;
        algorithm.split = split ? 2u : 1u;
        algorithm.workspace = split ? kSplitWorkspace : 0;
        fill_in(results[(*found)++], algorithm);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
    if (!lt_handles().live(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmulAlgoCheck: not a handle"});
    if (!descriptor || !a || !b || !c || !d || !algo || !result) return refuse_invalid("cublasLtMatmulAlgoCheck: a null pointer");
    const Arguments x(descriptor, a, b, c, d);
    const auto algorithm = std::bit_cast<Algorithm>(*algo);
    Answer answer = check_shapes(x);
    if (fine(answer)) answer = check_algorithm(algorithm, x.d);
    if (fine(answer)) {
        fill_in(*result, algorithm);
        return CUBLAS_STATUS_SUCCESS;
    }
    *result = {};
    result->state = answer.status;
    return refuse(answer);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                              Place place) {
    if (!lt_handles().live(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtMatmul: not a handle"});
    if (!descriptor || !alpha || !beta || !a || !b || !d || !a_layout || !b_layout || !c_layout || !d_layout)
        return refuse_invalid("cublasLtMatmul: a null pointer");
    const Arguments x(descriptor, a_layout, b_layout, c_layout, d_layout);
    if (const Answer answer = check_shapes(x); !fine(answer)) return refuse(answer);
    const Algorithm algorithm = algo != nullptr ? std::bit_cast<Algorithm>(*algo) : Algorithm();
    if (const Answer answer = check_algorithm(algorithm, x.d); !fine(answer)) return refuse(answer);
    Product product = {};
    product.m = static_cast<std::int64_t>(x.d.rows);
    product.n = static_cast<std::int64_t>(x.d.columns);
    product.transpose_a = x.p.transpose_a != CUBLAS_OP_N;
    product.transpose_b = x.p.transpose_b != CUBLAS_OP_N;
    product.k = static_cast<std::int64_t>(product.transpose_a ? x.a.rows : x.a.columns);
    product.batch = x.d.batch;
    product.a = matrix_of(x.a, a), product.b = matrix_of(x.b, b), product.c = matrix_of(x.c, c), product.d = matrix_of(x.d, d);
    product.alpha = element::load<double>(static_cast<const std::byte*>(alpha), x.p.scale, 0);
    product.beta = element::load<double>(static_cast<const std::byte*>(beta), x.p.scale, 0);
    product.epilogue = *epilogue_of(x.p.epilogue);
    const std::uint64_t length = product.epilogue.bgrad_b ? x.d.columns : x.d.rows;
    product.vector = {static_cast<std::byte*>(x.p.bias), x.d.type, length, 1, static_cast<std::int64_t>(length), 0};
    product.aux = {static_cast<std::byte*>(x.p.aux), x.d.type, x.d.rows, x.d.columns, x.p.aux_leading, 0};
    product.split = algorithm.split;
    product.terms = algorithm.terms;
    if (algorithm.workspace > workspace_bytes)
        return refuse(invalid("the algorithm wants a workspace of " + std::to_string(algorithm.workspace) + " bytes, not " +
                              std::to_string(workspace_bytes)));
    const Rows scratch = Rows::of(workspace, algorithm.workspace);
    if (const std::string why = memory_error(product, algorithm.alignment, scratch); !why.empty()) return refuse(invalid(why));

    Operation operation;
    operation.what = "cublasLtMatmul";
    operation.place = place;
    for (const Part& part : parts_of(product))  // for the race check between streams
        for (const Rows& rows : bytes_of(*part.matrix, product.batch))
            (part.written ? operation.writes : operation.reads).push_back(rows);
    if (!scratch.empty()) operation.writes.push_back(scratch);
    operation.work = [product, scratch, name = title(operation)] {
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
