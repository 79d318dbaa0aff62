// How many kernels, fills, copies and products a training step and a decoding step queue on the emulated device. Each costs a
// GPU a few microseconds even if it does little, and small models consist of little ones. The counts are exact, so that a change
// that adds launches is noticed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "kernels/emulator/run/run.h"
#include "kernels/top_k/top_k.h"
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

// Of an encoder layer: queries, keys and values in one product, attention, its output's product, residual and norm, the network,
// residual and norm. Back: those two norms, the network and its weights' two products, two products for each of the two others,
// and attention.
constexpr std::int64_t kEncoderLayer = 6 + 10;
// A decoder layer has beside them: the query's product, attention over the memory, its output's product, residual and norm. Back:
// two products for each of the two, attention, and the norm.
constexpr std::int64_t kDecoderLayer = kEncoderLayer + 4 + 6;
// Once, however many layers there are.
constexpr std::int64_t kOnce = 1 + 1 + 1 +
                               1  // keys and values of the memory for all layers, their two products back, zeros for them
                               + 2 * (1 + 1)  // the first norm of either stack, and back
                               + 2 * (1 + 1)  // either embedding, and back
                               + 1 + 3 + 2    // logits, loss, their two products back
                               + 1 + 2        // the loss's gradient, and its factor for x and the weight
                               + 2 + 1  // copies to the device: the batch and the optimizer's numbers; zeros for the gradients
                               + 2 + 2 + 1;  // the gradient's norm, tallies of losses and updates, Adam

TEST_F(LaunchCounts, OfATrainingStep) {
    const Step three = replayed_update(3), six = replayed_update(6);
    print("training step of 3 + 3 layers in bf16", three.work);
    print("training step of 6 + 6 layers in bf16", six.work);
    EXPECT_EQ(three.graphs, 2) << "the batch and the optimizer";
    // The last term: sums of the biases' gradients, 16 in a launch.
    EXPECT_EQ(total(three.work), 3 * (kEncoderLayer + kDecoderLayer) + kOnce + 2);
    EXPECT_EQ(total(six.work), 6 * (kEncoderLayer + kDecoderLayer) + kOnce + 4);
    EXPECT_LE(total(three.work), 160);
    EXPECT_LE(total(six.work), 285);
}

// ---- decoding

struct Search {
    Work work;
    std::int64_t graphs = 0, launches = 0, synchronisations = 0;
};

// A model of 3 + 3 layers for decoding in bf16.
std::unique_ptr<nn::Transformer> decoding_model(std::int64_t d_model, std::int64_t positions) {
    nn::TransformerOptions options = nn::tiny_options();
    options.source_vocabulary = options.target_vocabulary = 40;
    options.encoder_layers = options.decoder_layers = 3;
    options.d_model = d_model;
    options.d_ff = 2 * d_model;
    options.positions = nn::Positions::learned;
    options.position_table = positions;
    auto model = std::make_unique<nn::Transformer>(options, 3);
    for (const nn::Parameter& parameter : model->parameters())
        if (parameter.name == "output.bias") {
            Tensor bias = parameter.variable.value();
            bias.mutable_data<float>()[eos_id] = -1e4F;
        }
    model->eval();
    model->to(Device::cuda);
    model->to(DType::bf16);
    return model;
}

// A beam search of `steps` token steps, in which no hypothesis ends earlier.
Search search(std::int64_t steps) {
    const std::unique_ptr<nn::Transformer> model = decoding_model(64, steps);
    const std::vector<nn::Tokens> sources = {nn::source_of(20, 40, 1), nn::source_of(17, 40, 2), nn::source_of(20, 40, 3)};
    const Work before = work_so_far();
    const device::Statistics first = device::statistics();
    const nn::HypothesisLists found = nn::beam_search(*model, sources, {.beam = 4});
    const device::Statistics last = device::statistics();
    const Search search{.work = work_so_far() - before,
                        .graphs = last.graphs - first.graphs,
                        .launches = last.launches - first.launches,
                        .synchronisations = last.synchronisations - first.synchronisations};
    for (const auto& hypotheses : found) EXPECT_EQ(static_cast<std::int64_t>(hypotheses.front().tokens.size()), steps);
    return search;
}

TEST_F(LaunchCounts, OfATokenStep) {
    const Search shorter = search(26), longer = search(42);
    const Work sixteen = longer.work - shorter.work;
    EXPECT_EQ(longer.graphs - shorter.graphs, 2) << "one launch for eight token steps";
    EXPECT_EQ(longer.synchronisations, shorter.synchronisations) << "the host waits for nothing between them";
    EXPECT_EQ(longer.launches, shorter.launches) << "a graph is captured once and replayed";
    print("16 token steps of a decoder of 3 layers in bf16, and 2 looks at what has ended", sixteen);
    EXPECT_EQ(total(sixteen), 16 * 29 + 2 * 2) << "the number of replays, and the copy of what is open";
}

// As `heddle translate` has them by default: some hundred sentences with a beam of 5.
TEST_F(LaunchCounts, OfATokenStepOfManyRows) {
    const std::unique_ptr<nn::Transformer> model = decoding_model(128, 32);
    for (const std::int64_t rows : {12, 400}) {
        std::vector<nn::Tokens> sources;
        for (std::int64_t i = 0; i < rows / 4; ++i) sources.push_back(nn::source_of(3, 40, static_cast<std::uint64_t>(i)));
        const nn::Ensemble models(*model);
        nn::Decoding decoding(models, sources, bos_id, rows, 16);
        decoding.start({});
        std::vector<std::int32_t> parents, first, sentences;
        for (std::int32_t i = 0; i < rows; ++i) {
            parents.push_back(i);
            first.push_back(i / 4);
            sentences.push_back(i / 4);
        }
        const auto on_device = [&](const std::vector<std::int32_t>& numbers) {
            return Tensor::from(numbers, {rows}).to(Device::cuda);
        };
        const Tensor tokens = on_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 7));
        decoding.step(on_device(first), tokens, sentences);  // uploads the tables of these rows
        const Tensor same = on_device(parents);
        const Work before = work_so_far();
        const Tensor logits = decoding.step(same, tokens, sentences);
        kernels::top_k_log_softmax(logits, 8);
        const Work work = work_so_far() - before;
        print("a token step", work);
        EXPECT_EQ(total(work) + 1, 29) << "and beam_step, for " << rows << " rows";
    }
}

}  // namespace
}  // namespace heddle::app
