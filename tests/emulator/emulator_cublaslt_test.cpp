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
                    c.ta = ta, c.tb = tb;
                    c.alpha = 0.5, c.beta = size == 1 ? 0 : 2, c.pad = size % 2 * 3;
                    c.in_place = size != 70;
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
        for (const std::uint32_t epilogue :
             {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,
              CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS}) {
            Case c{.m = 70, .n = 37, .k = 20};
            c.in = c.out = type;
            c.epilogue = epilogue;
            const bool with_bias = (epilogue & 4) != 0, relu = (epilogue & 2) != 0, smooth = (epilogue & 32) != 0,
                       keeps = (epilogue & 128) != 0;
            const std::vector<double> a = numbers(70 * 20, 1), b = numbers(20 * 37, 2), bias = numbers(70, 3),
                                      dy = numbers(70 * 37, 4);
            const Numbers da(type, a), db(type, b), dbias(type, bias), d(type, std::vector<double>(70 * 37)),
                aux(type, std::vector<double>(128 * 37));
            Descriptors l(c);
            if (with_bias) l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, dbias.data());
            if (keeps) l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
            if (keeps) l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
            expect_success(multiply(c, l, da.data(), db.data(), nullptr, d.data()));
            std::vector<double> before = plain(c, a, b, std::vector<double>(70 * 37)), want = before;
            for (std::size_t i = 0; i < want.size(); ++i) {
                before[i] += with_bias ? bias[i % 70] : 0;
                want[i] = relu ? std::max(0.0, before[i]) : smooth ? gelu(before[i]) : before[i];
            }
            expect_near({d.values(), want}, type == CUDA_R_32F ? 1e-6 : 1.0 / 256);

            // Backward through the activation with the saved input: dx = (A B) activation'(before), and the sums of its rows.
            if (!keeps) continue;
            c.epilogue = relu ? CUBLASLT_EPILOGUE_DRELU_BGRAD : CUBLASLT_EPILOGUE_DGELU_BGRAD;
            Descriptors back(c);
            const Numbers sums(type, std::vector<double>(70));
            back.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.data());
            back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
            back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
            expect_success(multiply(c, back, da.data(), db.data(), nullptr, d.data()));
            const std::vector<double> gradient = plain(c, a, b, std::vector<double>(70 * 37));
            std::vector<double> total(70);
            for (std::size_t i = 0; i < want.size(); ++i) {
                const double h = 1e-5, slope = relu ? before[i] > 0 : (gelu(before[i] + h) - gelu(before[i] - h)) / (2 * h);
                want[i] = gradient[i] * slope;
                total[i % 70] += want[i];
            }
            expect_near({d.values(), want}, type == CUDA_R_32F ? 1e-5 : 1.0 / 64);
            expect_near({sums.values(), total}, type == CUDA_R_32F ? 1e-5 : 1.0 / 64);
        }
}

TEST(EmulatorCublasLt, SumsOperands) {
    for (const bool of_a : {true, false}) {
        Case c{.m = 6, .n = 5, .k = 8};
        c.ta = of_a;
        c.epilogue = of_a ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
        const std::vector<double> a = numbers(48, 1), b = numbers(40, 2);
        const Numbers da(CUDA_R_32F, a), db(CUDA_R_32F, b), d(CUDA_R_32F, std::vector<double>(30)),
            sums(CUDA_R_32F, std::vector<double>(of_a ? 6 : 5));
        Descriptors l(c);
        l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.data());
        expect_success(multiply(c, l, da.data(), db.data(), nullptr, d.data()));
        std::vector<double> want(of_a ? 6 : 5);
        for (std::size_t i = 0; i < want.size(); ++i)
            for (std::size_t t = 0; t < 8; ++t) want[i] += of_a ? a[t + i * 8] : b[t + i * 8];  // both are stored as [8, ..]
        expect_near({sums.values(), want}, 1e-6);
    }
}

// ---- algorithms ----

struct Preference {
    cublasLtMatmulPreference_t preference = nullptr;
    Preference() { cublasLtMatmulPreferenceCreate(&preference); }
    ~Preference() { cublasLtMatmulPreferenceDestroy(preference); }
    template <class T>
    void set(cublasLtMatmulPreferenceAttributes_t name, T value) {
        expect_success(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value));
    }
};
std::vector<cublasLtMatmulHeuristicResult_t> algorithms(const Descriptors& l, const Preference& preference) {
    const Handle handle;
    std::vector<cublasLtMatmulHeuristicResult_t> results(8);
    int found = 0;
    expect_success(cublasLtMatmulAlgoGetHeuristic(handle.handle, l.product, l.a, l.b, l.d, l.d, preference.preference, 8,
                                                  results.data(), &found));
    results.resize(static_cast<std::size_t>(found));
    return results;
}
std::int32_t splits(const cublasLtMatmulAlgo_t& algo) {
    std::int32_t value = 0;
    std::size_t written = 0;
    expect_success(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &value, sizeof value, &written));
    return value;
}

TEST(EmulatorCublasLt, ChoosesByShapeUnlessToldNotTo) {
    Case small{.m = 8, .n = 8, .k = 1000}, large{.m = 100, .n = 100, .k = 1000};
    Preference none, some, unsplit;
    for (Preference* p : {&some, &unsplit}) p->set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1} << 20);
    unsplit.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    EXPECT_EQ(algorithms(Descriptors(small), none).size(), 1u);
    EXPECT_EQ(algorithms(Descriptors(small), some).size(), 2u);
    EXPECT_EQ(splits(algorithms(Descriptors(small), some)[0].algo), 2);
    EXPECT_EQ(splits(algorithms(Descriptors(large), some)[0].algo), 1);
    EXPECT_EQ(splits(algorithms(Descriptors(small), unsplit)[0].algo), 1);
    EXPECT_EQ(algorithms(Descriptors(small), unsplit).size(), 1u);
}

TEST(EmulatorCublasLt, BitsDependOnTheAlgorithmAndNotOnTheShape) {
    Case wide{.m = 40, .n = 50, .k = 1000}, narrow{.m = 40, .n = 3, .k = 1000};
    const std::vector<double> a = numbers(40 * 1000, 1);
    std::vector<double> b = numbers(1000 * 50, 2);
    for (double& x : b) x = x / 3;  // so that rounding occurs
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1} << 20);
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

TEST(EmulatorCublasLt, IsFastEnoughLarge) {
    Case c{.m = 512, .n = 512, .k = 512};
    const Numbers a(CUDA_R_32F, numbers(512 * 512, 1)), b(CUDA_R_32F, numbers(512 * 512, 2)),
        d(CUDA_R_32F, std::vector<double>(512 * 512));
    const Descriptors l(c);
    const auto start = std::chrono::steady_clock::now();
    expect_success(multiply(c, l, a.data(), b.data(), nullptr, d.data()));
    expect_ok(cudaDeviceSynchronize());
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);  // 0.1 on an idle machine
}

// ---- products in a stream ----

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
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1} << 20);
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

}  // namespace
}  // namespace heddle::emulator
