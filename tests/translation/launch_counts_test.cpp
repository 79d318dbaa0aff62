// How many kernels, fills, copies and products a training step and a decoding step queue on the emulated device. Each costs a
// GPU a few microseconds even if it does little, and small models consist of little ones. The counts are exact, so that a change
// that adds launches is noticed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>

#include "kernels/emulator/run/run.h"
#include "nn/search/search.h"
#include "tests/nn/decoding_support.h"
#include "tests/translation/training_device_support.h"

namespace heddle::app {
namespace {

using LaunchCounts = TrainingOnDevice;
using Work = std::map<std::string, std::int64_t>;

Work work_so_far() {
    device::synchronize();
    Work work = emulator::work_done();
    work.erase("cudaMallocAsync");  // a GPU's memory is reused from step to step
    return work;
}

Work operator-(Work after, const Work& before) {
    for (const auto& [name, count] : before) after[name] -= count;
    std::erase_if(after, [](const auto& entry) { return entry.second == 0; });
    return after;
}

std::int64_t total(const Work& work) {
    std::int64_t sum = 0;
    for (const auto& [name, count] : work) sum += count;
    return sum;
}

void print(const char* what, const Work& work) {
    std::cout << what << ": " << total(work) << "\n";
    for (const auto& [name, count] : work) std::cout << "    " << count << " " << name << "\n";
}

// ---- training

struct Step {
    Work work;
    std::int64_t graphs = 0;
};

// A replayed bf16 update of one batch with all of its work: the batch's copy to the device, zeroing, norm and Adam.
Step replayed_update(std::int64_t layers) {
    const TrainingData data = copy_data(100);
    nn::TransformerOptions options = tiny_model(data, 0.1);
    options.encoder_layers = options.decoder_layers = layers;
    nn::Transformer model(options, 3);
    model.to(Device::cuda);
    TrainingOptions training = short_training();
    training.label_smoothing = 0.1;
    Learner learner(model, training, 4, DType::bf16);
    const BatchPlan plan = plan_batches(data.training, {.batch_tokens = 64}, 1, 1);
    const std::vector<PairBatch> batches = {make_batch(data.training, plan.batches.front())};
    for (int update = 0; update < 2; ++update) learner.update(batches);  // as it comes, then captured
    const Work before = work_so_far();
    const std::int64_t graphs = device::statistics().graphs;
    learner.update(batches);
    const Step step{work_so_far() - before, device::statistics().graphs - graphs};
    EXPECT_EQ(learner.graph_counts().replayed, 1);
    EXPECT_EQ(learner.read().updates, 3);
    return step;
}

TEST_F(LaunchCounts, OfATrainingStep) {
    const Step three = replayed_update(3), six = replayed_update(6);
    print("training step of 3 + 3 layers in bf16", three.work);
    print("training step of 6 + 6 layers in bf16", six.work);
    EXPECT_EQ(three.graphs, 2) << "the batch and the optimizer";
    EXPECT_LE(total(three.work), 193);
    EXPECT_LE(total(six.work), 357);
}

// ---- decoding

struct Search {
    Work work;
    std::int64_t graphs = 0;
};

// A beam search of `steps` token steps, in which no hypothesis ends earlier.
Search search(std::int64_t steps) {
    nn::TransformerOptions options = nn::tiny_options();
    options.source_vocabulary = options.target_vocabulary = 40;
    options.encoder_layers = options.decoder_layers = 3;
    options.d_model = 64;
    options.d_ff = 128;
    options.positions = nn::Positions::learned;
    options.position_table = steps;
    nn::Transformer model(options, 3);
    for (const nn::Parameter& parameter : model.parameters())
        if (parameter.name == "output.bias") {
            Tensor bias = parameter.variable.value();
            bias.mutable_data<float>()[eos_id] = -1e4F;
        }
    model.eval();
    model.to(Device::cuda);
    model.to(DType::bf16);
    const std::vector<nn::Tokens> sources = {nn::source_of(20, 40, 1), nn::source_of(17, 40, 2), nn::source_of(20, 40, 3)};
    const Work before = work_so_far();
    const std::int64_t graphs = device::statistics().graphs;
    const nn::HypothesisLists found = nn::beam_search(model, sources, {.beam = 4});
    Search search{work_so_far() - before, device::statistics().graphs - graphs};
    for (const auto& hypotheses : found) EXPECT_EQ(static_cast<std::int64_t>(hypotheses.front().tokens.size()), steps);
    return search;
}

TEST_F(LaunchCounts, OfATokenStep) {
    const Search shorter = search(26), longer = search(42);
    const Work sixteen = longer.work - shorter.work;
    EXPECT_EQ(longer.graphs - shorter.graphs, 2) << "one launch for eight token steps";
    print("16 token steps of a decoder of 3 layers in bf16, and 2 looks at what has ended", sixteen);
    EXPECT_LE(total(sixteen), 469);
}

}  // namespace
}  // namespace heddle::app
