// The replacement for cuBLASLt: products of all types and layouts compared with plain sums, epilogues, algorithms, and products
// in streams.
#include <chrono>
#include <cmath>

#include "kernels/emulator/run/checker_hooks.h"
#include "tests/emulator/emulator_cublaslt_support.h"

namespace heddle::emulator {
namespace {

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

/// alpha op(A) op(B) + beta C for column-major arrays with the case's leading dimensions; elsewhere C.
std::vector<double> plain(const Case& c, const std::vector<double>& a, const std::vector<double>& b,
                          const std::vector<double>& start) {
    std::vector<double> d = start;
    const std::uint64_t lda = c.ld(c.rows_a()), ldb = c.ld(c.rows_b()), ldd = c.ld(c.m);
    for (std::uint64_t z = 0; z < static_cast<std::uint64_t>(c.batch); ++z)
        for (std::uint64_t j = 0; j < c.n; ++j)
            for (std::uint64_t i = 0; i < c.m; ++i) {
                double sum = 0;
                for (std::uint64_t t = 0; t < c.k; ++t)
                    sum += a[z * lda * (c.ta ? c.m : c.k) + (c.ta ? t + i * lda : i + t * lda)] *
                           b[z * ldb * (c.tb ? c.k : c.n) + (c.tb ? j + t * ldb : t + j * ldb)];
                double& x = d[z * ldd * c.n + i + j * ldd];
                x = c.alpha * sum + (c.beta == 0 ? 0 : c.beta * x);
            }
    return d;
}

/// The inputs of a case, its result and the reference.
struct Computed {
    std::vector<double> got, want;
};
Computed compute(const Case& c) {
    const auto z = static_cast<std::size_t>(c.batch);
    const std::vector<double> a = numbers(z * c.ld(c.rows_a()) * (c.ta ? c.m : c.k), 1),
                              b = numbers(z * c.ld(c.rows_b()) * (c.tb ? c.k : c.n), 2), start = numbers(z * c.ld(c.m) * c.n, 3);
    const Numbers da(c.in, a), db(c.in, b), dc(c.out, start), dd(c.out, start);
    const Descriptors l(c);
    expect_success(multiply(c, l, da.data(), db.data(), c.in_place ? dd.data() : dc.data(), dd.data()));
    return {dd.values(), plain(c, a, b, start)};
}
void expect_near(const Computed& c, double relative) {
    double largest = 0;
    for (const double x : c.want) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < c.want.size(); ++i)
        ASSERT_TRUE(std::abs(c.got[i] - c.want[i]) <= relative * largest) << i << ": " << c.got[i] << ", wanted " << c.want[i];
}

TEST(EmulatorCublasLt, MultipliesAllForms) {
    struct Types {
        cudaDataType_t in, out, scale;
        cublasComputeType_t compute;
        double relative;
    };
    const Types all[] = {{CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-15},
                         {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6},
                         {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-6},
                         {CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6},
                         {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1.0 / 256}};
    for (const Types& types : all)
        for (const bool ta : {false, true})
            for (const bool tb : {false, true})
                for (const std::uint64_t size : {1, 33, 70}) {
                    Case c{.m = size, .n = size == 33 ? 65 : size, .k = size == 70 ? 300 : size};
                    c.in = types.in, c.out = types.out, c.scale = types.scale, c.compute = types.compute;
                    c.ta = ta, c.tb = tb, c.alpha = 0.5, c.beta = size == 1 ? 0 : 2;
                    c.pad = size % 2 * 3, c.in_place = size != 70;
                    expect_near(compute(c), types.relative);
                }
}

TEST(EmulatorCublasLt, MultipliesBatches) {
    for (const std::int32_t batch : {2, 5, 40}) {
        Case c{.m = 9, .n = 7, .k = 11};
        c.batch = batch, c.ta = true, c.pad = 1, c.beta = 1;
        expect_near(compute(c), 1e-6);
    }
}

TEST(EmulatorCublasLt, IgnoresWhatWasThereWhenBetaIsZero) {
    Case c{.m = 3, .n = 3, .k = 3};
    const Numbers a(CUDA_R_32F, numbers(9, 1)), b(CUDA_R_32F, numbers(9, 2)), d(CUDA_R_32F, std::vector<double>(9, NAN));
    const Descriptors l(c);
    expect_success(multiply(c, l, a.data(), b.data(), nullptr, d.data()));
    for (const double x : d.values()) EXPECT_FALSE(std::isnan(x));
}

TEST(EmulatorCublasLt, AddsBiasAndActivates) {
    for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16BF})
        for (const std::uint32_t epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS,
                                             CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
            Case c{.m = 70, .n = 37, .k = 20};
            c.in = c.out = type;
            c.epilogue = epilogue;
            const bool with_bias = (epilogue & 4) != 0, smooth = (epilogue & 32) != 0, keeps = (epilogue & 128) != 0;
            const std::vector<double> a = numbers(70 * 20, 1), b = numbers(20 * 37, 2), bias = numbers(70, 3);
            const Numbers da(type, a), db(type, b), dbias(type, bias), d(type, std::vector<double>(70 * 37)),
                aux(type, std::vector<double>(72 * 37));
            Descriptors l(c);
            if (with_bias) l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, dbias.data());
            if (keeps) l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
            if (keeps) l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{72});
            expect_success(multiply(c, l, da.data(), db.data(), nullptr, d.data()));
            std::vector<double> before = plain(c, a, b, std::vector<double>(70 * 37)), want = before;
            for (std::size_t i = 0; i < want.size(); ++i) {
                before[i] += with_bias ? bias[i % 70] : 0;
                want[i] = smooth ? gelu(before[i]) : before[i];
            }
            expect_near({d.values(), want}, type == CUDA_R_32F ? 1e-6 : 1.0 / 256);

            // Backward through the activation with the saved input: dx = (A B) gelu'(before).
            if (!keeps) continue;
            c.epilogue = CUBLASLT_EPILOGUE_DGELU;
            Descriptors back(c);
            back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
            back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{72});
            expect_success(multiply(c, back, da.data(), db.data(), nullptr, d.data()));
            const std::vector<double> gradient = plain(c, a, b, std::vector<double>(70 * 37));
            for (std::size_t i = 0; i < want.size(); ++i) {
                const double h = 1e-5;
                want[i] = gradient[i] * (gelu(before[i] + h) - gelu(before[i] - h)) / (2 * h);
            }
            expect_near({d.values(), want}, type == CUDA_R_32F ? 1e-5 : 1.0 / 64);
        }
}

TEST(EmulatorCublasLt, SumsTheColumnsOfB) {
    for (const bool transposed : {false, true}) {
        Case c{.m = 6, .n = 5, .k = 8};
        c.tb = transposed;
        c.epilogue = CUBLASLT_EPILOGUE_BGRADB;
        const std::vector<double> a = numbers(48, 1), b = numbers(40, 2);
        const Numbers da(CUDA_R_32F, a), db(CUDA_R_32F, b), d(CUDA_R_32F, std::vector<double>(30)),
            sums(CUDA_R_32F, std::vector<double>(5));
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.data());
        expect_success(multiply(c, l, da.data(), db.data(), nullptr, d.data()));
        std::vector<double> want(5);
        for (std::size_t i = 0; i < 5; ++i)
            for (std::size_t t = 0; t < 8; ++t) want[i] += transposed ? b[i + t * 5] : b[t + i * 8];
        expect_near({sums.values(), want}, 1e-6);
    }
}

// ---- algorithms ----

TEST(EmulatorCublasLt, ChoosesByShapeUnlessToldNotTo) {
    Case small{.m = 8, .n = 8, .k = 1000}, large{.m = 100, .n = 100, .k = 1000};
    Preference none, some(1 << 20), unsplit(1 << 20);
    unsplit.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    EXPECT_EQ(algorithms(Descriptors(small), none).size(), 1u);
    EXPECT_EQ(algorithms(Descriptors(small), some).size(), 2u);
    EXPECT_EQ(algorithms(Descriptors(small), some)[0].workspaceSize, 65536u);
    EXPECT_EQ(algorithms(Descriptors(large), some)[0].workspaceSize, 0u);
    EXPECT_EQ(algorithms(Descriptors(small), unsplit)[0].workspaceSize, 0u);
    EXPECT_EQ(algorithms(Descriptors(small), unsplit).size(), 1u);
}

TEST(EmulatorCublasLt, BitsDependOnTheAlgorithmAndNotOnTheShape) {
    Case wide{.m = 40, .n = 50, .k = 1000}, narrow{.m = 40, .n = 3, .k = 1000};
    const std::vector<double> a = numbers(40 * 1000, 1);
    std::vector<double> b = numbers(1000 * 50, 2);
    for (double& x : b) x = x / 3;  // so that rounding occurs
    const Preference preference(1 << 20);
    const auto found = algorithms(Descriptors(wide), preference);
    ASSERT_EQ(found.size(), 2u);
    const Numbers da(CUDA_R_32F, a), db(CUDA_R_32F, b);
    DeviceArray<char> workspace(1 << 20);
    std::vector<std::vector<double>> results;
    for (const auto& choice : found)
        for (const Case* c : {&wide, &narrow}) {
            const Numbers d(CUDA_R_32F, std::vector<double>(40 * c->n));
            expect_success(multiply(*c, Descriptors(*c), da.data(), db.data(), nullptr, d.data(), nullptr, &choice.algo,
                                    workspace, choice.workspaceSize));
            results.push_back(d.values());
            results.back().resize(40 * 3);
        }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[2], results[3]);
    EXPECT_NE(results[0], results[2]);
}

TEST(EmulatorCublasLt, RunsInItsStreamAndInGraphs) {
    in_orders([] {
        const Stream stream;
        Case c{.m = 4, .n = 4, .k = 4};
        DeviceArray<float> a(16, 0.0f), b(16, 1.0f), d(16, 7.0f);
        const Descriptors l(c);
        expect_ok(add(a, 1, 16, stream));
        expect_success(multiply(c, l, a, b, nullptr, d, stream));
        expect_ok(add(d, 1, 16, stream));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(d.values()[0], 5);

        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        expect_ok(add(a, 1, 16, stream));
        expect_success(multiply(c, l, a, b, nullptr, d, stream));
        expect_ok(cudaStreamEndCapture(stream, &graph));
        expect_ok(cudaGraphInstantiate(&executable, graph));
        for (int i = 0; i < 2; ++i) expect_ok(cudaGraphLaunch(executable, stream));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(d.values()[15], 12);
        expect_ok(cudaGraphExecDestroy(executable));
        expect_ok(cudaGraphDestroy(graph));

        const Stream other;
        expect_success(multiply(c, l, a, b, nullptr, d, stream));
        expect_ok(cudaMemsetAsync(a, 0, 64, other));
        expect_report(cudaDeviceSynchronize(), "race between streams");
        EXPECT_NE(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("tests/emulator/emulator_cublaslt_support.h:"),
                  std::string::npos);
    });
}

TEST(EmulatorCublasLt, TwoStreamsMustNotShareAWorkspace) {
    const Stream first, second;
    Case c{.m = 4, .n = 4, .k = 1000};
    DeviceArray<float> a(4000, 1.0f), b(4000, 1.0f), d(16), e(16);
    DeviceArray<char> workspace(1 << 20);
    const Preference preference(1 << 20);
    const Descriptors l(c);
    const auto choice = algorithms(l, preference)[0];
    expect_success(multiply(c, l, a, b, nullptr, d, first, &choice.algo, workspace, 1 << 20));
    expect_success(multiply(c, l, a, b, nullptr, e, second, &choice.algo, workspace, 1 << 20));
    expect_report(cudaDeviceSynchronize(), "race between streams");
}

TEST(EmulatorCublasLt, ReportsInputsThatWereNeverWritten) {
    if (!checker::kEnabled) GTEST_SKIP() << "only a checked build knows what was written";
    Case c{.m = 4, .n = 4, .k = 4};
    DeviceArray<float> a(16, 1.0f), b(16), d(16);
    const Descriptors l(c);
    expect_ok(cudaMemset(b, 0, 48));
    expect_success(multiply(c, l, a, b, nullptr, d));
    expect_report(cudaDeviceSynchronize(), "B: reads memory that was never written: 48 bytes into");
    c.beta = 1;
    expect_success(multiply(c, l, a, a, d, d));
    expect_report(cudaDeviceSynchronize(), "C: reads memory that was never written");
}

// ---- what is refused ----

// A valid [8, 8] product in f32; each row makes something of it invalid.
class EmulatorCublasLtRefusals : public testing::Test {
  protected:
    static constexpr cublasStatus_t kInvalid = CUBLAS_STATUS_INVALID_VALUE, kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;
    Case c{.m = 8, .n = 8, .k = 8};
    DeviceArray<float> a{64, 1.0f}, b{64, 1.0f}, d{64, 1.0f}, more{256, 0.0f};

    cublasStatus_t run(const Descriptors& l) { return multiply(c, l, a, b, d, d); }
    static void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, auto value) {
        expect_success(cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof value));
    }
};

TEST_F(EmulatorCublasLtRefusals, TypesAndShapes) {
    struct Row {
        cublasStatus_t status;
        const char* words;
        void (*change)(Case&);
        void (*spoil)(Descriptors&) = [](Descriptors&) {};
    };
    const auto same = [](Case&) {};
    const Row rows[] = {
        {CUBLAS_STATUS_SUCCESS, "", same},
        {kUnsupported, "the wrong type for this compute type", [](Case& x) { x.scale = CUDA_R_64F; }},
        {kUnsupported, "wants matrices of CUDA_R_64F", [](Case& x) { x.scale = CUDA_R_64F, x.compute = CUBLAS_COMPUTE_64F; }},
        {kUnsupported, "takes f32, f16 and bf16, not type 1", [](Case& x) { x.in = x.out = CUDA_R_64F; }},
        {kUnsupported, "C has neither A's type nor CUDA_R_32F", [](Case& x) { x.out = CUDA_R_16BF; }},
        {kUnsupported, "not type 3", [](Case& x) { x.in = x.out = CUDA_R_8I; }},
        {kUnsupported, "no compute type 9", [](Case& x) { x.compute = static_cast<cublasComputeType_t>(9); }},
        {kUnsupported, "A and B have different types", same,
         [](Descriptors& l) { set(l.b, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_16BF); }},
        {kInvalid, "A [8, 8] has the leading dimension 7, less than its rows", same,
         [](Descriptors& l) { set(l.a, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{7}); }},
        {kInvalid, "the shapes do not fit: A [8, 8], B [7, 8]", same,
         [](Descriptors& l) { set(l.b, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{7}); }},
        {kInvalid, "B [8, 0] is empty", same, [](Descriptors& l) { set(l.b, CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{0}); }},
        {kInvalid, "A has a batch of 2, D of 1", same,
         [](Descriptors& l) { set(l.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2}); }},
        {kInvalid, "a batch of 0", same, [](Descriptors& l) { set(l.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{0}); }},
        {kUnsupported, "column order only", same,
         [](Descriptors& l) { set(l.d, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW}); }},
        {kInvalid, "no transposition 5", same, [](Descriptors& l) { l.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{5}); }},
        {kUnsupported, "from the host only", same,
         [](Descriptors& l) { l.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE}); }},
        {kUnsupported, "no epilogue 3", [](Case& x) { x.epilogue = 3; }},
        {kUnsupported, "no epilogue in f64",
         [](Case& x) {
             x.in = x.out = x.scale = CUDA_R_64F, x.compute = CUBLAS_COMPUTE_64F, x.epilogue = CUBLASLT_EPILOGUE_BIAS;
         }},
        {kUnsupported, "no epilogue of a batch", [](Case& x) { x.batch = 2, x.epilogue = CUBLASLT_EPILOGUE_GELU; }},
        {kInvalid, "the bias is a null pointer", [](Case& x) { x.epilogue = CUBLASLT_EPILOGUE_BIAS; }},
        {kUnsupported, "the bias must have D's type", [](Case& x) { x.epilogue = CUBLASLT_EPILOGUE_BIAS; },
         [](Descriptors& l) { l.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_16BF}); }},
        {kInvalid, "leading dimension 0: wanted a multiple of 8 not below D's 8 rows",
         [](Case& x) { x.epilogue = CUBLASLT_EPILOGUE_GELU_AUX; }},
        {kInvalid, "wanted a multiple of 8", [](Case& x) { x.epilogue = CUBLASLT_EPILOGUE_GELU_AUX; },
         [](Descriptors& l) { l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{12}); }},
        {kInvalid, "the aux matrix is a null pointer", [](Case& x) { x.epilogue = CUBLASLT_EPILOGUE_GELU_AUX; },
         [](Descriptors& l) { l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8}); }},
    };
    for (const Row& row : rows) {
        c = {.m = 8, .n = 8, .k = 8};
        row.change(c);
        Descriptors l(c);
        row.spoil(l);
        expect_status(run(l), row.status, row.words);
    }
}

TEST_F(EmulatorCublasLtRefusals, Memory) {
    float host[64] = {};
    struct Row {
        const char* words;
        std::uint32_t epilogue;
        const void *a, *b, *c, *d;
        void *bias = nullptr, *aux = nullptr;
    };
    constexpr std::uint32_t none = CUBLASLT_EPILOGUE_DEFAULT, bias = CUBLASLT_EPILOGUE_BIAS, sum = CUBLASLT_EPILOGUE_BGRADB,
                            aux = CUBLASLT_EPILOGUE_GELU_AUX, both = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    auto* const bytes = reinterpret_cast<std::byte*>(static_cast<float*>(more));
    const Row rows[] = {
        {"a null pointer", none, nullptr, b, d, d},
        {"B has 256 bytes from an address of the host", none, a, host, d, d},
        {"D has 256 bytes from 4 bytes into", none, a, b, d, d + 1},
        {"D overlaps A", none, a, b, d, a},
        {"C is a null pointer", none, a, b, nullptr, d},
        {"D overlaps C", none, a, b, more + 8, more},
        {"the bias has 32 bytes from 1000 bytes into an allocation of 1024 bytes", bias, a, b, d, d, more + 250},
        {"the bias is not aligned to 16 bytes", bias, a, b, d, d, bytes + 2},
        {"the bias is not aligned to 16 bytes", bias, a, b, d, d, more + 2},
        {"", bias, a, b, d, d, more + 4},
        {"the aux matrix is not aligned to 16 bytes", aux, a, b, d, d, nullptr, more + 2},
        {"the bias overlaps D", bias, a, b, d, d, d + 56},
        {"the bias gradient overlaps A", sum, a, b, d, d, a + 8},
        {"the bias gradient overlaps C", sum, a, b, d, d, d},
        {"the aux matrix overlaps C", aux, a, b, d, d, nullptr, d},
        {"the aux matrix overlaps B", aux, a, b, d, d, nullptr, b},
        {"the aux matrix overlaps the bias", both, a, b, d, d, more + 8, more},
        // Read-only operands may be the same.
        {"", bias, a, b, d, d, a},
        {"", both, a, b, d, d, more + 64, more},
        {"", CUBLASLT_EPILOGUE_DGELU, a, b, d, d, nullptr, a},
    };
    c.beta = 1;
    for (const Row& row : rows) {
        c.epilogue = row.epilogue;
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, row.bias);
        l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, row.aux);
        l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
        expect_status(multiply(c, l, row.a, row.b, const_cast<void*>(row.c), const_cast<void*>(row.d)),
                      *row.words == 0 ? CUBLAS_STATUS_SUCCESS : kInvalid, row.words);
    }
}

TEST_F(EmulatorCublasLtRefusals, Algorithms) {
    const Handle handle;
    Preference preference(1 << 16);
    for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        preference.set(name, std::uint32_t{16});
    const std::uint32_t short_value = 16;
    expect_status(cublasLtMatmulPreferenceSetAttribute(preference.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                       &short_value, sizeof short_value),
                  kInvalid, "the attribute has 8 bytes, not 4");
    const Descriptors l(c);
    const auto found = algorithms(l, preference);
    ASSERT_EQ(found.size(), 2u);
    const auto call = [&](const cublasLtMatmulAlgo_t& algo, float* x, void* scratch, std::size_t bytes) {
        return multiply(c, l, x, b, nullptr, d, nullptr, &algo, scratch, bytes);
    };
    DeviceArray<char> scratch(1 << 16), larger(1 << 17);
    expect_success(call(found[0].algo, a, nullptr, 0));
    expect_success(call(found[1].algo, a, scratch, 1 << 16));
    expect_status(call(found[1].algo, a, scratch, 1000), kInvalid, "wants a workspace of 65536 bytes, not 1000");
    expect_status(call(found[1].algo, a, nullptr, 1 << 16), kInvalid, "the workspace is a null pointer");
    expect_status(call(found[1].algo, a, scratch + 64, 1 << 16), kInvalid, "the workspace has 65536 bytes from 64 bytes into");
    expect_status(call(found[1].algo, a, larger + 128, 1 << 16), kInvalid, "the workspace is not aligned to 256 bytes");
    expect_status(multiply(c, l, a, b, nullptr, scratch + 1024, nullptr, &found[1].algo, scratch, 1 << 16), kInvalid,
                  "the workspace overlaps D");
    expect_status(call(found[0].algo, more + 1, nullptr, 0), kInvalid, "A is not aligned to 16 bytes");
    expect_status(call({}, a, nullptr, 0), kInvalid, "does not come from cublasLtMatmulAlgoGetHeuristic");
    // Found for 8 columns: it supports 4 and 12, but not 3 and 11.
    for (const std::uint64_t columns : {4, 12, 3, 11}) {
        const Descriptors other({.m = 8, .n = columns, .k = 8});
        const cublasStatus_t status = columns % 8 == 4 ? CUBLAS_STATUS_SUCCESS : kUnsupported;
        const std::string words = columns % 8 == 4 ? "" : "columns in groups of 8, and D [8, " + std::to_string(columns);
        cublasLtMatmulHeuristicResult_t result;
        expect_status(
            cublasLtMatmulAlgoCheck(handle.handle, other.product, other.a, other.b, other.d, other.d, &found[1].algo, &result),
            status, words);
        EXPECT_EQ(result.state, status);
        EXPECT_EQ(result.workspaceSize, status == CUBLAS_STATUS_SUCCESS ? 1u << 16 : 0u);
        expect_status(multiply(c, other, more, more, nullptr, larger, nullptr, &found[0].algo), status, words);
    }
    cublasLtHandle_t none = nullptr;
    expect_status(cublasLtDestroy(none), CUBLAS_STATUS_NOT_INITIALIZED, "not a handle");
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
