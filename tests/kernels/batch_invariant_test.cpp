// What a sentence's results owe to its batch on the CUDA device: nothing, to the bit, when that was asked for.
#include "kernels/matmul/batch_invariant.h"

#include <gtest/gtest.h>

#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "autograd/tape.h"
#include "core/device.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"
#include "tests/nn/nn_support.h"

namespace heddle::app {
namespace {

using nn::Tokens;

class BatchInvariance : public testing::TestWithParam<DType> {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
        kernels::set_batch_invariant(true);
    }
    void TearDown() override { kernels::set_batch_invariant(false); }
};

constexpr std::int64_t kVocabulary = 50;

// A row of its values is 72 bytes in bf16: where a part of a batch begins, vectors of 16 bytes may or may not do. The outer
// product of its feed-forward network has sums long enough to be split.
std::unique_ptr<nn::Transformer> model_of(DType dtype) {
    nn::TransformerOptions options;
    options.source_vocabulary = options.target_vocabulary = kVocabulary;
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 36;
    options.heads = 2;
    options.d_ff = 288;
    options.tie = nn::Tie::none;
    auto model = std::make_unique<nn::Transformer>(options, 3);
    nn::disturb(*model);
    model->to(Device::cuda);
    model->to(dtype);
    model->eval();
    return model;
}

Tokens with(Tokens tokens, std::int32_t first, std::int32_t last) {
    if (first >= 0) tokens.insert(tokens.begin(), first);
    if (last >= 0) tokens.push_back(last);
    return tokens;
}

// 40 pairs of 1 to 13 tokens each side; the last one is longer than what attention takes for short.
std::vector<TokenPair> pairs() {
    std::vector<TokenPair> all;
    for (std::int64_t i = 0; i < 40; ++i)
        all.push_back({nn::random_tokens(i == 39 ? 70 : 1 + i * 5 % 13, kVocabulary, 7 + static_cast<std::uint64_t>(i)),
                       nn::random_tokens(i == 39 ? 67 : 1 + i * 3 % 11, kVocabulary, 70 + static_cast<std::uint64_t>(i))});
    return all;
}

// The logits of each pair's target rows, computed with these pairs as one batch. The hidden rows go to the output layer in two
// parts, as a large vocabulary makes it, and the second one begins at an odd row.
std::vector<Tensor> logits_of(const nn::Transformer& model, std::span<const TokenPair> batch) {
    const NoGrad no_grad;
    std::vector<Tokens> sources, targets;
    for (const TokenPair& pair : batch) {
        sources.push_back(with(pair.source, -1, eos_id));
        targets.push_back(with(pair.target, bos_id, -1));
    }
    const nn::Sentences source = nn::packed(sources), target = nn::packed(targets);
    const Variable memory = model.encode(source.tokens, source.spans);
    const Tensor hidden = model.decode(target.tokens, target.spans, memory, source.spans).value();
    const std::int64_t rows = hidden.rows(), middle = rows / 2 | 1;
    const Tensor whole = Tensor::empty({rows, kVocabulary}, DType::f32);
    Tensor first = whole.slice(0, middle), second = whole.slice(middle, rows);
    first.copy_(model.logits(hidden.slice(0, middle)).to(Device::cpu));
    second.copy_(model.logits(hidden.slice(middle, rows)).to(Device::cpu));
    std::vector<Tensor> all;
    for (const Span& span : target.spans) all.push_back(whole.slice(span.start, span.start + span.length));
    return all;
}

// How many pairs have other logits in batches of `size` than alone.
int changed_logits(const nn::Transformer& model, std::size_t size) {
    const std::vector<TokenPair> all = pairs();
    int changed = 0;
    for (std::size_t begin = 0; begin + size <= all.size() && begin < 3 * size; begin += size) {
        const std::span<const TokenPair> batch = std::span(all).subspan(begin, size);
        const std::vector<Tensor> together = logits_of(model, batch);
        for (std::size_t i = 0; i < size; ++i) changed += !same_bits(together[i], logits_of(model, batch.subspan(i, 1)).front());
    }
    return changed;
}

TEST_P(BatchInvariance, LogitsAreTheSameAloneAndInEveryBatch) {
    const auto model = model_of(GetParam());
    for (const std::size_t size : {2, 7, 40}) EXPECT_EQ(changed_logits(*model, size), 0) << "batches of " << size;
}

// The test sees what it should: without the promise, algorithms follow the number of rows and the addresses.
TEST_P(BatchInvariance, WithoutItLogitsFollowTheBatch) {
    if (!device::emulated()) GTEST_SKIP() << "nobody knows which algorithms a GPU takes";
    kernels::set_batch_invariant(false);
    EXPECT_GT(changed_logits(*model_of(GetParam()), 7), 0);
}

TEST_P(BatchInvariance, ScoresAreTheSameAloneAndInEveryBatch) {
    const auto model = model_of(GetParam());
    std::vector<Tokens> sources, targets;
    for (const TokenPair& pair : pairs()) {
        sources.push_back(with(pair.source, -1, eos_id));
        targets.push_back(pair.target);
    }
    const std::vector<nn::PairScore> together = nn::score(*model, sources, targets);
    for (std::size_t i = 0; i < sources.size(); i += 3)
        EXPECT_EQ(nn::score(*model, sources[i], targets[i]).log_probability, together[i].log_probability) << "pair " << i;
}

TEST_P(BatchInvariance, TranslationsAreTheSameAloneAndInEveryBatch) {
    const auto model = model_of(GetParam());
    std::vector<Tokens> sources;
    for (const TokenPair& pair : pairs()) sources.push_back(with(pair.source, -1, eos_id));
    sources.erase(sources.begin() + 4, sources.end());
    nn::DecodeOptions options;
    options.beam = options.n_best = 2;
    const nn::HypothesisLists together = nn::beam_search(*model, sources, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::vector<nn::Hypothesis> alone = nn::beam_search(*model, {&sources[i], 1}, options).front();
        ASSERT_EQ(alone.size(), together[i].size());
        for (std::size_t j = 0; j < alone.size(); ++j) {
            EXPECT_EQ(alone[j].tokens, together[i][j].tokens) << "source " << i;
            EXPECT_EQ(alone[j].log_probability, together[i][j].log_probability) << "source " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, BatchInvariance, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace heddle::app
