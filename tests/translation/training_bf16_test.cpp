// Training in bf16 on the CUDA device, emulated or real: f32 weights and gradients of a model that computes in bf16.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "autograd/tape.h"
#include "tests/translation/training_device_support.h"

namespace heddle::app {
namespace {

using HalfTraining = TrainingOnDevice;

struct Setting : DeviceSetting {
    double dropout = 0.1;
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
    double update(const std::vector<PairBatch>& batches) {
        const UpdateReport report = learner->update(batches);
        return (report.read ? report.loss : learner->read().loss) / static_cast<double>(report.targets);
    }
};

Variable loss_of(const nn::Transformer& model, const PairBatch& batch, Tensor* statistics = nullptr) {
    const Shape targets{batch.target_tokens};
    return model.loss({Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans},
                      {Tensor::from(batch.target_in, targets), batch.target_spans}, Tensor::from(batch.target_out, targets),
                      {.ignore = -1, .divisor = static_cast<double>(batch.target_tokens)}, statistics);
}

// ---- compared with training on the CPU

// x rounded to bf16, up or down by chance, so that the mean is x.
float rounded_by_chance(float x, Sequence& chance) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + static_cast<std::uint32_t>(chance.below(1 << 16))) & 0xffff0000u;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// The mean losses of f32 training on the CPU. With a `seed`, the weights are rounded by chance.
std::vector<double> cpu_losses(const Setting& setting, std::int64_t updates, std::uint64_t seed = 0) {
    nn::Transformer model(tiny_model(setting.data, setting.dropout), 3);
    nn::FlatParameters parameters = nn::flatten(model);
    const Tensor masters = parameters.values.clone();
    optim::Optimizer optimizer(masters, parameters.gradients, optimizer_options(setting.options));
    generator().seed = setting.options.seed;
    Sequence chance(seed);
    std::vector<double> losses;
    for (std::int64_t update = 0; update < updates; ++update) {
        for (std::int64_t i = 0; i < masters.numel(); ++i) {
            const float weight = masters.data<float>()[i];
            parameters.values.mutable_data<float>()[i] = seed == 0 ? weight : rounded_by_chance(weight, chance);
        }
        parameters.values.bump_version();
        optimizer.zero_gradients();
        generator().start(static_cast<std::uint64_t>(update), 0);
        const Variable loss = loss_of(model, setting.batch(update));
        losses.push_back(loss.value().item());
        backward(loss);
        optimizer.step({.lr = *setting.options.lr, .clip = setting.options.clip});
    }
    return losses;
}

// How far may a bf16 loss be from the f32 one? bf16 disturbs each weight, and each value that is written, by rounding. The mean
// square of rounding to nearest is 1/12 of the square of a unit in the last place. Rounding by chance gives 1/6 (the mean of t
// (1 - t)): as much as rounding a weight and the product it goes into together, and nearly everything that the model writes is
// such a product, or follows from one by an addition or a norm. So f32 trainings on the CPU with weights rounded by chance
// deviate from the f32 losses as a plain bf16 training does. The largest deviation of several of them up to an update estimates
// that error, and twice of it is allowed, as for every op (tests/devices.h).
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

// ---- weights, gradients and the bf16 copy

// The f32 weights have more digits than bf16, and the model computes with them rounded.
void expect_rounded_masters(const Training& training) {
    const nn::FlatParameters& flat = training.parameters();
    ASSERT_EQ(flat.values.dtype(), DType::f32);
    ASSERT_EQ(flat.gradients.dtype(), DType::f32);
    const Tensor masters = copy_on_cpu(flat.values), copy = copy_on_cpu(flat.bf16_copy);
    EXPECT_TRUE(same_bits(copy, masters.to(DType::bf16)));
    EXPECT_FALSE(same_bits(copy.to(DType::f32), masters));
    EXPECT_EQ(training.model.dtype(), DType::bf16);
    for (const nn::Parameter& parameter : training.model.parameters()) {
        EXPECT_TRUE(parameter.variable.value().shares_storage(flat.bf16_copy)) << parameter.name;
        EXPECT_TRUE(parameter.variable.grad().shares_storage(flat.gradients)) << parameter.name;
    }
}

TEST_F(HalfTraining, TheModelComputesWithTheRoundedWeightsAfterEveryUpdate) {
    for (const optim::Method optimizer : {optim::Method::adam, optim::Method::sgd}) {
        Setting setting;
        setting.options.optimizer = optimizer;
        Training training(setting);
        expect_rounded_masters(training);
        for (std::int64_t update = 0; update < 3; ++update) {
            const Tensor before = copy_on_cpu(training.parameters().values);
            training.update({setting.batch(update)});
            EXPECT_FALSE(same_bits(copy_on_cpu(training.parameters().values), before));
            expect_rounded_masters(training);
        }
    }
}

TEST_F(HalfTraining, FrozenParametersStayAsTheyAre) {
    const Setting setting;
    Training training(setting, {"encoder"});
    const nn::FlatParameters& flat = training.parameters();
    const Tensor values = copy_on_cpu(flat.values), copy = copy_on_cpu(flat.bf16_copy);
    for (std::int64_t update = 0; update < 2; ++update) training.update({setting.batch(update)});
    expect_rounded_masters(training);
    const Tensor values_now = copy_on_cpu(flat.values), copy_now = copy_on_cpu(flat.bf16_copy);
    for (const nn::FlatParameters::Entry& entry : flat.entries) {
        const bool frozen = entry.parameter.name.starts_with("encoder.");
        const auto part = [&](const Tensor& whole) { return whole.slice(entry.begin, entry.begin + entry.count); };
        EXPECT_EQ(same_bits(part(values), part(values_now)), frozen) << entry.parameter.name;
        if (frozen) {
            EXPECT_TRUE(same_bits(part(copy), part(copy_now))) << entry.parameter.name;
        }
    }
}

// ---- gradients

// The gradients of one batch by name, in f32 on the CPU: of a bf16 model on the device, and of an f32 model on the CPU with the
// same, rounded weights.
struct BothGradients {
    nn::NamedTensors bf16, f32;
};

BothGradients gradients_of(const Setting& setting, nn::Tie tie) {
    BothGradients result;
    const PairBatch batch = setting.batch(0);
    Training training(setting, {}, tie);
    const nn::FlatParameters& flat = training.parameters();
    backward(loss_of(training.model, batch));
    result.bf16 = flat.named(copy_on_cpu(flat.gradients));
    nn::Transformer model(Training::options(setting, tie), 3);
    const nn::FlatParameters own = nn::flatten(model);
    const nn::NamedTensors from = flat.named(copy_on_cpu(flat.bf16_copy).to(DType::f32)), to = own.named(own.values);
    for (std::size_t i = 0; i < to.size(); ++i) {
        EXPECT_EQ(to[i].first, from[i].first);
        Tensor weight = to[i].second;
        weight.copy_(from[i].second);
    }
    backward(loss_of(model, batch));
    result.f32 = own.named(own.gradients);
    return result;
}

// |a - b| / |b| over all tensors whose names begin with `prefix`.
double distance(const nn::NamedTensors& a, const nn::NamedTensors& b, const std::string& prefix) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i].first.starts_with(prefix)) continue;
        for (std::int64_t j = 0; j < a[i].second.numel(); ++j) {
            const double x = a[i].second.data<float>()[j], y = b[i].second.data<float>()[j];
            error += (x - y) * (x - y);
            size += y * y;
        }
    }
    return std::sqrt(error / size);
}

// Fewer than 15 tensors are written between a weight and the loss, forward and backward together fewer than 30, and each is
// rounded by at most 2^-8 of its value. (Roundings go up and down, so the actual distance is closer to the square root of 30 of
// them.)
TEST_F(HalfTraining, GradientsAreThoseOfTheRoundedWeights) {
    Setting setting;
    setting.dropout = 0;
    for (const nn::Tie tie : {nn::Tie::all, nn::Tie::none}) {
        const BothGradients gradients = gradients_of(setting, tie);
        EXPECT_LE(distance(gradients.bf16, gradients.f32, ""), 30 * std::exp2(-8));
        // One tensor is the table of both embeddings and the output matrix: all three add to its gradient.
        if (tie == nn::Tie::all) {
            EXPECT_LE(distance(gradients.bf16, gradients.f32, "embedding.weight"), 30 * std::exp2(-8));
        }
    }
}

// Small batches are summed in f32; bf16 would be off by 2^-9. An update with both has the mean over all their tokens.
TEST_F(HalfTraining, GradientsOfSmallBatchesAddUpInF32) {
    Setting setting;
    setting.dropout = 0;
    Training training(setting);
    const std::vector<PairBatch> batches = {setting.batch(0), setting.batch(1)};
    Tensor gradients = training.parameters().gradients;
    const auto together = [&](std::span<const PairBatch> some) {
        gradients.fill_(0);
        for (const PairBatch& batch : some) backward(loss_of(training.model, batch));
        return copy_on_cpu(gradients);
    };
    const Tensor first = together({&batches[0], 1}), second = together({&batches[1], 1});
    Tensor sum = first.clone(), mean = first.clone();
    const double targets[] = {static_cast<double>(batches[0].target_tokens), static_cast<double>(batches[1].target_tokens)};
    for (std::int64_t i = 0; i < sum.numel(); ++i) {
        const double a = first.data<float>()[i], b = second.data<float>()[i];
        sum.mutable_data<float>()[i] = static_cast<float>(a + b);
        mean.mutable_data<float>()[i] = static_cast<float>((targets[0] * a + targets[1] * b) / (targets[0] + targets[1]));
    }
    EXPECT_LE(relative_error(together(batches), sum), 1e-6);
    training.update(batches);
    EXPECT_LE(distance({{"", copy_on_cpu(gradients)}}, {{"", mean}}, ""), 30 * std::exp2(-8));
}

// ---- saves

// Trains in legs, each of which resumes from the previous one's save; returns the final weights.
struct Leg {
    Device device;
    DType dtype;
    std::int64_t until;
};

Tensor train(const Setting& setting, const std::vector<Leg>& legs) {
    const TrainingData data = copy_data(200, 20);
    const TemporaryFolder folder;
    RunFolder run(folder / "run", false);
    TrainingOptions options = setting.options;
    options.average = 2;
    options.valid_every = 2;
    Tensor weights;
    for (const Leg& leg : legs) {
        options.updates = leg.until;
        nn::Transformer model(tiny_model(data, 0.1), 3);
        model.to(leg.device);
        TrainingLog log({}, true);
        Trainer trainer(model, data, options, log, &run, {}, leg.dtype);
        const nn::FlatParameters& flat = trainer.learner().parameters();
        if (weights.defined()) {
            trainer.resume(latest_save(run.path()));
            if (flat.bf16_copy.defined()) {
                EXPECT_TRUE(same_bits(copy_on_cpu(flat.bf16_copy), copy_on_cpu(flat.values).to(DType::bf16)));
            }
        }
        const TrainingResult result = trainer.run();
        EXPECT_TRUE(result.result && std::isfinite(result.result->loss));
        const SafetensorsFile saved(latest_save(run.path()) / "model.safetensors");
        for (const std::string& name : saved.names()) EXPECT_EQ(saved.dtype(name), "F32") << name;
        if (flat.bf16_copy.defined()) {  // now of the averaged weights
            EXPECT_TRUE(same_bits(copy_on_cpu(flat.bf16_copy), copy_on_cpu(flat.values).to(DType::bf16)));
        }
        weights = copy_on_cpu(flat.values);
    }
    return weights;
}

TEST_F(HalfTraining, ARunThatWasSavedGoesOnWithTheSameBits) {
    const Setting setting;
    const Leg whole{Device::cuda, DType::bf16, 6}, first{Device::cuda, DType::bf16, 3};
    EXPECT_TRUE(same_bits(train(setting, {whole}), train(setting, {first, whole})));
}

TEST_F(HalfTraining, ARunGoesOnInTheOtherDtypeAndOnTheOtherDevice) {
    const Setting setting;
    const Tensor f32 = train(setting, {{Device::cpu, DType::f32, 6}});
    const Tensor mixed =
        train(setting, {{Device::cuda, DType::bf16, 2}, {Device::cpu, DType::f32, 4}, {Device::cuda, DType::bf16, 6}});
    // The arrays have gaps of different lengths, which are zero: only differences of used elements count.
    std::vector<double> weights[2] = {f32.to_vector(), mixed.to_vector()};
    for (std::vector<double>& each : weights) std::erase(each, 0.0);
    ASSERT_EQ(weights[0].size(), weights[1].size());
    double largest = 0;
    for (std::size_t i = 0; i < weights[0].size(); ++i) largest = std::max(largest, std::abs(weights[0][i] - weights[1][i]));
    // Adam makes a whole step of a tiny gradient's sign, so each of the six updates may move a weight the other way.
    EXPECT_LE(largest, 2 * 6 * *setting.options.lr);
}

// ---- errors

TEST(Flatten, KnowsWhichDtypesGoTogether) {
    const TrainingData data = copy_data(20);
    nn::Transformer model(tiny_model(data), 3);
    expect_error([&] { nn::flatten(model, DType::f64); }, "flatten: the parameters are f32 and the model is to compute in f64");
    model.to(DType::f64);
    expect_error([&] { nn::flatten(model, DType::bf16); }, "flatten: the parameters are f64 and the model is to compute in bf16");
    model.to(DType::bf16);
    expect_error([&] { nn::flatten(model); }, "flatten: the parameters are bf16 and the model is to compute in bf16");
    expect_error([&] { model.to(DType::i32); }, "module: parameters are f32, f64, bf16 or dual, not i32");
}

}  // namespace
}  // namespace heddle::app
