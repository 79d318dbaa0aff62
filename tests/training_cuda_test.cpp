// Training on the CUDA device, emulated or real, against training on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "apps/translation/translate.h"
#include "tests/devices.h"
#include "tests/support.h"
#include "tests/training_support.h"

namespace heddle::app {
namespace {

class DeviceTraining : public testing::Test {
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

// The mean loss of each of `updates` updates.
std::vector<double> losses(const TrainingData& data, Device device, std::int64_t updates, Tensor* weights = nullptr) {
    const TrainingOptions options = short_training();
    nn::Transformer model(tiny_model(data, 0.1), 3);
    model.to(device);
    Learner learner(model, options, updates);
    const BatchPlan plan = plan_batches(data.training, {.batch_tokens = options.batch_tokens}, 1, 1);
    std::vector<double> result;
    for (std::int64_t i = 0; i < updates; ++i) {
        const Batch batch = make_batch(data.training, plan.batches[static_cast<std::size_t>(i)]);
        const UpdateReport report = learner.update({&batch, 1});
        result.push_back(report.loss / static_cast<double>(report.targets));
    }
    if (weights) *weights = nn::copy_on_cpu(learner.parameters().values);
    return result;
}

TEST_F(DeviceTraining, TwentyUpdatesGiveTheLossesOfTheCpu) {
    const TrainingData data = copy_data(400);
    const std::vector<double> cpu = losses(data, Device::cpu, 20), cuda = losses(data, Device::cuda, 20);
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_LE(std::abs(cuda[i] - cpu[i]), 1e-4 * cpu[i]) << "update " << i + 1;
    EXPECT_LT(cuda.back(), 0.8 * cuda.front());
}

TEST_F(DeviceTraining, AnUpdateHasTheSameBitsAgain) {
    const TrainingData data = copy_data(100);
    Tensor first, second;
    losses(data, Device::cuda, 3, &first);
    losses(data, Device::cuda, 3, &second);
    EXPECT_TRUE(same_bits(first, second));
}

// A run that began on the CPU goes on on the device and back: weights and moments travel by the save.
TEST_F(DeviceTraining, ARunSavedOnOneDeviceResumesOnTheOther) {
    const TrainingData data = copy_data(200, 20);
    TrainingOptions options = short_training();
    const auto train = [&](const std::vector<std::pair<Device, std::int64_t>>& legs) {
        const TemporaryFolder folder;
        RunFolder run(folder / "run", false);
        std::vector<float> weights;
        bool resumed = false;
        for (const auto& [device, until] : legs) {
            options.updates = until;
            nn::Transformer model(tiny_model(data, 0.1), 3);
            model.to(device);
            TrainingLog log({}, true);
            Trainer trainer(model, data, options, log, &run);
            if (resumed) trainer.resume(latest_save(run.path()));
            trainer.run();
            resumed = true;
            const Tensor values = nn::copy_on_cpu(trainer.learner().parameters().values);
            weights.assign(values.data<float>(), values.data<float>() + values.numel());
        }
        return weights;
    };
    const std::vector<float> cpu = train({{Device::cpu, 6}});
    const std::vector<float> mixed = train({{Device::cpu, 2}, {Device::cuda, 4}, {Device::cpu, 6}});
    ASSERT_EQ(cpu.size(), mixed.size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(cpu[i])));
        difference = std::max(difference, std::abs(static_cast<double>(cpu[i]) - static_cast<double>(mixed[i])));
    }
    // Two of six updates were computed with other roundings, and Adam turns a tiny gradient's sign into a whole step.
    EXPECT_LE(difference, 2 * 2 * options.lr);
    EXPECT_GT(largest, 0);
}

TEST_F(DeviceTraining, TranslatesAsTheCpuDoes) {
    const TrainingData data = copy_data(300);
    TrainingOptions options = short_training();
    options.updates = 40;
    nn::Transformer model(tiny_model(data), 3);
    TrainingLog log({}, true);
    Trainer(model, data, options, log).run();
    model.eval();
    const std::vector<std::string> lines = {"a b c", "e d", "b b a c", ""};
    for (const std::int64_t beam : {1, 3}) {
        DecodeOptions decode;
        decode.beam = beam;
        model.to(Device::cpu);
        const std::vector<std::string> cpu = translate_lines(model, data.vocabularies, lines, decode);
        model.to(Device::cuda);
        EXPECT_EQ(translate_lines(model, data.vocabularies, lines, decode), cpu) << "beam " << beam;
    }
}

}  // namespace
}  // namespace heddle::app
