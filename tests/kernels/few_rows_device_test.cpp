// Linear maps of few rows in bf16 on the CUDA device, emulated or real, against the same formula in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/activation/activation.h"
#include "kernels/device/inspect.h"
#include "kernels/few_rows/few_rows.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/batch_invariant.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Activation, kernels::FewRowsLinear, kernels::FewRowsResult;

class FewRowsDevice : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

Tensor half(const Shape& shape, std::uint64_t seed, double mean = 0, double deviation = 1) {
    return normal(shape, DType::f32, seed, mean, deviation).to(DType::bf16).to(Device::cuda);
}
Tensor exact(const Tensor& tensor) { return tensor.defined() ? tensor.to(Device::cpu).to(DType::f64) : tensor; }
Tensor fresh(const Shape& shape, DType dtype = DType::bf16) { return Tensor::empty(shape, dtype, Device::cuda); }

Tensor sum(const Tensor& a, const Tensor& b) {
    const std::vector<double> x = a.to_vector(), y = b.to_vector();
    std::vector<double> z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] + y[i];
    return Tensor::from(z, a.shape());
}

struct Wanted {
    Tensor y, normed;
};
// In f64, but with the norm rounded to bf16 as the product takes it.
Wanted wanted(const FewRowsLinear& call) {
    Tensor z = exact(call.x), normed;
    if (call.norm.has_value()) {
        normed = kernels::layer_norm_forward(z, exact(call.norm->gamma), exact(call.norm->beta), call.norm->eps).y;
        z = normed.to(DType::f32).to(DType::bf16).to(DType::f64);
    }
    Tensor y = kernels::linear_forward(z, exact(call.weight), exact(call.bias));
    if (call.activation.has_value()) y = kernels::activation_forward(y, *call.activation);
    if (call.residual.defined()) y = sum(y, exact(call.residual));
    return {y, normed};
}

// Rounded once from f32 to bf16 at the end; within, a norm that rounds the other way moves y by a little of 2^-8.
void expect_near(const Tensor& got, const Tensor& want, double part, const std::string& what) {
    const std::vector<double> a = exact(got).to_vector(), b = want.to_vector();
    ASSERT_EQ(a.size(), b.size()) << what;
    double largest = 0;
    for (const double x : b) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(std::abs(a[i] - b[i]) <= part * largest) << what << ", element " << i << ": " << a[i] << " for " << b[i];
}

TEST_F(FewRowsDevice, GivesTheFormulaWithEverythingAroundIt) {
    struct Case {
        std::int64_t rows, in, out;
    };
    for (const Case& at : {Case{1, 32, 8}, Case{16, 64, 32}, Case{17, 160, 33}, Case{40, 256, 70}})
        for (const bool norm : {false, true})
            for (const int activation : {-1, 0, 1, 2, 3})
                for (const bool added : {false, true}) {
                    FewRowsLinear call{half({at.rows, at.in}, 1, 0.5), half({at.out, at.in}, 2, 0, 0.1), {}};
                    if (added) {
                        call.bias = half({at.out}, 3);
                        call.residual = half({at.rows, at.out}, 4);
                    }
                    if (norm) call.norm = kernels::RowNorm{half({at.in}, 5, 1, 0.2), half({at.in}, 6), 1e-5};
                    if (activation >= 0) call.activation = static_cast<Activation>(activation);
                    const Wanted want = wanted(call);
                    FewRowsResult result{fresh({at.rows, at.out})};
                    if (norm) result.normed = fresh({at.rows, at.in});
                    kernels::few_rows_linear(call, result);
                    const std::string what = std::to_string(at.rows) + " rows, " + std::to_string(at.in) + " to " +
                                             std::to_string(at.out) + (norm ? ", norm" : "") + (added ? ", added" : "") +
                                             ", activation " + std::to_string(activation);
                    expect_near(result.y, want.y, 1.0 / 128, what);
                    if (norm) expect_near(result.normed, want.normed, 1.0 / 256, what + ", the norm");
                    const FewRowsResult wide{fresh({at.rows, at.out}, DType::f32)};
                    kernels::few_rows_linear(call, wide);
                    expect_near(wide.y, want.y, norm ? 1.0 / 512 : 1e-5, what + ", in f32");
                }
}

TEST_F(FewRowsDevice, PutsTheLastColumnsElsewhere) {
    const FewRowsLinear call{half({5, 64}, 1), half({96, 64}, 2), half({96}, 3)};
    const FewRowsResult whole{fresh({5, 96})},
        parts{.y = fresh({5, 40}), .tail = Tensor::zeros({9, 56}, DType::bf16, Device::cuda), .tail_row = 3};
    kernels::few_rows_linear(call, whole);
    kernels::few_rows_linear(call, parts);
    const std::vector<double> all = exact(whole.y).to_vector(), head = exact(parts.y).to_vector(),
                              tail = exact(parts.tail).to_vector();
    for (std::size_t row = 0; row < 5; ++row)
        for (std::size_t c = 0; c < 96; ++c)
            EXPECT_EQ(c < 40 ? head[row * 40 + c] : tail[(row + 3) * 56 + c - 40], all[row * 96 + c]);
}

TEST_F(FewRowsDevice, GivesARowTheSameBitsInAnyCompany) {
    // More than 128 rows are computed 32 at a time, if they are not too wide for that.
    const std::int64_t rows = 150;
    const Tensor x = half({rows, 96}, 1), weight = half({40, 96}, 2), bias = half({40}, 3);
    const FewRowsResult all{fresh({rows, 40})};
    kernels::few_rows_linear({x, weight, bias}, all);
    for (const std::int64_t row : {0, 15, 16, 36, 127, 149}) {
        Tensor alone_x = fresh({1, 96});
        alone_x.slice(0, 1).copy_(x.slice(row, row + 1));
        const FewRowsResult alone{fresh({1, 40})};
        kernels::few_rows_linear({alone_x, weight, bias}, alone);
        EXPECT_TRUE(same_bits(alone.y.to(Device::cpu), all.y.slice(row, row + 1).to(Device::cpu))) << row;
    }
}

TEST_F(FewRowsDevice, KeepsANaNToItsRow) {
    Tensor values = normal({3, 32}, DType::f32, 1);
    values.mutable_data<float>()[32 + 5] = std::nanf("");
    FewRowsLinear call{values.to(DType::bf16).to(Device::cuda), half({8, 32}, 2), {}};
    for (const bool norm : {false, true}) {
        if (norm) call.norm = kernels::RowNorm{half({32}, 5), half({32}, 6), 1e-5};
        call.activation = Activation::relu;
        const FewRowsResult result{fresh({3, 8})};
        kernels::few_rows_linear(call, result);
        const std::vector<double> y = exact(result.y).to_vector();
        for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 8 == 1) << i;
    }
}

// Rows of any length are read, and sums exchanged, without a bank conflict.
TEST_F(FewRowsDevice, KeepsItsRowsOnDifferentBanks) {
    if (!device::emulated()) GTEST_SKIP() << "a GPU does not count bank conflicts";
    for (const std::int64_t in :
         {std::int64_t{32}, std::int64_t{64}, std::int64_t{96}, std::int64_t{256}, kernels::kFewRowsWidest}) {
        const std::int64_t rows = in == 256 ? 130 : 17;
        const FewRowsLinear call{
            half({rows, in}, 1), half({40, in}, 2), {}, kernels::RowNorm{half({in}, 5), half({in}, 6), 1e-5}};
        const FewRowsResult result{fresh({rows, 40})};
        const device::Traffic traffic = device::traffic_of([&] { kernels::few_rows_linear(call, result); });
        EXPECT_GT(traffic.shared_cycles, 0);
        EXPECT_EQ(traffic.shared_cycles, traffic.least_shared_cycles) << in;
    }
}

TEST_F(FewRowsDevice, SaysWhatItDoesNotTake) {
    const Tensor weight = half({8, 32}, 1);
    EXPECT_TRUE(kernels::takes_few_rows(half({kernels::kFewRows, 32}, 1), weight));
    EXPECT_FALSE(kernels::takes_few_rows(half({kernels::kFewRows + 1, 32}, 1), weight));
    EXPECT_FALSE(kernels::takes_few_rows(half({2, 40}, 1), weight));
    EXPECT_FALSE(kernels::takes_few_rows(normal({2, 32}, DType::f32, 1), weight));
    kernels::set_batch_invariant(true);
    EXPECT_FALSE(kernels::takes_few_rows(half({2, 32}, 1), weight));
    kernels::set_batch_invariant(false);
    const FewRowsResult result{fresh({2, 8})};
    expect_error(
        [&] {
            kernels::few_rows_linear({half({2, 40}, 1), half({8, 40}, 2), {}}, result);
        },
        "few_rows_linear: x is [2, 40]");
    expect_error(
        [&] {
            kernels::few_rows_linear({half({2, 32}, 1), weight, half({9}, 2)}, result);
        },
        "few_rows_linear: bias has shape [9], wanted [8]");
    expect_error(
        [&] {
            kernels::few_rows_linear({half({2, 32}, 1), weight, {}}, {result.y, {}, fresh({2, 32})});
        },
        "normed is asked for, but there is no norm");
}

}  // namespace
}  // namespace heddle
