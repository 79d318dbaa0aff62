// The mean of several models' probabilities on every device: equal models, and errors.
#include "kernels/mean_probability/mean_probability.h"

#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(MeanProbabilityDevice, OfEqualModelsIsTheFirst) {
    for (const Numbers& numbers : all_numbers()) {
        Tensor logits = normal({3, 65}, DType::f64, 2, 0, 9);
        logits.mutable_data<double>()[5] = -kInfinity;
        logits.mutable_data<double>()[70] = 90;
        const Tensor one = in(numbers, logits);
        for (const std::size_t models : {1, 2, 3, 7})
            EXPECT_TRUE(same_bits(mean_probability(std::vector<Tensor>(models, one)).to(Device::cpu), one.to(Device::cpu)))
                << models << " on " << to_string(numbers);
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
