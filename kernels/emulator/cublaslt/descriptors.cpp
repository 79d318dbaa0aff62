// cuBLASLt's handles and descriptors.
#include <cstring>
#include <mutex>
#include <set>

#include "kernels/emulator/cublaslt/cublas_lt.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

struct cublasLtContext {};

namespace {

thread_local cublasStatus_t explained_status = CUBLAS_STATUS_SUCCESS;
thread_local const char* explained_by = nullptr;

struct Handles {
    std::mutex mutex;
    std::set<cublasLtHandle_t> living;
};
Handles& handles() {
    static auto* const handles = new Handles;
    return *handles;
}
/// An attribute's place and size.
struct Attribute {
    void* place;
    std::size_t bytes;
};
template <class T>
Attribute attribute(T& place) {
    return {&place, sizeof place};
}

cublasStatus_t set(const Attribute& attribute, const void* value, std::size_t bytes, const char* call) {
    if (attribute.place == nullptr) return refuse_invalid(std::string(call) + ": an attribute that the emulator does not know");
    if (value == nullptr || bytes != attribute.bytes)
        return refuse_invalid(std::string(call) + ": the attribute has " + std::to_string(attribute.bytes) + " bytes, not " +
                              std::to_string(bytes));
    std::memcpy(attribute.place, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

namespace heddle::emulator {

cublasStatus_t refuse(const Answer& answer) {
    explained_status = answer.status;
    explained_by = kept(answer.why);
    return answer.status;
}

bool lives(cublasLtHandle_t handle) {
    const std::lock_guard lock(handles().mutex);
    return handles().living.contains(handle);
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
std::size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    if (handle == nullptr) return refuse_invalid("cublasLtCreate: a null pointer for the result");
    *handle = new cublasLtContext;
    const std::lock_guard lock(handles().mutex);
    handles().living.insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    {
        const std::lock_guard lock(handles().mutex);
        if (handles().living.erase(handle) == 0) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtDestroy: not a handle"});
    }
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute, cudaDataType_t scale) {
    if (descriptor == nullptr) return refuse_invalid("cublasLtMatmulDescCreate: a null pointer for the result");
    auto* const made = new Description;
    made->compute = compute;
    made->scale = scale;
    *descriptor = made;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
    delete static_cast<Description*>(descriptor);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t name,
                                              const void* value, std::size_t bytes) {
    if (descriptor == nullptr) return refuse_invalid("cublasLtMatmulDescSetAttribute: a null pointer for the descriptor");
    auto& d = static_cast<Description&>(*descriptor);
    const auto place = [&]() -> Attribute {
        switch (name) {
            case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return attribute(d.compute);
            case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return attribute(d.scale);
            case CUBLASLT_MATMUL_DESC_POINTER_MODE: return attribute(d.pointer_mode);
            case CUBLASLT_MATMUL_DESC_TRANSA: return attribute(d.transpose_a);
            case CUBLASLT_MATMUL_DESC_TRANSB: return attribute(d.transpose_b);
            case CUBLASLT_MATMUL_DESC_EPILOGUE: return attribute(d.epilogue);
            case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return attribute(d.bias);
            case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return attribute(d.bias_batch_stride);
            case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return attribute(d.aux);
            case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return attribute(d.aux_leading);
            case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return attribute(d.aux_batch_stride);
            case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return attribute(d.aux_type);
            case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return attribute(d.bias_type);
        }
        return {nullptr, 0};
    };
    return set(place(), value, bytes, "cublasLtMatmulDescSetAttribute");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading_dimension) {
    if (layout == nullptr) return refuse_invalid("cublasLtMatrixLayoutCreate: a null pointer for the result");
    auto* const made = new Layout;
    made->type = type;
    made->rows = rows;
    made->columns = columns;
    made->leading = leading_dimension;
    *layout = made;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete static_cast<Layout*>(layout);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, std::size_t bytes) {
    if (layout == nullptr) return refuse_invalid("cublasLtMatrixLayoutSetAttribute: a null pointer for the layout");
    auto& l = static_cast<Layout&>(*layout);
    const auto place = [&]() -> Attribute {
        switch (name) {
            case CUBLASLT_MATRIX_LAYOUT_TYPE: return attribute(l.type);
            case CUBLASLT_MATRIX_LAYOUT_ORDER: return attribute(l.order);
            case CUBLASLT_MATRIX_LAYOUT_ROWS: return attribute(l.rows);
            case CUBLASLT_MATRIX_LAYOUT_COLS: return attribute(l.columns);
            case CUBLASLT_MATRIX_LAYOUT_LD: return attribute(l.leading);
            case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return attribute(l.batch);
            case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return attribute(l.batch_stride);
        }
        return {nullptr, 0};
    };
    return set(place(), value, bytes, "cublasLtMatrixLayoutSetAttribute");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    if (preference == nullptr) return refuse_invalid("cublasLtMatmulPreferenceCreate: a null pointer for the result");
    *preference = new Preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete static_cast<Preference*>(preference);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void* value,
                                                    std::size_t bytes) {
    if (preference == nullptr) return refuse_invalid("cublasLtMatmulPreferenceSetAttribute: a null pointer for the preference");
    auto& p = static_cast<Preference&>(*preference);
    std::uint32_t search_mode = 0;  // the only one
    const auto place = [&]() -> Attribute {
        switch (name) {
            case CUBLASLT_MATMUL_PREF_SEARCH_MODE: return attribute(search_mode);
            case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return attribute(p.workspace);
            case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return attribute(p.reductions);
            case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return attribute(p.alignment[0]);
            case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return attribute(p.alignment[1]);
            case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return attribute(p.alignment[2]);
            case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return attribute(p.alignment[3]);
        }
        return {nullptr, 0};
    };
    return set(place(), value, bytes, "cublasLtMatmulPreferenceSetAttribute");
}
