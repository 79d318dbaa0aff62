// The emulated cuBLAS and cuRAND's kernel side against loops and published numbers, and the arithmetic of PTX against C++.
#include <cublas_v2.h>
#include <curand_kernel.h>

#include <array>
#include <bit>
#include <cmath>

#include "kernels/emulator/cuda/ptx_integers.h"
#include "kernels/emulator/float_formats.h"
#include "tests/emulator/emulator_cublaslt_support.h"

namespace heddle::emulator {
namespace {

namespace ptx = cuda::ptx;

// ---- cuBLAS ----

class EmulatorCublas : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS); }
    void TearDown() override { EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS); }
    cublasHandle_t handle = nullptr;
};

TEST_F(EmulatorCublas, MultipliesInEachTransposeAndLayout) {
    constexpr int m = 5, n = 7, k = 9;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const int gap : {0, 3})
                for (const double beta : {0.0, 0.5}) {
                    const int lda = (ta ? k : m) + gap, ldb = (tb ? n : k) + gap, ldc = m + gap;
                    const std::vector<double> a = numbers(static_cast<std::size_t>(lda * (ta ? m : k)), 1),
                                              b = numbers(static_cast<std::size_t>(ldb * (tb ? k : n)), 2),
                                              c = numbers(static_cast<std::size_t>(ldc * n), 3);
                    const Numbers da(CUDA_R_64F, a), db(CUDA_R_64F, b), dc(CUDA_R_64F, c), fa(CUDA_R_32F, a), fb(CUDA_R_32F, b),
                        fc(CUDA_R_32F, c);
                    const double alpha = 2;
                    const float alpha_f = 2, beta_f = static_cast<float>(beta);
                    const auto op = [](bool t) { return t ? CUBLAS_OP_T : CUBLAS_OP_N; };
                    ASSERT_EQ(cublasDgemm(handle, op(ta), op(tb), m, n, k, &alpha, static_cast<double*>(da.data()), lda,
                                          static_cast<double*>(db.data()), ldb, &beta, static_cast<double*>(dc.data()), ldc),
                              CUBLAS_STATUS_SUCCESS);
                    ASSERT_EQ(cublasSgemm(handle, op(ta), op(tb), m, n, k, &alpha_f, static_cast<float*>(fa.data()), lda,
                                          static_cast<float*>(fb.data()), ldb, &beta_f, static_cast<float*>(fc.data()), ldc),
                              CUBLAS_STATUS_SUCCESS);
                    expect_ok(cudaDeviceSynchronize());
                    const std::vector<double> wide = dc.values(), single = fc.values();
                    for (int j = 0; j < n; ++j)
                        for (int i = 0; i < ldc; ++i) {
                            const auto at = static_cast<std::size_t>(i + j * ldc);
                            double sum = 0;
                            for (int t = 0; i < m && t < k; ++t)
                                sum += a[static_cast<std::size_t>(ta ? t + i * lda : i + t * lda)] *
                                       b[static_cast<std::size_t>(tb ? j + t * ldb : t + j * ldb)];
                            const double wanted =
                                i < m ? alpha * sum + beta * c[at] : c[at];  // between the columns nothing changes
                            EXPECT_DOUBLE_EQ(wide[at], wanted) << ta << tb << gap << beta << " at " << i << ", " << j;
                            EXPECT_NEAR(single[at], wanted, 1e-5);
                        }
                }
}

TEST_F(EmulatorCublas, MultipliesHalvesIntegersAndBatches) {
    constexpr int n = 4, batch = 3;
    std::vector<std::uint16_t> a(n * n * batch), c(n * n * batch);
    std::vector<double> numbers_of_a = numbers(a.size(), 5);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = float_to_half(static_cast<float>(numbers_of_a[i]));
    std::uint16_t *da = nullptr, *dc = nullptr;
    expect_ok(cudaMalloc(&da, a.size() * 2));
    expect_ok(cudaMalloc(&dc, a.size() * 2));
    expect_ok(cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice));
    const float one = 1, zero = 0;
    ASSERT_EQ(
        cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, da, CUDA_R_16F, n, n * n, da, CUDA_R_16F, n,
                                   n * n, &zero, dc, CUDA_R_16F, n, n * n, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        CUBLAS_STATUS_SUCCESS);
    expect_ok(cudaMemcpy(c.data(), dc, c.size() * 2, cudaMemcpyDeviceToHost));
    for (int b = 0; b < batch; ++b)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0;
                for (int t = 0; t < n; ++t)
                    sum += numbers_of_a[static_cast<std::size_t>(b * 16 + i + t * 4)] *
                           numbers_of_a[static_cast<std::size_t>(b * 16 + j + t * 4)];
                EXPECT_EQ(c[static_cast<std::size_t>(b * 16 + i + j * 4)], float_to_half(static_cast<float>(sum)));
            }
    // The same by pointers that lie in device memory, and in int8.
    std::uint16_t* pointers[2 * batch];
    for (int b = 0; b < batch; ++b) pointers[b] = da + b * 16, pointers[batch + b] = dc + b * 16;
    void** on_device = nullptr;
    expect_ok(cudaMalloc(&on_device, sizeof pointers));
    expect_ok(cudaMemcpy(on_device, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    expect_ok(cudaMemset(dc, 0, c.size() * 2));
    ASSERT_EQ(
        cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, on_device, CUDA_R_16F, n, on_device, CUDA_R_16F, n,
                            &zero, on_device + batch, CUDA_R_16F, n, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        CUBLAS_STATUS_SUCCESS);
    std::vector<std::uint16_t> again(c.size());
    expect_ok(cudaMemcpy(again.data(), dc, c.size() * 2, cudaMemcpyDeviceToHost));
    EXPECT_EQ(again, c);
    const std::vector<std::int8_t> bytes = {127, -128, 3, 4, 5, -6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -16};
    expect_ok(cudaMemcpy(da, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    const std::int32_t two = 2, none = 0;
    ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &two, da, CUDA_R_8I, n, da, CUDA_R_8I, n, &none, dc,
                           CUDA_R_32I, n, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    std::int32_t sums[16];
    expect_ok(cudaMemcpy(sums, dc, sizeof sums, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) {
            int sum = 0;
            for (std::size_t t = 0; t < 4; ++t) sum += bytes[i + 4 * t] * bytes[t + 4 * j];
            EXPECT_EQ(sums[i + 4 * j], 2 * sum);
        }
    for (void* pointer : {static_cast<void*>(da), static_cast<void*>(dc), static_cast<void*>(on_device)})
        expect_ok(cudaFree(pointer));
}

TEST_F(EmulatorCublas, ComputesOnVectors) {
    constexpr int m = 4, n = 6;
    const std::vector<double> a = numbers(m * n, 1), x = numbers(2 * n, 2), y = numbers(n, 3);
    const Numbers da(CUDA_R_64F, a), dx(CUDA_R_64F, x), dy(CUDA_R_64F, y);
    auto* const pa = static_cast<double*>(da.data());
    auto* const px = static_cast<double*>(dx.data());
    auto* const py = static_cast<double*>(dy.data());
    const double alpha = 3, beta = 0.5;
    double dot = 0, wanted = 0, norm = 0, sum = 0;
    ASSERT_EQ(cublasDdot(handle, n, px, 2, py, -1, &dot), CUBLAS_STATUS_SUCCESS);
    for (std::size_t i = 0; i < n; ++i) wanted += x[2 * i] * y[n - 1 - i];
    EXPECT_DOUBLE_EQ(dot, wanted);
    ASSERT_EQ(cublasDnrm2(handle, n, py, 1, &norm), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasDasum(handle, n, py, 1, &sum), CUBLAS_STATUS_SUCCESS);
    double squares = 0, absolute = 0;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        squares += y[i] * y[i], absolute += std::abs(y[i]);
        if (std::abs(y[i]) > std::abs(y[largest])) largest = i;
    }
    EXPECT_DOUBLE_EQ(norm, std::sqrt(squares));
    EXPECT_DOUBLE_EQ(sum, absolute);
    int position = 0;
    ASSERT_EQ(cublasIdamax(handle, n, py, 1, &position), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(position, static_cast<int>(largest) + 1);
    ASSERT_EQ(cublasDgemv(handle, CUBLAS_OP_T, m, n, &alpha, pa, m, px, 1, &beta, py, 1), CUBLAS_STATUS_SUCCESS);
    std::vector<double> product = dy.values();
    for (std::size_t j = 0; j < n; ++j) {
        double column = 0;
        for (std::size_t i = 0; i < m; ++i) column += a[i + j * m] * x[i];
        EXPECT_DOUBLE_EQ(product[j], alpha * column + beta * y[j]);
    }
    ASSERT_EQ(cublasDaxpy(handle, n, &alpha, px, 2, py, 1), CUBLAS_STATUS_SUCCESS);
    const std::vector<double> added = dy.values();
    for (std::size_t i = 0; i < n; ++i) EXPECT_DOUBLE_EQ(added[i], product[i] + alpha * x[2 * i]);
}

TEST_F(EmulatorCublas, RefusesWhatContradictsItself) {
    const Numbers a(CUDA_R_32F, numbers(64, 1));
    auto* const p = static_cast<float*>(a.data());
    const float one = 1;
    EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, p, 7, p, 8, &one, p, 8), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_NE(std::string(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE)).find("less than its 8 rows"), std::string::npos);
    EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 9, 8, 8, &one, p, 9, p, 8, &one, p, 9), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_NE(std::string(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE)).find("too many"), std::string::npos);
    EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p, 1, &one, p, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
    float result = 0;
    EXPECT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSdot(handle, 4, p, 1, p, 1, &result), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(cublasSdot(handle, 4, p, 1, p, 1, p + 63), CUBLAS_STATUS_SUCCESS);
    expect_ok(cudaDeviceSynchronize());
}

// ---- cuRAND ----

TEST(EmulatorCurand, HasPhiloxsPublishedBits) {
    // Known answers of Random123 for philox4x32-10.
    const auto words = [](std::uint32_t c, std::uint32_t k) { return curand::philox({{c, c, c, c}}, k, k); };
    const auto expect = [](const curand::Words& got, const std::array<std::uint32_t, 4>& wanted) {
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], wanted[i]);
    };
    expect(words(0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    expect(words(0xffffffff, 0xffffffff), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    expect(curand::philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
           {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    curandStatePhilox4_32_10_t state, ahead;
    curand_init(0, 0, 0, &state);
    EXPECT_EQ(::curand(&state), 0x6627e8d5u);
    EXPECT_EQ(::curand(&state), 0xe169c58du);
    curand_init(77, 5, 6, &ahead);
    curand_init(77, 5, 0, &state);
    for (int i = 0; i < 6; ++i) ::curand(&state);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(::curand(&state), ::curand(&ahead));
    skipahead(1003, &state);
    for (int i = 0; i < 1003; ++i) ::curand(&ahead);
    EXPECT_EQ(::curand(&state), ::curand(&ahead));
}

template <class State, class Draw>
void expect_moments(double mean, double variance, Draw draw) {
    State state;
    curand_init(1, 2, 3, &state);
    constexpr int n = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
        const double x = draw(&state);
        sum += x, squares += x * x;
    }
    EXPECT_NEAR(sum / n, mean, 5 * std::sqrt(variance / n));
    EXPECT_NEAR(squares / n - sum / n * (sum / n), variance, 0.08 * variance);
}
TEST(EmulatorCurand, DrawsItsDistributions) {
    expect_moments<curandState>(0.5, 1 / 12.0, [](auto* s) { return curand_uniform(s); });
    expect_moments<curandStatePhilox4_32_10_t>(0, 1, [](auto* s) { return curand_normal(s); });
    expect_moments<curandState>(0, 1, [](auto* s) { return curand_normal_double(s); });
}

// ---- PTX ----

TEST(EmulatorPtx, ComputesIntegersAsCpp) {
    std::uint64_t state = 1;
    for (int i = 0; i < 2000; ++i) {
        const auto draw = [&state] { return state = state * 6364136223846793005u + 1442695040888963407u, (state >> 20) ^ state; };
        const std::uint64_t x = draw(), y = draw(), z = draw();
        const auto a = static_cast<std::uint32_t>(x), b = static_cast<std::uint32_t>(y), c = static_cast<std::uint32_t>(z);
        const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
        EXPECT_EQ(ptx::add<ptx::u32>(x, y), a + b);
        EXPECT_EQ(ptx::multiply_high<ptx::u32>(x, y), static_cast<std::uint64_t>(a) * b >> 32);
        EXPECT_EQ(static_cast<std::int32_t>(ptx::multiply_high<ptx::s32>(x, y)), static_cast<std::int64_t>(sa) * sb >> 32);
        EXPECT_EQ(static_cast<std::int64_t>(ptx::multiply_wide<ptx::s32>(x, y)), static_cast<std::int64_t>(sa) * sb);
        __extension__ using Wide = __int128;
        EXPECT_EQ(
            static_cast<std::int64_t>(ptx::multiply_high<ptx::s64>(x, y)),
            static_cast<std::int64_t>(static_cast<Wide>(static_cast<std::int64_t>(x)) * static_cast<std::int64_t>(y) >> 64));
        EXPECT_EQ(ptx::lop3(x, y, z, 0x96), a ^ b ^ c);
        EXPECT_EQ(ptx::lop3(x, y, z, 0xe8), (a & b) | (a & c) | (b & c));
        EXPECT_EQ(ptx::reverse<ptx::u32>(ptx::reverse<ptx::u32>(x)), a);
        EXPECT_EQ(ptx::leading_zeros<ptx::u32>(x), static_cast<std::uint64_t>(std::countl_zero(a)));
        const std::uint64_t start = y % 32, length = z % 33;
        const std::uint64_t mask = (std::uint64_t{1} << length) - 1;
        EXPECT_EQ(ptx::extract<ptx::u32>(x, start, length), (static_cast<std::uint64_t>(a) >> start) & mask);
        EXPECT_EQ(ptx::insert<ptx::u32>(x, y, start, length),
                  static_cast<std::uint32_t>((b & ~(mask << start)) | ((x & mask) << start)));
        EXPECT_EQ(ptx::funnel_left(x, y, z, false),
                  static_cast<std::uint32_t>((static_cast<std::uint64_t>(b) << 32 | a) >> (32 - (z & 31))));
        std::uint64_t carry = 0;
        const std::uint64_t low = ptx::add_carry<ptx::u32>(x, y, carry, false, true),
                            high = ptx::add_carry<ptx::u32>(x >> 32, y >> 32, carry, true, true);
        EXPECT_EQ(high << 32 | low, x + y);
        EXPECT_EQ(carry, x + y < x ? 1u : 0u);
        std::uint64_t borrow = 0;
        const std::uint64_t less = ptx::subtract_carry<ptx::u32>(x, y, borrow, false, true),
                            more = ptx::subtract_carry<ptx::u32>(x >> 32, y >> 32, borrow, true, true);
        EXPECT_EQ(more << 32 | less, x - y);
    }
    EXPECT_EQ(ptx::shift_left<ptx::u32>(1, 32), 0u);
    EXPECT_EQ(static_cast<std::int32_t>(ptx::shift_right<ptx::s32>(0x80000000u, 40)), -1);
    EXPECT_EQ(ptx::permute(0x33221100, 0x77665544, 0x7531), 0x77553311u);
    EXPECT_EQ(ptx::permute(0x332211f0, 0, 0x8), 0xf0f0f0ffu);  // 8: the sign of byte 0 everywhere
    EXPECT_EQ(static_cast<std::int32_t>(ptx::extract<ptx::s32>(0xf0, 4, 4)), -1);
    EXPECT_EQ(ptx::highest_bit<ptx::s32>(0xfffffff0u), 3u);
    EXPECT_EQ(ptx::highest_bit<ptx::u32>(0), 0xffffffffu);
}

TEST(EmulatorPtx, RoundsFloatsAsItsInstructionsSay) {
    const auto f = [](float x) { return to_bits(x); };
    const float third = 1.0f / 3, tiny = 1e-40f;
    EXPECT_EQ(ptx::add<ptx::f32>(f(1), f(third)), f(1 + third));
    EXPECT_EQ((ptx::add<ptx::f32, ptx::rz>(f(1), f(0x1.8p-24f))), f(1));
    EXPECT_EQ((ptx::add<ptx::f32, ptx::rp>(f(1), f(1e-30f))), f(std::nextafter(1.0f, 2.0f)));
    EXPECT_EQ((ptx::multiply<ptx::f32, ptx::ftz>(f(tiny), f(1))), f(0));
    EXPECT_EQ((ptx::add<ptx::f32, ptx::sat>(f(0.75f), f(0.5f))), f(1));
    EXPECT_EQ(ptx::fma<ptx::f32>(f(third), f(3), f(-1)), f(std::fma(third, 3.0f, -1.0f)));
    EXPECT_EQ((ptx::round<ptx::s32, ptx::f32, ptx::rz>(f(-2.7f))), static_cast<std::uint64_t>(-2));
    EXPECT_EQ((ptx::round<ptx::u32, ptx::f32, 0>(f(-2.7f))), 0u);
    EXPECT_EQ((ptx::round<ptx::s32, ptx::f32, 0>(f(2.5f))), 2u);
    EXPECT_EQ((ptx::convert<ptx::f16, ptx::f32, 0>(f(1.5f))), 0x3e00u);
    EXPECT_EQ((ptx::convert<ptx::bf16, ptx::f32, 0>(f(third))), 0x3eabu);
    EXPECT_EQ((ptx::convert<ptx::f32, ptx::f16, 0>(0x3e00)), f(1.5f));
    EXPECT_EQ((ptx::convert<ptx::f32, ptx::s32, 0>(0xffffffffu)), f(-1));
    EXPECT_EQ((ptx::convert<ptx::u8, ptx::s32, ptx::sat>(300)), 255u);
    EXPECT_EQ(ptx::fma<ptx::f16x2>(0x40003c00, 0x42004200, 0x3c003c00), 0x47004400u);  // {2, 1} * {3, 3} + {1, 1} = {7, 4}
    EXPECT_EQ(ptx::minimum<ptx::f32>(f(NAN), f(2)), f(2));
    EXPECT_EQ(ptx::compare<ptx::f32>(ptx::Compare::ltu, f(NAN), f(2)), 1u);
    EXPECT_EQ(ptx::compare<ptx::f32>(ptx::Compare::ne, f(NAN), f(2)), 0u);
    EXPECT_EQ(ptx::compare<ptx::s32>(ptx::Compare::lt, 0xffffffffu, 0), 1u);
    EXPECT_EQ(ptx::power_of_two<ptx::f32>(f(3)), f(8));
}

}  // namespace
}  // namespace heddle::emulator
