// Beam search on the device, emulated or real, compared with the CPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/device.h"
#include "nn/search/search.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

class DeviceBeamSearch : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

void expect_the_cpus(Transformer& model, const std::vector<Tokens>& sources, const DecodeOptions& options) {
    const std::string what =
        fmt::format("beam {}, the {} best, {} tokens of prefix", options.beam, options.n_best, options.prefix.size());
    model.to(Device::cpu);
    const HypothesisLists cpu = beam_search(model, sources, options);
    model.to(Device::cuda);
    const HypothesisLists cuda = beam_search(model, sources, options);
    ASSERT_EQ(cuda.size(), cpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        ASSERT_EQ(cuda[i].size(), cpu[i].size()) << what << ", source " << i;
        for (std::size_t n = 0; n < cpu[i].size(); ++n) {
            EXPECT_EQ(cuda[i][n].tokens, cpu[i][n].tokens) << what << ", source " << i << ", place " << n;
            EXPECT_EQ(cuda[i][n].ended, cpu[i][n].ended) << what;
            EXPECT_NEAR(cuda[i][n].log_probability, cpu[i][n].log_probability, 1e-4) << what;
            EXPECT_NEAR(cuda[i][n].score, cpu[i][n].score, 1e-4) << what;
        }
    }
}

// Sources of many lengths: sentences finish at different steps, and some are truncated.
TEST_F(DeviceBeamSearch, FindsTheHypothesesOfTheCpu) {
    const Model model = random_model(30, 4, 0.6);
    std::vector<Tokens> sources;
    for (const std::int64_t length : {1, 4, 2}) sources.push_back(source_of(length, 30, static_cast<std::uint64_t>(length)));
    expect_the_cpus(*model, sources, {.beam = 1});
    expect_the_cpus(*model, sources, {.beam = 5, .length_penalty = 0.6});
    expect_the_cpus(*model, sources, {.beam = 5, .length_penalty = 0.6, .patience = 0});
    expect_the_cpus(*model, sources, {.beam = 3, .n_best = 3, .prefix = {4, 9}});
    expect_the_cpus(*model, sources, {.beam = 1, .forbidden = {1, 9, 17}});
    expect_the_cpus(*model, sources, {.beam = 5, .n_best = 2, .prefix = {4, 9}, .forbidden = {1, 4}, .max_length = 3});
    const Model narrow = random_model(5, 2, 0.7, 5);  // fewer tokens than twice the beam
    expect_the_cpus(*narrow, {source_of(3, 5, 2), source_of(2, 5, 3)}, {.beam = 60, .n_best = 20});
}

// Positions in attention grow on the device, too: 16 tokens more are replayed, and no graph is captured for them.
TEST_F(DeviceBeamSearch, PositionsInAttentionGrowThere) {
    const std::vector<Tokens> sources{source_of(3, 30, 1), source_of(9, 30, 2)};
    for (const Positions positions : {Positions::learned, Positions::rotary, Positions::alibi}) {
        TransformerOptions options = tiny_options();
        options.source_vocabulary = options.target_vocabulary = 30;
        options.positions = positions;
        options.position_table = 64;
        Transformer model(options, 4);
        disturb(model, 6, 0.6);
        named_tensor(model, "output.bias").mutable_data<float>()[end_mark] = -1e4F;
        model.eval();
        const DecodeOptions search{.beam = 3, .max_length = 50};
        expect_the_cpus(model, sources, search);
        const std::int64_t before = device::statistics().launches;
        beam_search(model, sources, search);
        const std::int64_t first = device::statistics().launches - before;
        beam_search(model, sources, {.beam = 3, .max_length = 34});
        EXPECT_EQ(device::statistics().launches - before - first, first) << "16 tokens more are two replays more";
    }
}

// As imported models forbid the tokens that Heddle added to their vocabularies.
TEST_F(DeviceBeamSearch, NeverWritesATokenThatItsOutputBiasForbids) {
    const Model model = random_model(30, 4, 0.6);
    const std::vector<Tokens> sources{source_of(1, 30, 1), source_of(4, 30, 4)};
    const Tokens usual = beam_search(*model, sources, {.beam = 4}).front().front().tokens;
    ASSERT_FALSE(usual.empty());
    Tensor bias = named_tensor(*model, "output.bias");
    bias.mutable_data<float>()[usual.front()] = static_cast<float>(forbidden_bias);
    const DecodeOptions options{.beam = 4, .length_penalty = 0.6, .n_best = 3};
    expect_the_cpus(*model, sources, options);
    for (const DType dtype : {DType::f32, DType::bf16}) {
        model->to(dtype);
        for (const std::vector<Hypothesis>& found : beam_search(*model, sources, options))
            for (const Hypothesis& one : found) {
                EXPECT_EQ(std::find(one.tokens.begin(), one.tokens.end(), usual.front()), one.tokens.end()) << name(dtype);
                EXPECT_GT(one.log_probability, -1000) << name(dtype);
            }
    }
}

TEST_F(DeviceBeamSearch, AnEnsembleIsMixedThere) {
    const Model one = random_model(11, 1, 0.7), two = random_model(11, 2, 0.7);
    const Ensemble both({one.get(), two.get()});
    const std::vector<Tokens> sources{source_of(3, 11, 1), source_of(5, 11, 2)};
    const HypothesisLists cpu = beam_search(both, sources, {.beam = 3, .n_best = 2, .prefix = {5}});
    one->to(Device::cuda);
    two->to(Device::cuda);
    const std::int64_t before = device::statistics().synchronisations;
    const HypothesisLists cuda = beam_search(both, sources, {.beam = 3, .n_best = 2, .prefix = {5}});
    EXPECT_LE(device::statistics().synchronisations - before, 25 / 8 + 5) << "at most 25 tokens; the prefix is read once more";
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t n = 0; n < 2; ++n) EXPECT_EQ(cuda[i][n].tokens, cpu[i][n].tokens);
}

TEST_F(DeviceBeamSearch, TheHostWaitsForNoToken) {
    const Model model = random_model(9, 1);
    Tensor bias = named_tensor(*model, "output.bias");
    bias.mutable_data<float>()[end_mark] = -1e4f;  // never ends by itself
    model->to(Device::cuda);
    const auto waits = [&](std::int64_t source_tokens, std::int64_t& tokens) {
        const std::vector<Tokens> sources{source_of(source_tokens, 9, 1), source_of(1, 9, 2)};
        const std::int64_t before = device::statistics().synchronisations;
        const HypothesisLists given = beam_search(*model, sources, {.beam = 2});
        tokens = static_cast<std::int64_t>(given.front().front().tokens.size());
        return device::statistics().synchronisations - before;
    };
    std::int64_t few = 0, many = 0;
    const std::int64_t first = waits(2, few), second = waits(18, many);
    ASSERT_EQ(few, 16);
    ASSERT_EQ(many, 64);
    EXPECT_EQ(second, first);
    EXPECT_LE(first, 4) << "the trees are read in four copies";
}

}  // namespace
}  // namespace heddle::nn
