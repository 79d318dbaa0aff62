// The matrix product on every device: the op, the product that other ops build on, and the ladder.
#include <gtest/gtest.h>

#include "kernels/matmul/detail/matmul_ladder.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product.h"
#include "kernels/matmul/product_cuda.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::DeviceMatrix;
using kernels::LadderStep;

// Sums of up to 200 products, each rounded once: some multiples of the last place.
constexpr Allowed kAllowed{.f64 = 1e-14, .f32 = 3e-6};

std::vector<Numbers> device_numbers() {
    std::vector<Numbers> numbers;
    for (const Numbers& each : all_numbers())
        if (each.device == Device::cuda) numbers.push_back(each);
    return numbers;
}

// The reference computes in f64 with the inputs as the device has them.
Tensor reference(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false) {
    return kernels::matmul_forward(a, b, transpose_a, transpose_b);
}

struct MatmulCase {
    Shape batch;
    std::int64_t m, n, k;
    bool shared_b = false;
};

Shape with(const Shape& batch, std::int64_t rows, std::int64_t cols) {
    Shape shape = batch;
    shape.append(rows);
    shape.append(cols);
    return shape;
}

const std::vector<MatmulCase>& matmul_cases() {
    static const std::vector<MatmulCase> cases = {
        {{}, 1, 1, 1}, {{}, 31, 33, 32}, {{}, 33, 127, 31},  {{}, 127, 1, 33}, {{}, 5, 7, 0},        {{}, 0, 3, 4},
        {{}, 3, 0, 4}, {{2}, 5, 6, 7},   {{2, 3}, 4, 33, 8}, {{3}, 5, 4, 0},   {{3}, 5, 6, 7, true}, {{2, 2}, 8, 9, 16, true},
        {{0}, 2, 3, 4}};
    return cases;
}

TEST(MatmulDevice, ForwardAndBackwardInEveryLayout) {
    for (const Numbers& numbers : all_numbers())
        for (const MatmulCase& at : matmul_cases())
            for (int layout = 0; layout < 4; ++layout) {
                const bool ta = (layout & 1) != 0, tb = (layout & 2) != 0;
                const Shape none;
                const Tensor a = normal(ta ? with(at.batch, at.k, at.m) : with(at.batch, at.m, at.k), DType::f64, 1);
                const Shape& batch_b = at.shared_b ? none : at.batch;
                const Tensor b = normal(tb ? with(batch_b, at.n, at.k) : with(batch_b, at.k, at.n), DType::f64, 2);
                const Tensor dc = normal(with(at.batch, at.m, at.n), DType::f64, 3), db = normal(b.shape(), DType::f64, 4);
                const std::string what = std::to_string(at.m) + "x" + std::to_string(at.n) + "x" + std::to_string(at.k) +
                                         ", layout " + std::to_string(layout);
                const Tensor a_in = in(numbers, a), b_in = in(numbers, b), dc_in = in(numbers, dc);
                const Tensor a64 = rounded(numbers, a), b64 = rounded(numbers, b), dc64 = rounded(numbers, dc);
                expect_close(kernels::matmul_forward(a_in, b_in, ta, tb), reference(a64, b64, ta, tb), numbers, "C " + what,
                             kAllowed);
                expect_close(kernels::matmul_backward_a(dc_in, a_in, b_in, ta, tb),
                             kernels::matmul_backward_a(dc64, a64, b64, ta, tb), numbers, "dA " + what, kAllowed);
                Tensor got = in(numbers, db).clone(), want = rounded(numbers, db).clone();
                kernels::matmul_backward_b(dc_in, a_in, b_in, ta, tb, got);
                kernels::matmul_backward_b(dc64, a64, b64, ta, tb, want);
                expect_close(got, want, numbers, "dB " + what, kAllowed);
            }
}

TEST(MatmulDevice, TakesViewsThatStartAnywhere) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor a = normal({9, 31}, DType::f64, 1), b = normal({31, 17}, DType::f64, 2);
        expect_close(kernels::matmul_forward(offset_by_one(in(numbers, a)), offset_by_one(in(numbers, b))),
                     reference(rounded(numbers, a), rounded(numbers, b)), numbers, "offset by one", kAllowed);
    }
}

TEST(MatmulDevice, GivesTheSameBitsAgainAndKeepsNaN) {
    for (const Numbers& numbers : device_numbers()) {
        Tensor a = normal({33, 70}, DType::f64, 1);
        a.data<double>()[5 * 70 + 3] = std::numeric_limits<double>::quiet_NaN();
        const Tensor on_device = in(numbers, a), b = in(numbers, normal({70, 40}, DType::f64, 2));
        expect_same_bits_again([&] { return std::vector<Tensor>{kernels::matmul_forward(on_device, b)}; }, to_string(numbers));
        const std::vector<double> c = kernels::matmul_forward(on_device, b).to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / 40 == 5) << "element " << i;
    }
}

// ---- product_cuda

TEST(ProductDevice, ReadsAndWritesColumnSlicesInPlace) {
    for (const Numbers& numbers : device_numbers()) {
        const Tensor a = normal({7, 30}, DType::f64, 1), b = normal({5, 40}, DType::f64, 2), c = normal({7, 20}, DType::f64, 3);
        Tensor c_in = in(numbers, c).clone();
        // Columns 3 to 14 of a times the transpose of columns 20 to 31 of b, into columns 4 to 8 of c.
        kernels::product_cuda({.m = 7,
                               .n = 5,
                               .k = 12,
                               .a = DeviceMatrix(Columns(in(numbers, a), 3, 12)),
                               .b = DeviceMatrix(Columns(in(numbers, b), 20, 12)).transpose(),
                               .c = DeviceMatrix(Columns(c_in, 4, 5))});
        Tensor want = rounded(numbers, c).clone();
        kernels::reference_product<double>(7, 5, 12, {rounded(numbers, a).data<double>() + 3, 30, 1},
                                           {rounded(numbers, b).data<double>() + 20, 1, 40}, {want.data<double>() + 4, 20, 1});
        expect_close(c_in, want, numbers, "a slice", kAllowed);
        const std::vector<double> before = rounded(numbers, c).to_vector(), after = c_in.to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < before.size(); ++i)
            if (i % 20 < 4 || i % 20 >= 9) {
                EXPECT_EQ(after[i], before[i]) << "beside the slice, element " << i;
            }
    }
}

TEST(ProductDevice, StartsFromTheBiasOrFromWhatIsThere) {
    for (const Numbers& numbers : device_numbers())
        for (const std::int64_t k : {0, 1, 33})
            for (const bool accumulate : {false, true})
                for (const bool invariant : {false, true}) {
                    const Tensor a = normal({9, k}, DType::f64, 1), b = normal({k, 6}, DType::f64, 2),
                                 bias = normal({6}, DType::f64, 3), c = normal({9, 6}, DType::f64, 4);
                    Tensor got = in(numbers, c).clone(), want = rounded(numbers, c).clone();
                    kernels::product_cuda({.m = 9,
                                           .n = 6,
                                           .k = k,
                                           .a = DeviceMatrix(in(numbers, a)),
                                           .b = DeviceMatrix(in(numbers, b)),
                                           .c = DeviceMatrix(got),
                                           .bias = accumulate ? Tensor() : in(numbers, bias),
                                           .accumulate = accumulate,
                                           .batch_invariant = invariant});
                    const Tensor wide = rounded(numbers, bias);
                    kernels::reference_product<double>(
                        9, 6, k, {rounded(numbers, a).data<double>(), k, 1}, {rounded(numbers, b).data<double>(), 6, 1},
                        {want.data<double>(), 6, 1},
                        {.bias = accumulate ? nullptr : wide.data<double>(), .accumulate = accumulate});
                    expect_close(got, want, numbers, "k " + std::to_string(k), kAllowed);
                }
}

TEST(ProductDevice, AddsBf16ProductsInF32) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers numbers{Device::cuda, DType::f32};
    const Tensor a = normal({40, 9}, DType::f32, 1).to(DType::bf16), b = normal({40, 7}, DType::f32, 2).to(DType::bf16);
    Tensor c = Tensor::full({9, 7}, 1000, DType::f32).to(Device::cuda);
    kernels::product_cuda({.m = 9,
                           .n = 7,
                           .k = 40,
                           .a = DeviceMatrix(a.to(Device::cuda)).transpose(),
                           .b = DeviceMatrix(b.to(Device::cuda)),
                           .c = DeviceMatrix(c),
                           .accumulate = true});
    Tensor want = Tensor::full({9, 7}, 1000, DType::f64);
    kernels::reference_product<double>(9, 7, 40, {a.to(DType::f64).data<double>(), 1, 9}, {b.to(DType::f64).data<double>(), 7, 1},
                                       {want.data<double>(), 7, 1}, {.accumulate = true});
    expect_close(c, want, numbers, "f32 from bf16", kAllowed);
}

TEST(ProductDevice, NamesWhatDoesNotGoTogether) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor a = Tensor::zeros({2, 3}, DType::f32, Device::cuda), b = Tensor::zeros({3, 4}, DType::f64, Device::cuda);
    expect_error(
        [&] {
            kernels::product_cuda(
                {.op = "x", .m = 2, .n = 4, .k = 3, .a = DeviceMatrix(a), .b = DeviceMatrix(b), .c = DeviceMatrix(a)});
        },
        "x: a product of f32 and f64 into f32");
    expect_error([&] { kernels::matmul_forward(a, Tensor::zeros({3, 4}, DType::f32)); }, "matmul: b lies on cpu, but a on cuda");
}

// ---- the ladder

struct LadderCase {
    std::int64_t m, n, k;
};

TEST(MatmulLadder, EveryStepMultipliesMatricesOfAnySize) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const LadderStep steps[] = {LadderStep::naive, LadderStep::shared_tile, LadderStep::register_tile, LadderStep::vector_loads,
                                LadderStep::tensor_cores};
    for (const LadderStep step : steps)
        for (const LadderCase& at : {LadderCase{1, 1, 1}, LadderCase{33, 31, 70}, LadderCase{129, 17, 193},
                                     LadderCase{8, 136, 200}, LadderCase{5, 3, 0}, LadderCase{0, 4, 4}, LadderCase{4, 0, 4}}) {
            const Numbers numbers{Device::cuda, step == LadderStep::tensor_cores ? DType::bf16 : DType::f32};
            const Tensor a = normal({at.m, at.k}, DType::f64, 1), b = normal({at.k, at.n}, DType::f64, 2);
            const std::string what = "step " + std::to_string(static_cast<int>(step)) + ", " + std::to_string(at.m) + "x" +
                                     std::to_string(at.n) + "x" + std::to_string(at.k);
            const Tensor want = reference(rounded(numbers, a), rounded(numbers, b));
            expect_close(kernels::matmul_ladder(step, in(numbers, a), in(numbers, b)), want, numbers, what, kAllowed);
            expect_close(kernels::matmul_ladder(step, offset_by_one(in(numbers, a)), offset_by_one(in(numbers, b))), want,
                         numbers, what + ", offset", kAllowed);
        }
}

TEST(MatmulLadder, TheFirstStepKnowsEveryDtype) {
    for (const Numbers& numbers : device_numbers()) {
        const Tensor a = normal({17, 33}, DType::f64, 1), b = normal({33, 18}, DType::f64, 2);
        expect_close(kernels::matmul_ladder(LadderStep::naive, in(numbers, a), in(numbers, b)),
                     reference(rounded(numbers, a), rounded(numbers, b)), numbers, "naive", kAllowed);
    }
}

TEST(MatmulLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor a = Tensor::zeros({2, 3}, DType::f32, Device::cuda);
    expect_error([&] { kernels::matmul_ladder(LadderStep::naive, a, a); }, "matmul_ladder: wanted a [m, k] and b [k, n]");
    expect_error([&] { kernels::matmul_ladder(LadderStep::tensor_cores, a, a.reshape({3, 2})); }, "bf16");
}

}  // namespace
}  // namespace heddle
