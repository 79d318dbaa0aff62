// Translating token ids in one call, against the parts that it is made of.
#include "nn/search/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nn/search/scoring.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

// Enough sources for several batches, which come in another order than the sources.
TEST(Translate, GivesEachSourceWhatTheSearchAndTheDrawGiveItAlone) {
    const Model model = random_model(20, 3);
    std::vector<Tokens> sources;
    for (std::uint64_t i = 0; i < 150; ++i) sources.push_back(source_of(1 + static_cast<std::int64_t>(i * 7 % 20), 20, i));
    const DecodeOptions searching{.beam = 3, .n_best = 2}, greedy{.beam = 1},
        drawing{.n_best = 2, .sampling = Sampling{.top_k = 5, .seed = 7}};
    for (const DecodeOptions& options : {searching, greedy, drawing})
        for (const int count : {1, 3}) {
            const WithThreads on(count);
            const HypothesisLists found = translate(*model, sources, options);
            ASSERT_EQ(found.size(), sources.size());
            for (std::size_t i = 0; i < sources.size(); i += 11) {
                const std::vector<std::int64_t> number{static_cast<std::int64_t>(i)};
                const std::vector<Hypothesis> wanted = decode(*model, {{sources[i]}, number}, options).front();
                ASSERT_EQ(found[i].size(), wanted.size());
                for (std::size_t n = 0; n < wanted.size(); ++n) {
                    EXPECT_EQ(found[i][n].tokens, wanted[n].tokens) << "source " << i;
                    EXPECT_EQ(found[i][n].score, wanted[n].score) << "source " << i;
                }
            }
        }
    EXPECT_EQ(translate(*model, sources[5]).front().tokens, translate(*model, sources)[5].front().tokens);
    EXPECT_TRUE(translate(*model, std::vector<Tokens>()).empty());
}

// Tokens exchanged in a model and in its input are exchanged in its output, the marks among them.
TEST(Translate, TakesTheMarksOfTheModel) {
    const auto exchanged = [](Tokens tokens) {
        for (std::int32_t& token : tokens) token = token == begin_mark || token == 7 ? begin_mark + 7 - token : token;
        for (std::int32_t& token : tokens) token = token == end_mark || token == 8 ? end_mark + 8 - token : token;
        return tokens;
    };
    const Model model = random_model(12, 3), other = random_model(12, 3);
    for (const char* name : {"source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias"}) {
        Tensor to = named_tensor(*other, name);
        const Tensor from = named_tensor(*model, name);
        for (std::int32_t row = 0; row < 12; ++row)
            to.slice(row, row + 1).copy_(from.slice(exchanged({row})[0], exchanged({row})[0] + 1));
    }
    const Marks marks{.begin = 7, .end = 8};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Tokens source = source_of(5, 12, seed);
        const Hypothesis wanted = translate(*model, source).front(),
                         found = translate(*other, exchanged(source), {.marks = marks}).front();
        EXPECT_EQ(found.tokens, exchanged(wanted.tokens));
        EXPECT_NEAR(found.log_probability, wanted.log_probability, 1e-5);
        EXPECT_EQ(found.ended, wanted.ended);
        if (!found.ended) continue;
        EXPECT_NEAR(score(*other, exchanged(source), found.tokens, marks).log_probability, wanted.log_probability, 1e-4);
    }
}

// Logits that differ by thousands: exp() of the difference is 0, the logarithm of the probability is not -inf.
TEST(Translate, KnowsTheProbabilityOfAnUnlikelyBeginning) {
    const Model model = random_model(9, 1);
    named_tensor(*model, "output.bias").mutable_data<float>()[5] = -3000;
    const Tokens source = source_of(4, 9, 2);
    for (const bool draw : {false, true}) {
        DecodeOptions options{.first = {5}};
        if (draw) options.sampling = Sampling();
        const std::vector<Hypothesis> found = translate(*model, source, options);
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].tokens.at(0), 5);
        EXPECT_LT(found[0].log_probability, -2900);
        if (!found[0].ended) continue;
        EXPECT_NEAR(found[0].log_probability, score(*model, source, found[0].tokens).log_probability, 1e-3);
    }
}

TEST(Translate, OfProbability0AreNone) {
    const Model model = random_model(9, 1);
    named_tensor(*model, "output.bias").mutable_data<float>()[5] = -std::numeric_limits<float>::infinity();
    expect_error([&] { translate(*model, source_of(4, 9, 2), {.prefix = {5}}); },
                 "source 0 has no translation, the model gives each one the probability 0");
}

TEST(Translate, SaysWhatIsWrongWithItsInput) {
    const Model model = random_model(9, 1);
    const Tokens source{4, end_mark};
    expect_error([&] { translate(*model, std::vector<Tokens>{source, {}}); }, "translate: source 1 has no tokens");
    expect_error([&] { translate(*model, Tokens{4, 9}); }, "source 0 has the token 9, wanted tokens of a vocabulary of 9");
    expect_error([&] { translate(*model, source, {.prefix = {-1}}); }, "prefix has the token -1");
    expect_error([&] { translate(*model, source, {.first = {5, 11}}); }, "first has the token 11");
    expect_error([&] { translate(*model, source, {.forbidden = {12}}); }, "forbidden has the token 12");
    expect_error([&] { translate(*model, source, {.marks = {.begin = 2, .end = 13}}); }, "marks has the token 13");
    expect_error([&] { translate(*model, source, {.length_penalty = std::nan("")}); }, "a length penalty of nan");
    expect_error([&] { translate(*model, source, {.max_length = 0}); }, "a max_length of 0, wanted at least 1");
    model->train();
    expect_error([&] { translate(*model, source); }, "the model is in training mode; call its eval() first");
}

}  // namespace
}  // namespace heddle::nn
