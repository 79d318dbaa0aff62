// Training on the CUDA device, emulated or real, compared with training on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/translation/decoding/translate.h"
#include "apps/translation/training/update_times.h"
#include "tests/translation/training_device_support.h"

namespace heddle::app {
namespace {

using DeviceTraining = TrainingOnDevice;

// The mean loss of each of `updates` updates.
std::vector<double> losses(const nn::TransformerOptions& kind, const TrainingData& data, Device device, std::int64_t updates,
                           Tensor* weights = nullptr, std::int64_t shards = 1) {
    TrainingOptions options = short_training();
    options.shards = shards;
    nn::Transformer model(kind, 3);
    model.to(device);
    Learner learner(model, options, updates);
    const BatchPlan plan = plan_batches(data.training, {.batch_tokens = options.batch_tokens}, 1, 1);
    std::vector<double> result;
    for (std::int64_t i = 0; i < updates; ++i) {
        const PairBatch batch = make_batch(data.training, plan.batches[static_cast<std::size_t>(i)]);
        const UpdateReport report = learner.update({&batch, 1});
        EXPECT_EQ(report.read, device == Device::cpu);
        result.push_back((report.read ? report.loss : learner.read().loss) / static_cast<double>(report.targets));
    }
    if (weights) *weights = copy_on_cpu(learner.parameters().values);
    return result;
}

// Models that differ in the memory that layers read, key heads, ties, biases, embeddings and activation.
std::vector<nn::TransformerOptions> other_kinds(const TrainingData& data) {
    std::vector<nn::TransformerOptions> kinds(4, tiny_model(data, 0.1));
    kinds[0].encoder_layers = kinds[0].decoder_layers = 2;
    kinds[0].memory = nn::MemoryFrom::layer;
    kinds[0].tie = nn::Tie::embeddings;
    kinds[1] = kinds[0];
    kinds[1].norm = nn::NormPlace::post;
    kinds[1].key_heads = 1;
    kinds[1].attention_bias = false;
    kinds[1].tie = nn::Tie::all;
    kinds[2].scale_embeddings = false;
    kinds[2].tie = nn::Tie::none;
    kinds[2].output_bias = true;
    kinds[2].bias = false;
    kinds[2].positions = nn::Positions::learned;
    kinds[3].norm = nn::NormPlace::post;
    kinds[3].activation = ops::Activation::silu;
    kinds[3].positions = nn::Positions::marian;
    kinds[3].zero_start = true;
    return kinds;
}

// Returns those on the device.
std::vector<double> expect_losses_of_the_cpu(const nn::TransformerOptions& kind, const TrainingData& data, std::int64_t updates,
                                             Tensor* weights = nullptr, std::int64_t shards = 1) {
    const std::vector<double> cpu = losses(kind, data, Device::cpu, updates, nullptr, shards),
                              cuda = losses(kind, data, Device::cuda, updates, weights, shards);
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_LE(std::abs(cuda[i] - cpu[i]), 1e-4 * cpu[i]) << "update " << i + 1;
    return cuda;
}

TEST_F(DeviceTraining, GivesTheLossesOfTheCpu) {
    const TrainingData data = copy_data(400);
    const nn::TransformerOptions kind = tiny_model(data, 0.1);
    const std::vector<double> found = expect_losses_of_the_cpu(kind, data, 20);
    EXPECT_LT(found.back(), 0.8 * found.front());
    for (const nn::TransformerOptions& other : other_kinds(data)) expect_losses_of_the_cpu(other, data, 6);
    Tensor once, again;
    expect_losses_of_the_cpu(kind, data, 3, &once, 3);
    losses(kind, data, Device::cuda, 3, &again, 3);
    EXPECT_TRUE(same_bits(once, again)) << "of shards";
}

// In captured updates with batches sorted by token on the host, too.
TEST_F(DeviceTraining, AZeroStartStaysZero) {
    const TrainingData data = copy_data(200);
    for (const DType dtype : {DType::f32, DType::bf16})
        for (const bool graphs : {false, true}) {
            TrainingOptions options = short_training();
            options.cuda_graphs = graphs;
            options.label_smoothing = 0.1;
            options.optimizer = optim::Method::adamw;
            options.weight_decay = 0.1;
            nn::Transformer model(other_kinds(data)[3], 3);
            model.to(Device::cuda);
            Learner learner(model, options, 6, dtype);
            const BatchPlan plan = plan_batches(data.training, {.batch_tokens = options.batch_tokens}, 1, 1);
            for (std::size_t i = 0; i < 6; ++i) {
                const PairBatch batch = make_batch(data.training, plan.batches[i]);
                learner.update({&batch, 1});
            }
            const LossReading reading = learner.read();
            EXPECT_LT(reading.loss / static_cast<double>(reading.targets), 10);
            for (const auto& [name, tensor] : learner.parameters().named(learner.parameters().values)) {
                if (name == "output.bias") {
                    EXPECT_EQ(copy_on_cpu(tensor).to_vector()[nn::begin_mark_id], nn::forbidden_bias);
                }
                if (name != "embedding.weight") continue;
                const Tensor table = copy_on_cpu(tensor);
                for (const double x : table.slice(nn::begin_mark_id, nn::begin_mark_id + 1).to_vector()) EXPECT_EQ(x, 0);
                for (const double x : table.slice(4, 5).to_vector()) EXPECT_NE(x, 0);
            }
        }
}

TEST_F(DeviceTraining, UpdatesAreMadeWithoutTheHostWaitingAndHaveTheSameBits) {
    DeviceSetting setting;
    setting.options.clip = 0.5;
    setting.options.cuda_graphs = false;  // its capacity changes the order of sums; training_graphs_test covers it
    setting.options.label_smoothing = 0.1;
    nn::Transformer model(tiny_model(setting.data, 0.1), 3), same(tiny_model(setting.data, 0.1), 3);
    model.to(Device::cuda);
    same.to(Device::cuda);
    Learner learner(model, setting.options, 3), waiting(same, setting.options, 3);
    const device::Statistics before = device::statistics();
    std::int64_t targets = 0;
    for (std::int64_t update = 0; update < 3; ++update) {
        const UpdateReport report = learner.update(setting.batches(update));
        EXPECT_FALSE(report.read);
        EXPECT_TRUE(std::isnan(report.loss)) << "not known yet";
        targets += report.targets;
    }
    const device::Statistics after = device::statistics();
    EXPECT_EQ(after.synchronisations - before.synchronisations, 0);
    EXPECT_EQ(after.copies_to_host - before.copies_to_host, 0);
    EXPECT_GT(after.launches - before.launches, 100);

    const LossReading reading = learner.read();
    EXPECT_EQ(device::statistics().copies_to_host - after.copies_to_host, 1) << "a reading is one copy";
    LossReading waited;
    double loss = 0;
    for (std::int64_t update = 0; update < 3; ++update) {
        waiting.update(setting.batches(update));
        waited = waiting.read();
        EXPECT_EQ(waited.updates, 1);
        loss += waited.loss;
    }
    EXPECT_EQ(reading.updates, 3);
    EXPECT_EQ(reading.targets, targets);
    EXPECT_DOUBLE_EQ(reading.loss, loss);
    EXPECT_EQ(reading.gradient_norm, waited.gradient_norm);
    EXPECT_GT(reading.gradient_norm, setting.options.clip) << "it was clipped";
    EXPECT_TRUE(same_bits(copy_on_cpu(learner.parameters().values), copy_on_cpu(waiting.parameters().values)));
    EXPECT_EQ(learner.read().updates, 0) << "nothing is told twice";
}

// Makes one weight NaN before update `bad`, requests two more updates after it, and returns the message of the divergence.
std::string divergence_message(const DeviceSetting& setting, Device device, DType dtype, std::int64_t bad) {
    nn::Transformer model(tiny_model(setting.data, 0.1), 3);
    model.to(device);
    Learner learner(model, setting.options, 10, dtype);
    const nn::FlatParameters& flat = learner.parameters();
    const auto copies = [&] { return std::pair(copy_on_cpu(flat.values), copy_on_cpu(model.parameters()[0].variable.value())); };
    std::pair<Tensor, Tensor> spoiled;
    try {
        for (std::int64_t update = 0; update < bad + 2; ++update) {
            if (update + 1 == bad) {
                spoil(flat);
                spoiled = copies();
            }
            learner.update(setting.batches(update));
        }
        learner.read();
    } catch (const Divergence& divergence) {
        EXPECT_TRUE(same_bits(copies().first, spoiled.first)) << "the weights are those before the bad update";
        EXPECT_TRUE(same_bits(copies().second, spoiled.second));
        EXPECT_EQ(learner.updates(), bad - 1);
        EXPECT_EQ(learner.read().updates, device == Device::cpu ? 0 : bad - 1) << "the good ones count";
        return divergence.what();
    }
    return "no divergence";
}

TEST_F(DeviceTraining, ADivergenceIsFoundAtTheNextReadingWithItsUpdateAndOp) {
    const DeviceSetting setting;
    const std::string cpu = divergence_message(setting, Device::cpu, DType::f32, 3),
                      cuda = divergence_message(setting, Device::cuda, DType::f32, 3),
                      bf16 = divergence_message(setting, Device::cuda, DType::bf16, 3);
    for (const std::string& message : {cuda, bf16}) {
        EXPECT_THAT(message, testing::HasSubstr("training diverged in update 3: the loss is nan. anomaly: output 0"));
        EXPECT_THAT(message, testing::HasSubstr("in module encoder"));
    }
    EXPECT_EQ(cuda, cpu);
}

// Skipping waits for every update, so that later ones are based on the weights of the last good one.
TEST_F(DeviceTraining, SkippedUpdatesLeaveNoTrace) {
    DeviceSetting setting;
    setting.options.on_divergence = OnDivergence::skip;
    for (const DType dtype : {DType::f32, DType::bf16}) {
        nn::Transformer model(tiny_model(setting.data, 0.1), 3), same(tiny_model(setting.data, 0.1), 3);
        model.to(Device::cuda);
        same.to(Device::cuda);
        Learner learner(model, setting.options, 4, dtype), sound(same, setting.options, 4, dtype);
        const UpdateReport good = learner.update(setting.batches(0));
        EXPECT_TRUE(good.read);
        EXPECT_GT(good.loss, 0);
        const nn::FlatParameters& flat = learner.parameters();
        const Tensor before = flat.values.clone();
        spoil(flat);
        EXPECT_THROW(learner.update(setting.batches(1)), Divergence);
        EXPECT_EQ(learner.updates(), 1);
        Tensor(flat.values).copy_(before);
        flat.round_again();
        EXPECT_GT(learner.update(setting.batches(1)).loss, 0);
        EXPECT_EQ(learner.updates(), 2);
        for (const std::int64_t update : {0, 1}) sound.update(setting.batches(update));
        EXPECT_TRUE(same_bits(copy_on_cpu(flat.values), copy_on_cpu(sound.parameters().values)));
        EXPECT_TRUE(
            same_bits(copy_on_cpu(model.parameters()[0].variable.value()), copy_on_cpu(same.parameters()[0].variable.value())));
    }
}

// A line of kind "training" in a log.
struct Logged {
    std::int64_t update = 0;
    double loss = 0;
    double accuracy = 0;
};

std::vector<Logged> logged_in(const std::filesystem::path& file) {
    std::vector<Logged> result;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json object = nlohmann::json::parse(line);
        if (object["kind"] == "training") result.push_back({object["update"], object["loss"], object["accuracy"]});
    }
    return result;
}

// Log lines, validations, saves and ends of epochs at different updates: no loss is lost or counted twice.
TEST_F(DeviceTraining, LogLinesTellTheLossesAndTheAccuracyOfTheirUpdates) {
    const TrainingData data = copy_data(60, 10);
    TrainingOptions options = short_training();
    options.updates = 13;
    options.log_every = 4;
    options.valid_every = 3;
    options.save_every = 5;
    std::vector<Logged> logged[2];
    for (const Device device : {Device::cpu, Device::cuda}) {
        const TemporaryFolder folder;
        RunFolder run(folder / "run", false);
        nn::Transformer model(tiny_model(data, 0.1), 3);
        model.to(device);
        TrainingLog log(folder / "log.jsonl", true);
        Trainer trainer(model, data, options, log, &run);
        trainer.run();
        EXPECT_GT(trainer.state().interval.loss, 0) << "of the update behind the last line";
        logged[device == Device::cuda] = logged_in(folder / "log.jsonl");
        ASSERT_TRUE(trainer.since_last_line().has_value());
        EXPECT_EQ(trainer.since_last_line()->update, 13);
        logged[device == Device::cuda].push_back({13, trainer.since_last_line()->loss, trainer.since_last_line()->accuracy});
    }
    ASSERT_EQ(logged[0].size(), 4u);
    ASSERT_EQ(logged[1].size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(logged[1][i].update, logged[0][i].update);
        EXPECT_NEAR(logged[1][i].loss, logged[0][i].loss, 1e-3 * logged[0][i].loss);
        EXPECT_EQ(logged[1][i].accuracy, logged[0][i].accuracy) << "update " << logged[0][i].update;
        EXPECT_GT(logged[0][i].accuracy, 0);
    }
}

// Measures an update for the report, after a training with captured updates.
TEST_F(DeviceTraining, AnUpdateIsMeasuredAndNoWeightChanges) {
    const TrainingData data = copy_data(60);
    TrainingOptions options = short_training();
    options.updates = 6;
    for (const DType dtype : {DType::f32, DType::bf16}) {
        nn::Transformer model(tiny_model(data, 0.1), 3);
        model.to(Device::cuda);
        TrainingLog log({}, true);
        Trainer trainer(model, data, options, log, nullptr, {}, dtype);
        trainer.run();
        const Tensor before = copy_on_cpu(trainer.learner().parameters().values);
        const UpdateTimes times = measure_update(model, trainer);
        EXPECT_TRUE(same_bits(copy_on_cpu(trainer.learner().parameters().values), before));
        EXPECT_TRUE(times.on_device);
        EXPECT_GE(times.batches, 1);
        for (const TimedWork& work : times.works) EXPECT_GT(work.seconds, 0) << work.name;
        EXPECT_GE(times.unexplained(), 0);
    }
}

void expect_translations_of_the_cpu(const nn::TransformerOptions& kind, const TrainingData& data) {
    TrainingOptions options = short_training();
    options.updates = 40;
    nn::Transformer model(kind, 3);
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

TEST_F(DeviceTraining, TranslatesAsTheCpuDoes) {
    const TrainingData data = copy_data(300);
    expect_translations_of_the_cpu(tiny_model(data), data);
    for (const nn::TransformerOptions& kind : other_kinds(data)) expect_translations_of_the_cpu(kind, data);
}

}  // namespace
}  // namespace heddle::app
