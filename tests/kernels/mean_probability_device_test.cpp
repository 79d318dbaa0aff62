// The mean of several models' probabilities on every device against plain loops in f64.
#include "kernels/mean_probability/mean_probability.h"

#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_total(const double* x, std::int64_t vocabulary) {
    const double most = *std::max_element(x, x + vocabulary);
    double sum = 0;
    for (std::int64_t j = 0; j < vocabulary; ++j) sum += std::exp(x[j] - most);
    return most + std::log(sum);
}

// f64 [rows, vocabulary], from f64 tensors.
Tensor plain_mean(const std::vector<Tensor>& logits) {
    const std::int64_t rows = logits[0].rows(), vocabulary = logits[0].cols();
    const Tensor result = Tensor::zeros({rows, vocabulary}, DType::f64);
    for (std::int64_t row = 0; row < rows; ++row) {
        double* y = result.data<double>() + row * vocabulary;
        for (const Tensor& each : logits) {
            const double* x = each.data<double>() + row * vocabulary;
            const double total = log_total(x, vocabulary);
            for (std::int64_t j = 0; j < vocabulary; ++j) y[j] += std::exp(x[j] - total) / static_cast<double>(logits.size());
        }
        const double first = log_total(logits[0].data<double>() + row * vocabulary, vocabulary);
        for (std::int64_t j = 0; j < vocabulary; ++j) y[j] = std::log(y[j]) + first;
    }
    return result;
}

void expect_the_mean(const std::vector<Tensor>& logits, const Numbers& numbers, bool offset = false) {
    std::vector<Tensor> given, exact;
    for (const Tensor& each : logits) {
        given.push_back(in(numbers, each));
        if (offset) given.back() = offset_by_one(given.back());
        exact.push_back(rounded(numbers, each));
    }
    const std::string what = std::to_string(logits.size()) + " models, " + std::to_string(logits[0].cols()) + " columns";
    const Allowed allowed{.f64 = 1e-12, .f32 = 1e-6};
    expect_close(mean_probability(given), plain_mean(exact), numbers, what, allowed);
    expect_same_bits_again([&] { return std::vector<Tensor>{mean_probability(given)}; }, what);
}

std::vector<Tensor> some_logits(std::uint64_t models, const Shape& shape) {
    std::vector<Tensor> logits;
    for (std::uint64_t m = 0; m < models; ++m) logits.push_back(normal(shape, DType::f64, 7 + m, 0, 3));
    return logits;
}

TEST(MeanProbabilityDevice, IsTheMeanOfTheSoftmaxes) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t vocabulary : {1, 31, 32, 33, 127, 1025, 2048})
            for (const std::uint64_t models : {2, 5}) {
                expect_the_mean(some_logits(models, {3, vocabulary}), numbers);
                if (vocabulary % 2 == 1) expect_the_mean(some_logits(models, {3, vocabulary}), numbers, true);
            }
}

TEST(MeanProbabilityDevice, OfEqualModelsIsTheFirst) {
    for (const Numbers& numbers : all_numbers()) {
        Tensor logits = normal({3, 65}, DType::f64, 2, 0, 9);
        logits.data<double>()[5] = -kInfinity;
        logits.data<double>()[70] = 90;
        const Tensor one = in(numbers, logits);
        for (const std::size_t models : {1, 2, 3, 7})
            EXPECT_TRUE(same_bits(mean_probability(std::vector<Tensor>(models, one)).to(Device::cpu), one.to(Device::cpu)))
                << models << " on " << to_string(numbers);
    }
}

TEST(MeanProbabilityDevice, OneModelMayForbidAWordAndNoRowsAreNone) {
    for (const Numbers& numbers : all_numbers()) {
        std::vector<Tensor> logits = some_logits(2, {2, 9});
        logits[0].data<double>()[3] = -kInfinity;
        const std::vector<Tensor> given{in(numbers, logits[0]), in(numbers, logits[1])};
        const std::vector<double> all = mean_probability(given).to_vector();
        const Tensor want = plain_mean({rounded(numbers, logits[0]), rounded(numbers, logits[1])});
        EXPECT_NEAR(all[3], want.data<double>()[3], numbers.dtype == DType::bf16 ? 0.05 : 1e-5);
        const Tensor none = Tensor::zeros({0, 9}, numbers.dtype, numbers.device);
        EXPECT_EQ(mean_probability(std::vector<Tensor>{none, none}).shape(), Shape({0, 9}));
    }
}

TEST(MeanProbabilityDevice, WrongUseIsAnError) {
    const Tensor logits = normal({2, 8}, DType::f32, 1);
    expect_error([] { mean_probability({}); }, "no model's logits");
    expect_error(
        [&] {
            mean_probability(std::vector<Tensor>{logits, normal({2, 7}, DType::f32, 1)});
        },
        "logits[1] has shape [2, 7], wanted [2, 8]");
    const Tensor broken = Tensor::full({2, 8}, std::nan(""), DType::f32);
    expect_error([&] { mean_probability(std::vector<Tensor>{logits, broken}); }, "holds NaN");
    if (!device::available() || !device::emulated()) return;  // it ends the context of a real device
    const std::vector<Tensor> there{logits.to(Device::cuda), broken.to(Device::cuda)};
    expect_error([&] { mean_probability(there).to(Device::cpu); }, "mean_probability: a row of logits holds NaN");
}

}  // namespace
}  // namespace heddle::kernels
