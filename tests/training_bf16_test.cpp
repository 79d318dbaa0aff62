// Training in bf16 on the CUDA device, emulated or real: f32 weights and gradients around a model that computes in bf16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/tape.h"
#include "tests/devices.h"
#include "tests/support.h"
#include "tests/training_support.h"

namespace heddle::app {
namespace {

class HalfTraining : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

// Batches of at most 64 tokens, no warm-up.
TrainingOptions short_training() {
    TrainingOptions options = tiny_training();
    options.batch_tokens = 64;
    options.warmup = 0;
    options.lr = 5e-3;
    options.schedule = "constant";
    return options;
}

struct Setting {
    TrainingData data = copy_data(400);
    TrainingOptions options = short_training();
    BatchPlan plan = plan_batches(data.training, {.batch_tokens = 64}, 1, 1);
    double dropout = 0.1;

    Batch batch(std::int64_t number) const { return make_batch(data.training, plan.batches[static_cast<std::size_t>(number)]); }
};

// A model on the device, trained in bf16.
struct Training {
    nn::Transformer model;
    std::unique_ptr<Learner> learner;

    explicit Training(const Setting& setting, const std::vector<std::string>& frozen = {}, nn::Tie tie = nn::Tie::all)
        : model(options(setting, tie), 3) {
        model.to(Device::cuda);
        for (const std::string& name : frozen) model.freeze(name);
        learner = std::make_unique<Learner>(model, setting.options, 10, DType::bf16);
    }
    static nn::TransformerOptions options(const Setting& setting, nn::Tie tie) {
        nn::TransformerOptions options = tiny_model(setting.data, setting.dropout);
        options.tie = tie;
        return options;
    }
    const nn::FlatParameters& parameters() const { return learner->parameters(); }
    // The mean loss of an update with these batches.
    double update(const std::vector<Batch>& batches) {
        const UpdateReport report = learner->update(batches);
        return (report.read ? report.loss : learner->read().loss) / static_cast<double>(report.targets);
    }
};

Variable loss_of(const nn::Transformer& model, const Batch& batch, Tensor* statistics = nullptr) {
    const Shape targets{batch.target_tokens};
    return model.loss({Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans},
                      {Tensor::from(batch.target_in, targets), batch.target_spans}, Tensor::from(batch.target_out, targets),
                      {.ignore = -1, .divisor = static_cast<double>(batch.target_tokens)}, statistics);
}

// ---- against training on the CPU

// x rounded to bf16, up or down by chance, so that the mean is x.
float rounded_by_chance(float x, Sequence& chance) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + static_cast<std::uint32_t>(chance.below(1 << 16))) & 0xffff0000u;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// The mean losses of f32 training on the CPU. With `seed` its model computes with weights that were rounded by chance.
std::vector<double> cpu_losses(const Setting& setting, std::int64_t updates, std::uint64_t seed = 0) {
    nn::Transformer model(tiny_model(setting.data, setting.dropout), 3);
    const nn::FlatParameters parameters = nn::flatten(model);
    const Tensor masters = parameters.values.clone();
    optim::Optimizer optimizer(masters, parameters.gradients, optimizer_options(setting.options));
    generator().seed = setting.options.seed;
    Sequence chance(seed);
    std::vector<double> losses;
    for (std::int64_t update = 0; update < updates; ++update) {
        for (std::int64_t i = 0; i < masters.numel(); ++i) {
            const float weight = masters.data<float>()[i];
            parameters.values.data<float>()[i] = seed == 0 ? weight : rounded_by_chance(weight, chance);
        }
        parameters.values.bump_version();
        optimizer.zero_gradients();
        generator().start(static_cast<std::uint64_t>(update), 0);
        const Variable loss = loss_of(model, setting.batch(update));
        losses.push_back(loss.value().item());
        backward(loss);
        optimizer.step({.lr = setting.options.lr, .clip = setting.options.clip});
    }
    return losses;
}

// How far may a bf16 loss lie from the f32 one? What bf16 does to training is a disturbance of each weight, and of each value
// that is written, by its rounding. To the nearest, its mean square is 1/12 of the square of a unit in the last place. Up or down
// by chance, it is 1/6 (the mean of t (1 - t)): as much as a weight's rounding and that of the product it goes into together, and
// nearly everything that the model writes is such a product, or follows from one by an addition or a norm. So f32 trainings on
// the CPU whose weights are rounded by chance stray from the f32 losses as a plain bf16 training does. The largest distance that
// any of several reached up to an update stands for that plain error, and twice of it is allowed, as for every op
// (tests/devices.h).
TEST_F(HalfTraining, TwentyUpdatesGiveTheLossesOfTheCpuWithinWhatRoundingDoes) {
    const Setting setting;
    constexpr std::int64_t kUpdates = 20;
    const std::vector<double> exact = cpu_losses(setting, kUpdates);
    std::vector<double> plain_error(exact.size(), 0);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const std::vector<double> losses = cpu_losses(setting, kUpdates, seed);
        double largest = 0;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            largest = std::max(largest, std::abs(losses[i] - exact[i]));
            plain_error[i] = std::max(plain_error[i], largest);
        }
    }
    Training training(setting);
    double first = 0, last = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        last = training.update({setting.batch(static_cast<std::int64_t>(i))});
        if (i == 0) first = last;
        EXPECT_LE(std::abs(last - exact[i]), 2 * plain_error[i]) << "update " << i + 1 << ", f32 " << exact[i];
    }
    EXPECT_LT(last, 0.8 * first);
}

}  // namespace
}  // namespace heddle::app
