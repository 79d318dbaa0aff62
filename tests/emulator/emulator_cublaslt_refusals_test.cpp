// The refusals of the replacement for cuBLASLt: status and message.
#include "tests/emulator/emulator_cublaslt_support.h"

namespace heddle::emulator {
namespace {

/// A valid [8, 8] product in f32; each test makes one argument invalid.
class EmulatorCublasLtRefusals : public testing::Test {
  protected:
    Case c{.m = 8, .n = 8, .k = 8};
    DeviceArray<float> a{64, 1.0f}, b{64, 1.0f}, d{64, 1.0f}, more{256, 0.0f};

    cublasStatus_t run(const Descriptors& l) { return multiply(c, l, a, b, d, d); }
    void expect_unsupported(const std::string& words) { expect_status(run(Descriptors(c)), CUBLAS_STATUS_NOT_SUPPORTED, words); }
    void expect_invalid(const Descriptors& l, const std::string& words) {
        expect_status(run(l), CUBLAS_STATUS_INVALID_VALUE, words);
    }
    void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, auto value) {
        expect_success(cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof value));
    }
};

TEST_F(EmulatorCublasLtRefusals, NothingIsWrongAtFirst) { expect_success(run(Descriptors(c))); }

TEST_F(EmulatorCublasLtRefusals, Types) {
    c.scale = CUDA_R_64F;
    expect_unsupported("wants alpha and beta as CUDA_R_32F");
    c.compute = CUBLAS_COMPUTE_64F;
    expect_unsupported("wants matrices of CUDA_R_64F");
    c.in = c.out = CUDA_R_64F;
    c.scale = CUDA_R_32F;
    expect_unsupported("wants alpha and beta as CUDA_R_64F");
    c.compute = CUBLAS_COMPUTE_32F;
    expect_unsupported("no matrices of CUDA_R_64F");
    c.in = CUDA_R_32F, c.out = CUDA_R_16BF;
    expect_unsupported("f32 operands have an f32 result");
    c.in = CUDA_R_16BF, c.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    expect_unsupported("the FAST forms");
    c.in = c.out = CUDA_R_8I;
    expect_unsupported("not type 3");
    c.in = c.out = CUDA_R_32F, c.compute = CUBLAS_COMPUTE_16F;
    expect_unsupported("no compute type 64");
    c.compute = CUBLAS_COMPUTE_32F;
    const Descriptors l(c);
    set(l.b, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_16BF);
    expect_status(run(l), CUBLAS_STATUS_NOT_SUPPORTED, "A and B have different types");
}

TEST_F(EmulatorCublasLtRefusals, EpiloguesOfF64) {
    c.in = c.out = c.scale = CUDA_R_64F;
    c.compute = CUBLAS_COMPUTE_64F;
    c.epilogue = CUBLASLT_EPILOGUE_BIAS;
    expect_unsupported("no epilogue in f64");
}

TEST_F(EmulatorCublasLtRefusals, Shapes) {
    {
        const Descriptors l(c);
        set(l.a, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{7});
        expect_invalid(l, "A [8, 8] has the leading dimension 7, less than its rows");
    }
    {
        const Descriptors l(c);
        set(l.b, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{7});
        expect_invalid(l, "the shapes do not fit: A [8, 8], B [7, 8]");
    }
    {
        const Descriptors l(c);
        set(l.b, CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{0});
        expect_invalid(l, "B [8, 0] is empty");
    }
    {
        const Descriptors l(c);
        set(l.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
        expect_invalid(l, "A has a batch of 2, D of 1");
        set(l.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{0});
        expect_invalid(l, "a batch of 0");
    }
    {
        const Descriptors l(c);
        set(l.d, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
        expect_status(run(l), CUBLAS_STATUS_NOT_SUPPORTED, "column order only");
    }
    {
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{5});
        expect_invalid(l, "no transposition 5");
    }
}

TEST_F(EmulatorCublasLtRefusals, Epilogues) {
    c.epilogue = 3;
    expect_invalid(Descriptors(c), "no epilogue 3");
    c.epilogue = CUBLASLT_EPILOGUE_BIAS;
    expect_invalid(Descriptors(c), "the bias is a null pointer");
    {
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, more + 250);
        expect_invalid(l, "the bias has 32 bytes from 1000 bytes into an allocation of 1024 bytes");
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<std::byte*>(static_cast<float*>(more)) + 2);
        expect_invalid(l, "the bias is not aligned to its elements");
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, more + 2);
        expect_invalid(l, "the bias is not aligned to 16 bytes");
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, more + 4);
        expect_success(run(l));
        l.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_16BF});
        expect_status(run(l), CUBLAS_STATUS_NOT_SUPPORTED, "the bias must have D's type");
    }
    c.epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
    Descriptors l(c);
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<float*>(more));
    expect_invalid(l, "the aux matrix has the leading dimension 0: wanted a multiple of 8 not below D's 8 rows");
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{12});
    expect_invalid(l, "wanted a multiple of 8");
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
    expect_success(run(l));
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<float*>(more) + 2);
    expect_invalid(l, "the aux matrix is not aligned to 16 bytes");
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<float*>(more));
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_RELU_AUX});
    expect_invalid(l, "wanted a multiple of 128");
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
    expect_success(run(l));
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<float*>(nullptr));
    expect_invalid(l, "the aux matrix is a null pointer");
}

TEST_F(EmulatorCublasLtRefusals, Pointers) {
    const Descriptors l(c);
    const auto call = [&](const void* x, const void* y, void* start, void* result) {
        return multiply(c, l, x, y, start, result);
    };
    float host[64] = {};
    expect_status(call(nullptr, b, d, d), CUBLAS_STATUS_INVALID_VALUE, "a null pointer");
    expect_status(call(a, host, d, d), CUBLAS_STATUS_INVALID_VALUE, "B has 256 bytes from an address of the host");
    expect_status(call(a, b, d, d + 1), CUBLAS_STATUS_INVALID_VALUE, "D has 256 bytes from 4 bytes into");
    expect_status(call(a, b, d, a), CUBLAS_STATUS_INVALID_VALUE, "D overlaps A or B");
    c.beta = 1;
    expect_status(call(a, b, nullptr, d), CUBLAS_STATUS_INVALID_VALUE, "C is a null pointer");
    expect_status(call(a, b, more + 8, more), CUBLAS_STATUS_INVALID_VALUE, "C and D overlap");
    Descriptors on_device(c);
    on_device.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
    expect_status(run(on_device), CUBLAS_STATUS_NOT_SUPPORTED, "from the host only");
}

TEST_F(EmulatorCublasLtRefusals, VectorsAndAuxiliaryMatricesThatOverlap) {
    const auto answer = [&](std::uint32_t epilogue, float* bias, float* aux) {
        c.epilogue = epilogue;
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
        l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
        return run(l);
    };
    const auto overlapping = [&](std::uint32_t epilogue, float* bias, float* aux, const std::string& words) {
        expect_status(answer(epilogue, bias, aux), CUBLAS_STATUS_INVALID_VALUE, words);
    };
    overlapping(CUBLASLT_EPILOGUE_BIAS, d + 56, nullptr, "the bias overlaps D");
    overlapping(CUBLASLT_EPILOGUE_BGRADA, a + 8, nullptr, "the bias gradient overlaps A");
    overlapping(CUBLASLT_EPILOGUE_BGRADB, d, nullptr, "the bias gradient overlaps D");
    overlapping(CUBLASLT_EPILOGUE_GELU_AUX, nullptr, d, "the aux matrix overlaps D");
    overlapping(CUBLASLT_EPILOGUE_GELU_AUX, nullptr, b, "the aux matrix overlaps B");
    overlapping(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, more + 8, more, "the aux matrix overlaps the bias");
    // Read-only operands may be the same.
    expect_success(answer(CUBLASLT_EPILOGUE_BIAS, a, nullptr));
    expect_success(answer(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, more + 64, more));
    expect_success(answer(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, a, more));
    expect_success(answer(CUBLASLT_EPILOGUE_DGELU, nullptr, a));
}

TEST_F(EmulatorCublasLtRefusals, Algorithms) {
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    expect_success(cublasLtCreate(&handle));
    expect_success(cublasLtMatmulPreferenceCreate(&preference));
    const std::uint64_t workspace = 1 << 16;
    const std::uint32_t alignment = 16;
    expect_success(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        expect_success(cublasLtMatmulPreferenceSetAttribute(preference, name, &alignment, sizeof alignment));
    expect_status(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &alignment, sizeof alignment),
        CUBLAS_STATUS_INVALID_VALUE, "the attribute has 8 bytes, not 4");
    const Descriptors l(c);
    cublasLtMatmulHeuristicResult_t found[2];
    int count = 0;
    expect_success(cublasLtMatmulAlgoGetHeuristic(handle, l.product, l.a, l.b, l.d, l.d, preference, 2, found, &count));
    ASSERT_EQ(count, 2);
    const auto call = [&](const cublasLtMatmulAlgo_t& algo, float* x, void* scratch, std::size_t bytes) {
        return multiply(c, l, x, b, nullptr, d, nullptr, &algo, scratch, bytes);
    };
    DeviceArray<char> scratch(1 << 16);
    expect_success(call(found[0].algo, a, nullptr, 0));
    expect_success(call(found[1].algo, a, scratch, 1 << 16));
    expect_status(call(found[1].algo, a, scratch, 1000), CUBLAS_STATUS_INVALID_VALUE,
                  "wants a workspace of 65536 bytes, not 1000");
    expect_status(call(found[1].algo, a, nullptr, 1 << 16), CUBLAS_STATUS_INVALID_VALUE, "the workspace is a null pointer");
    expect_status(call(found[1].algo, a, scratch + 64, 1 << 16), CUBLAS_STATUS_INVALID_VALUE,
                  "the workspace has 65536 bytes from 64 bytes into");
    DeviceArray<char> larger(1 << 17);
    expect_status(call(found[1].algo, a, larger + 128, 1 << 16), CUBLAS_STATUS_INVALID_VALUE,
                  "the workspace is not aligned to 256 bytes");
    expect_status(multiply(c, l, a, b, nullptr, scratch + 1024, nullptr, &found[1].algo, scratch, 1 << 16),
                  CUBLAS_STATUS_INVALID_VALUE, "the workspace overlaps D");
    expect_status(call(found[0].algo, more + 1, nullptr, 0), CUBLAS_STATUS_INVALID_VALUE,
                  "A is not aligned to the 16 bytes that the algorithm was chosen for");
    expect_status(call({}, a, nullptr, 0), CUBLAS_STATUS_INVALID_VALUE, "does not come from cublasLtMatmulAlgoGetHeuristic");
    // Found for 8 columns: it supports 4 and 12, but not 3 and 11.
    for (const std::uint64_t columns : {4, 12, 3, 11}) {
        const Descriptors other({.m = 8, .n = columns, .k = 8});
        const bool good = columns % 8 == 4;
        cublasLtMatmulHeuristicResult_t result;
        expect_status(cublasLtMatmulAlgoCheck(handle, other.product, other.a, other.b, other.d, other.d, &found[1].algo, &result),
                      good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED, good ? "" : "D [8, " + std::to_string(columns));
        EXPECT_EQ(result.state, good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED);
        EXPECT_EQ(result.workspaceSize, good ? 1u << 16 : 0u);
        expect_status(multiply(c, other, more, more, nullptr, larger, nullptr, &found[0].algo),
                      good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED, good ? "" : "columns in groups of 8");
    }
    c.in = CUDA_R_8I;
    expect_status(
        cublasLtMatmulAlgoGetHeuristic(handle, l.product, Descriptors(c).a, l.b, l.d, l.d, preference, 2, found, &count),
        CUBLAS_STATUS_NOT_SUPPORTED, "not type 3");
    EXPECT_EQ(count, 0);
    expect_success(cublasLtMatmulPreferenceDestroy(preference));
    expect_success(cublasLtDestroy(handle));
    expect_status(cublasLtDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED, "not a handle");
    EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
}

TEST_F(EmulatorCublasLtRefusals, MemoryFreedBeforeItRuns) {
    const Stream stream;
    float* x = nullptr;
    expect_ok(cudaMalloc(&x, 256));
    expect_ok(cudaMemset(x, 0, 256));
    expect_ok(cudaDeviceSynchronize());
    expect_ok(cudaFreeAsync(x, stream));
    expect_success(multiply(c, Descriptors(c), x, b, nullptr, d, stream));
    expect_report(cudaStreamSynchronize(stream), "A: reads 256 bytes from 0 bytes into an allocation of 256 bytes");
}

}  // namespace
}  // namespace heddle::emulator
