// The product that other ops build on, and the ladder of kernels that leads to it.
#include <gtest/gtest.h>

#include "kernels/activation/activation.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_ladder.h"
#include "kernels/matmul/product.h"
#include "kernels/matmul/product_cuda.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::DeviceMatrix;
using kernels::DeviceProduct;
using kernels::DeviceResult;
using kernels::MatmulStep;

// Sums of up to 200 products, each rounded once: some multiples of the last place.
constexpr Allowed kAllowed{.f64 = 1e-14, .f32 = 3e-6};

std::vector<Numbers> device_numbers() {
    std::vector<Numbers> numbers;
    for (const Numbers& each : all_numbers())
        if (each.device == Device::cuda) numbers.push_back(each);
    return numbers;
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
                               .c = DeviceResult(Columns(c_in, 4, 5))});
        Tensor want = rounded(numbers, c).clone();
        kernels::reference_product<double>(7, 5, 12, {rounded(numbers, a).data<double>() + 3, 30, 1},
                                           {rounded(numbers, b).data<double>() + 20, 1, 40},
                                           {want.mutable_data<double>() + 4, 20, 1});
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
                                           .c = DeviceResult(got),
                                           .bias = accumulate ? Tensor() : in(numbers, bias),
                                           .accumulate = accumulate,
                                           .batch_invariant = invariant});
                    const Tensor wide = rounded(numbers, bias);
                    kernels::reference_product<double>(
                        9, 6, k, {rounded(numbers, a).data<double>(), k, 1}, {rounded(numbers, b).data<double>(), 6, 1},
                        {want.mutable_data<double>(), 6, 1},
                        {.bias = accumulate ? nullptr : wide.data<double>(), .accumulate = accumulate});
                    expect_close(got, want, numbers, "k " + std::to_string(k), kAllowed);
                }
}

// Slices of a fused projection's bias begin anywhere. cuBLASLt's epilogues may only have those that are aligned to 16 bytes.
TEST(ProductDevice, TakesABiasAtAnyAddress) {
    for (const Numbers& numbers : device_numbers())
        for (const std::int64_t offset : {0, 1, 2, 3, 8})
            for (const bool gelu : {false, true}) {
                if (gelu && numbers.dtype != DType::bf16) continue;
                const Tensor a = normal({20, 33}, DType::f64, 1), b = normal({33, 6}, DType::f64, 2),
                             wide = normal({14}, DType::f64, 3), bias = wide.slice(offset, offset + 6);
                Tensor got = Tensor::empty({20, 6}, numbers.dtype, Device::cuda), want = Tensor::empty({20, 6}, DType::f64);
                kernels::product_cuda({.m = 20,
                                       .n = 6,
                                       .k = 33,
                                       .a = DeviceMatrix(in(numbers, a)),
                                       .b = DeviceMatrix(in(numbers, b)),
                                       .c = DeviceResult(got),
                                       .bias = in(numbers, wide).slice(offset, offset + 6),
                                       .gelu_tanh = gelu});
                kernels::reference_product<double>(
                    20, 6, 33, {rounded(numbers, a).data<double>(), 33, 1}, {rounded(numbers, b).data<double>(), 6, 1},
                    {want.mutable_data<double>(), 6, 1}, {.bias = rounded(numbers, bias).data<double>()});
                if (gelu) want = kernels::gelu_forward(want, true);
                expect_close(got, want, numbers, "a bias at " + std::to_string(offset), kAllowed);
            }
}

// GELU's argument, kept beside its value, and the derivative there: where the argument lies is no part of the plan.
TEST(ProductDevice, KeepsGelusArgumentAndTakesItsDerivativeThere) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Numbers numbers{Device::cuda, DType::bf16};
    const Tensor a = normal({20, 33}, DType::f64, 1), b = normal({33, 16}, DType::f64, 2, 0, 0.2),
                 bias = normal({17}, DType::f64, 3);
    const auto product = [&](const Tensor& c, const Tensor& of_bias, bool gelu, const Tensor& input) {
        kernels::product_cuda({.m = 20,
                               .n = 16,
                               .k = 33,
                               .a = DeviceMatrix(in(numbers, a)),
                               .b = DeviceMatrix(in(numbers, b)),
                               .c = DeviceResult(c),
                               .bias = of_bias,
                               .gelu_tanh = gelu,
                               .gelu_input = input});
    };
    const auto wanted = [&](const Tensor& of_bias) {
        Tensor want = Tensor::empty({20, 16}, DType::f64);
        kernels::reference_product<double>(20, 16, 33, {rounded(numbers, a).data<double>(), 33, 1},
                                           {rounded(numbers, b).data<double>(), 16, 1}, {want.mutable_data<double>(), 16, 1},
                                           {.bias = of_bias.defined() ? rounded(numbers, of_bias).data<double>() : nullptr});
        return want;
    };
    for (const std::int64_t row : {0, 1, 3}) {  // of 16 numbers: addresses of 32 bytes and more
        const Tensor room = Tensor::zeros({24, 16}, DType::bf16, Device::cuda);
        const Tensor input = room.slice(row, row + 20);
        for (const std::int64_t first : {-1, 0, 1}) {  // of the bias; none, aligned, misaligned
            const Tensor got = Tensor::empty({20, 16}, DType::bf16, Device::cuda);
            const Tensor u = wanted(first < 0 ? Tensor() : bias.slice(first, first + 16));
            product(got, first < 0 ? Tensor() : in(numbers, bias).slice(first, first + 16), true, input);
            expect_close(got, kernels::gelu_forward(u, true), numbers, "the value", kAllowed);
            expect_close(input, u, numbers, "the argument", kAllowed);
        }
        const Tensor got = Tensor::empty({20, 16}, DType::bf16, Device::cuda);
        product(got, {}, false, input);
        const Tensor kept = input.to(Device::cpu).to(DType::f64);
        expect_close(got, kernels::gelu_backward(wanted({}), kept, true), numbers, "the derivative", kAllowed);
    }
    const Tensor room = Tensor::zeros({21, 16}, DType::bf16, Device::cuda),
                 c = Tensor::empty({20, 16}, DType::bf16, Device::cuda);
    const Tensor shifted = room.reshape({21 * 16}).slice(1, 321).reshape({20, 16});
    expect_error([&] { product(c, {}, true, shifted); }, "in aligned rows of a multiple of 8 numbers");
    expect_error([&] { product(c, in(numbers, bias).slice(0, 16), false, room); }, "keeps its argument, or takes its derivative");
}

// Rows [first, first + rows) of A [300, 700] (or of each of two), multiplied alone.
Tensor rows_alone(const DeviceProduct& whole, std::int64_t first, std::int64_t rows) {
    DeviceProduct part = whole;
    part.m = rows;
    part.a.advance(first * (whole.a.transposed ? 1 : whole.a.pitch));
    Tensor c = Tensor::full({whole.batch, rows, whole.n}, 3, whole.c.dtype).to(Device::cuda);
    part.c = DeviceResult(c).batched(rows * whole.n);
    kernels::product_cuda(part);
    return c.to(Device::cpu);
}

// The emulator's algorithm for 128 rows refuses numbers of rows that are 1, 2 or 3 more than a multiple of 8: one block, a block
// and a rest, two blocks and a rest.
TEST(ProductDevice, BatchInvariantRowsHaveTheSameBitsForEveryNumberOfRows) {
    for (const Numbers& numbers : device_numbers()) {
        const bool half = numbers.dtype == DType::bf16;
        const Tensor a = in(numbers, normal({2, 300, 700}, DType::f64, 1)),
                     across = in(numbers, normal({700, 300}, DType::f64, 2)), b = in(numbers, normal({700, 24}, DType::f64, 3)),
                     bias = in(numbers, normal({24}, DType::f64, 4));
        Tensor c = in(numbers, Tensor::zeros({300, 24}, DType::f64));
        const DeviceProduct plain{.m = 300,
                                  .n = 24,
                                  .k = 700,
                                  .a = DeviceMatrix(a),
                                  .b = DeviceMatrix(b),
                                  .c = DeviceResult(c),
                                  .batch_invariant = true};
        DeviceProduct biased = plain, added = plain, transposed = plain, twice = plain;
        biased.bias = bias;
        biased.gelu_tanh = half;
        added.accumulate = true;
        transposed.a = DeviceMatrix(across).transpose();
        twice.batch = 2;
        twice.a = twice.a.batched(300 * 700);
        for (const DeviceProduct& product : {plain, biased, added, transposed, twice}) {
            const Tensor together = rows_alone(product, 0, 300);
            for (const auto& [start, rows] : {std::pair<int, int>{0, 1}, {7, 3}, {100, 11}, {40, 64}, {20, 131}, {3, 259}}) {
                const int first =
                    product.a.transposed ? start / 8 * 8 : start;  // columns of another alignment are another product
                const Tensor alone = rows_alone(product, first, rows);
                for (std::int64_t i = 0; i < product.batch; ++i)
                    EXPECT_TRUE(same_bits(alone.slice(i, i + 1).reshape({rows, 24}),
                                          together.slice(i, i + 1).reshape({300, 24}).slice(first, first + rows)))
                        << to_string(numbers) << ", rows " << first << " to " << first + rows << " of matrix " << i
                        << (product.accumulate     ? ", added"
                            : product.a.transposed ? ", transposed"
                                                   : "");
            }
        }
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
                           .c = DeviceResult(c),
                           .accumulate = true});
    Tensor want = Tensor::full({9, 7}, 1000, DType::f64);
    kernels::reference_product<double>(9, 7, 40, {a.to(DType::f64).data<double>(), 1, 9}, {b.to(DType::f64).data<double>(), 7, 1},
                                       {want.mutable_data<double>(), 7, 1}, {.accumulate = true});
    expect_close(c, want, numbers, "f32 from bf16", kAllowed);
}

TEST(ProductDevice, NamesWhatDoesNotGoTogether) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor a = Tensor::zeros({2, 3}, DType::f32, Device::cuda), b = Tensor::zeros({3, 4}, DType::f64, Device::cuda);
    expect_error(
        [&] {
            kernels::product_cuda(
                {.op = "x", .m = 2, .n = 4, .k = 3, .a = DeviceMatrix(a), .b = DeviceMatrix(b), .c = DeviceResult(a)});
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
    const MatmulStep steps[] = {MatmulStep::naive,        MatmulStep::shared_tile, MatmulStep::register_tile,
                                MatmulStep::vector_loads, MatmulStep::warp_tile,   MatmulStep::tensor_cores,
                                MatmulStep::copies_ahead, MatmulStep::swizzle,     MatmulStep::whole_lines};
    for (const MatmulStep step : steps)
        for (const LadderCase& at :
             {LadderCase{1, 1, 1}, LadderCase{33, 31, 70}, LadderCase{129, 17, 193}, LadderCase{8, 136, 200},
              LadderCase{200, 128, 64}, LadderCase{5, 3, 0}, LadderCase{0, 4, 4}, LadderCase{4, 0, 4}}) {
            const Numbers numbers{Device::cuda, step >= MatmulStep::tensor_cores ? DType::bf16 : DType::f32};
            const Tensor a = normal({at.m, at.k}, DType::f64, 1), b = normal({at.k, at.n}, DType::f64, 2);
            const std::string what = "step " + std::to_string(static_cast<int>(step)) + ", " + std::to_string(at.m) + "x" +
                                     std::to_string(at.n) + "x" + std::to_string(at.k);
            const Tensor want = kernels::matmul_forward(rounded(numbers, a), rounded(numbers, b));
            expect_close(kernels::matmul_ladder(step, in(numbers, a), in(numbers, b)), want, numbers, what, kAllowed);
            expect_close(kernels::matmul_ladder(step, offset_by_one(in(numbers, a)), offset_by_one(in(numbers, b))), want,
                         numbers, what + ", offset", kAllowed);
        }
}

TEST(MatmulLadder, TheFirstStepKnowsEveryDtype) {
    for (const Numbers& numbers : device_numbers()) {
        const Tensor a = normal({17, 33}, DType::f64, 1), b = normal({33, 18}, DType::f64, 2);
        expect_close(kernels::matmul_ladder(MatmulStep::naive, in(numbers, a), in(numbers, b)),
                     kernels::matmul_forward(rounded(numbers, a), rounded(numbers, b)), numbers, "naive", kAllowed);
    }
}

TEST(MatmulLadder, RefusesWhatItCannot) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor a = Tensor::zeros({2, 3}, DType::f32, Device::cuda);
    expect_error([&] { kernels::matmul_ladder(MatmulStep::naive, a, a); }, "matmul_ladder: wanted a [m, k] and b [k, n]");
    expect_error([&] { kernels::matmul_ladder(MatmulStep::tensor_cores, a, a.reshape({3, 2})); }, "bf16");
}

}  // namespace
}  // namespace heddle
