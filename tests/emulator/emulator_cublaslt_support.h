// Shared by the tests of the replacement for cuBLASLt: numbers of all types on the device, and a product with everything one may
// change.
#pragma once

#include <cublasLt.h>

#include <cstring>

#include "kernels/emulator/float_formats.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {

inline std::size_t size_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

/// Numbers on the device, of any type.
class Numbers {
  public:
    Numbers(cudaDataType_t type, const std::vector<double>& values) : type_(type), n_(values.size()) {
        expect_ok(cudaMalloc(&data_, n_ * size_of(type)));
        std::vector<std::byte> bytes(n_ * size_of(type));
        for (std::size_t i = 0; i < n_; ++i) {
            const auto single = static_cast<float>(values[i]);
            const std::uint16_t half = float_to_bfloat16(single);
            const void* const from = type == CUDA_R_64F   ? static_cast<const void*>(&values[i])
                                     : type == CUDA_R_32F ? &single
                                                          : static_cast<const void*>(&half);
            std::memcpy(bytes.data() + i * size_of(type), from, size_of(type));
        }
        expect_ok(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    }
    ~Numbers() { cudaFree(data_); }
    Numbers(const Numbers&) = delete;
    Numbers& operator=(const Numbers&) = delete;
    void* data() const { return data_; }
    std::vector<double> values() const {
        std::vector<std::byte> bytes(n_ * size_of(type_));
        expect_ok(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDeviceToHost));
        std::vector<double> values(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            float single = 0;
            std::uint16_t half = 0;
            if (type_ == CUDA_R_64F) std::memcpy(&values[i], bytes.data() + i * 8, 8);
            if (type_ == CUDA_R_32F) std::memcpy(&single, bytes.data() + i * 4, 4), values[i] = single;
            if (type_ == CUDA_R_16BF) std::memcpy(&half, bytes.data() + i * 2, 2), values[i] = bfloat16_to_float(half);
        }
        return values;
    }

  private:
    void* data_ = nullptr;
    cudaDataType_t type_;
    std::size_t n_;
};

/// n numbers between -1 and 1 that are exact in every type here: multiples of 1/64.
inline std::vector<double> numbers(std::size_t n, unsigned start) {
    std::vector<double> values(n);
    unsigned state = start;
    for (double& value : values) value = static_cast<int>((state = state * 1664525u + 1013904223u) >> 25) / 64.0 - 1;
    return values;
}

struct Handle {
    cublasLtHandle_t handle = nullptr;
    Handle() { cublasLtCreate(&handle); }
    ~Handle() { cublasLtDestroy(handle); }
};

/// A product with all parameters that tests change.
struct Case {
    std::uint64_t m = 5, n = 4, k = 3;
    cudaDataType_t in = CUDA_R_32F, out = CUDA_R_32F, scale = CUDA_R_32F;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    bool ta = false, tb = false;
    double alpha = 1, beta = 0;
    std::uint64_t pad = 0;  // added to each leading dimension
    std::int32_t batch = 1;
    std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    bool in_place = true;  // C is D
    std::uint64_t ld(std::uint64_t rows) const { return rows + pad; }
    std::uint64_t rows_a() const { return ta ? k : m; }
    std::uint64_t rows_b() const { return tb ? n : k; }
};

struct Descriptors {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
    explicit Descriptors(const Case& c) {
        cublasLtMatmulDescCreate(&product, c.compute, c.scale);
        const std::int32_t ta = c.ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb = c.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
        set(CUBLASLT_MATMUL_DESC_TRANSA, ta);
        set(CUBLASLT_MATMUL_DESC_TRANSB, tb);
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
        a = layout(c, c.in, c.rows_a(), c.ta ? c.m : c.k);
        b = layout(c, c.in, c.rows_b(), c.tb ? c.k : c.n);
        d = layout(c, c.out, c.m, c.n);
    }
    ~Descriptors() {
        cublasLtMatmulDescDestroy(product);
        for (cublasLtMatrixLayout_t l : {a, b, d}) cublasLtMatrixLayoutDestroy(l);
    }
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;
    template <class T>
    void set(cublasLtMatmulDescAttributes_t name, T value) {
        EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, name, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
    }
    static cublasLtMatrixLayout_t layout(const Case& c, cudaDataType_t type, std::uint64_t rows, std::uint64_t columns) {
        cublasLtMatrixLayout_t l = nullptr;
        cublasLtMatrixLayoutCreate(&l, type, rows, columns, static_cast<std::int64_t>(c.ld(rows)));
        const auto stride = static_cast<std::int64_t>(c.ld(rows) * columns);
        cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &c.batch, sizeof c.batch);
        cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
        return l;
    }
};

/// Queues the product in the stream, with alpha and beta in the scale's type.
inline cublasStatus_t multiply(const Case& c, const Descriptors& l, const void* a, const void* b, void* start, void* d,
                               cudaStream_t stream = nullptr, const cublasLtMatmulAlgo_t* algo = nullptr,
                               void* workspace = nullptr, std::size_t workspace_bytes = 0) {
    static const Handle handle;
    const auto alpha32 = static_cast<float>(c.alpha), beta32 = static_cast<float>(c.beta);
    const bool wide = c.scale == CUDA_R_64F;
    return cublasLtMatmul(handle.handle, l.product, wide ? static_cast<const void*>(&c.alpha) : &alpha32, a, l.a, b, l.b,
                          wide ? static_cast<const void*>(&c.beta) : &beta32, start, l.d, d, l.d, algo, workspace,
                          workspace_bytes, stream);
}
inline void expect_status(cublasStatus_t status, cublasStatus_t wanted, const std::string& part) {
    EXPECT_EQ(status, wanted) << cublasLtGetStatusName(status) << ": " << cublasLtGetStatusString(status);
    EXPECT_NE(std::string(cublasLtGetStatusString(status)).find(part), std::string::npos) << cublasLtGetStatusString(status);
}
inline void expect_success(cublasStatus_t status) { EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS) << cublasLtGetStatusString(status); }

struct Preference {
    cublasLtMatmulPreference_t preference = nullptr;
    explicit Preference(std::uint64_t workspace = 0) {
        cublasLtMatmulPreferenceCreate(&preference);
        if (workspace > 0) set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    }
    ~Preference() { cublasLtMatmulPreferenceDestroy(preference); }
    template <class T>
    void set(cublasLtMatmulPreferenceAttributes_t name, T value) {
        expect_success(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value));
    }
};
inline std::vector<cublasLtMatmulHeuristicResult_t> algorithms(const Descriptors& l, const Preference& preference) {
    const Handle handle;
    std::vector<cublasLtMatmulHeuristicResult_t> results(8);
    int found = 0;
    expect_success(cublasLtMatmulAlgoGetHeuristic(handle.handle, l.product, l.a, l.b, l.d, l.d, preference.preference, 8,
                                                  results.data(), &found));
    results.resize(static_cast<std::size_t>(found));
    return results;
}

}  // namespace heddle::emulator
