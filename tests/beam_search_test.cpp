// Decoding: beam search against a search through all translations, and lines alone against lines together.
#include "apps/translation/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include "apps/translation/translate.h"
#include "autograd/tape.h"
#include "tests/nn_support.h"

namespace heddle::app {
namespace {

using nn::Tokens;

// A model of random weights whose opinions differ from token to token: the larger `deviation`, the more.
std::unique_ptr<nn::Transformer> random_model(std::int64_t vocabulary, std::uint64_t seed, double deviation = 0.5) {
    nn::TransformerOptions options = nn::tiny_options();
    options.source_vocabulary = options.target_vocabulary = vocabulary;
    options.encoder_layers = options.decoder_layers = 1;
    auto model = std::make_unique<nn::Transformer>(options, seed);
    nn::disturb(*model, seed, deviation);
    model->eval();
    return model;
}

// log p(token | source, prefix) for every token, computed from nothing.
std::vector<double> next_log_probabilities(const nn::Transformer& model, const Tokens& source, const Tokens& prefix) {
    const NoGrad no_grad;
    const nn::Sentences from = nn::packed({source});
    Tokens in{bos_id};
    in.insert(in.end(), prefix.begin(), prefix.end());
    const nn::Sentences to = nn::packed({in});
    const Variable memory = model.encode(from.tokens, from.spans);
    const Tensor hidden = model.decode(to.tokens, to.spans, memory, from.spans).value();
    const auto last = static_cast<std::int64_t>(prefix.size());
    std::vector<double> logits = model.logits(hidden.slice(last, last + 1)).to_vector();
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    for (double& logit : logits) logit -= std::log(sum);
    return logits;
}

// The best of all translations that end within `longest` tokens, end mark included.
Hypothesis best_of_all(const nn::Transformer& model, const Tokens& source, std::int64_t longest, double alpha) {
    Hypothesis best{.tokens = {}, .log_probability = 0, .score = -INFINITY, .ended = true};
    Tokens prefix;
    const std::function<void(double)> go_on = [&](double log_probability) {
        const std::vector<double> next = next_log_probabilities(model, source, prefix);
        const double ended = log_probability + next[eos_id];
        const double score = ended / std::pow(static_cast<double>(prefix.size() + 1), alpha);
        if (score > best.score) best = {prefix, ended, score, true};
        if (static_cast<std::int64_t>(prefix.size()) + 1 == longest) return;
        for (std::size_t token = 0; token < next.size(); ++token) {
            if (token == eos_id) continue;
            prefix.push_back(static_cast<std::int32_t>(token));
            go_on(log_probability + next[token]);
            prefix.pop_back();
        }
    };
    go_on(0);
    return best;
}

Tokens source_of(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    Tokens source = nn::random_tokens(count - 1, vocabulary, seed);
    source.push_back(eos_id);
    return source;
}

Hypothesis search(const nn::Transformer& model, const Tokens& source, std::int64_t beam, double alpha) {
    const std::vector<Tokens> sources{source};
    return beam_search(model, sources, {.beam = beam, .length_penalty = alpha}).front();
}

// A beam wider than the number of prefixes keeps every hypothesis, so what it finds must be the best there is: the score's
// formula, the end rule and the paths through the tree are all in it. Learned positions of 5 rows keep the translations
// countable.
TEST(BeamSearch, AWideBeamFindsTheBestOfAllTranslations) {
    std::set<Tokens> found;
    for (const double alpha : {0.0, 0.6, 1.0, 2.0})
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            nn::TransformerOptions options = nn::tiny_options();
            options.source_vocabulary = options.target_vocabulary = 5;
            options.encoder_layers = options.decoder_layers = 1;
            options.positions = nn::Positions::learned;
            options.position_table = 5;
            nn::Transformer model(options, seed);
            nn::disturb(model, seed, 0.7);
            model.eval();
            const Tokens source = source_of(3, 5, seed);
            const Hypothesis wanted = best_of_all(model, source, 5, alpha), given = search(model, source, 700, alpha);
            EXPECT_EQ(given.tokens, wanted.tokens) << "alpha " << alpha << ", seed " << seed;
            EXPECT_NEAR(given.log_probability, wanted.log_probability, 1e-4);
            EXPECT_NEAR(given.score, wanted.score, 1e-4);
            EXPECT_TRUE(given.ended);
            found.insert(given.tokens);
        }
    EXPECT_GE(found.size(), 4u) << "the models must disagree, or the test shows nothing";
}

TEST(BeamSearch, ABeamOfOneTakesTheMostProbableTokenUntilTheEnd) {
    int ended = 0, cut = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const auto owned_model = random_model(9, seed);
        const nn::Transformer& model = *owned_model;
        const Tokens source = source_of(3, 9, seed);
        Tokens wanted;
        bool end = false;
        while (!end && static_cast<std::int64_t>(wanted.size()) < longest_translation(model, 3)) {
            const std::vector<double> next = next_log_probabilities(model, source, wanted);
            const auto best = static_cast<std::int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
            end = best == eos_id;
            if (!end) wanted.push_back(best);
        }
        const Hypothesis given = search(model, source, 1, 1);
        EXPECT_EQ(given.tokens, wanted) << "seed " << seed;
        EXPECT_EQ(given.ended, end);
        ++(end ? ended : cut);
    }
    EXPECT_GT(ended, 0);
    EXPECT_GT(cut, 0);
}

TEST(BeamSearch, CutsAtThreeTimesTheSourceAndTen) {
    const auto owned_model = random_model(9, 1);
    nn::Transformer& model = *owned_model;
    Tensor bias = nn::named_tensor(model, "output.bias");
    bias.data<float>()[eos_id] = -1e4f;  // never ends by itself
    for (const std::int64_t length : {1, 4, 40})
        for (const std::int64_t beam : {1, 3}) {
            const Hypothesis given = search(model, source_of(length, 9, 2), beam, 1);
            EXPECT_EQ(static_cast<std::int64_t>(given.tokens.size()), 3 * length + 10);
            EXPECT_FALSE(given.ended);
        }
}

TEST(BeamSearch, LearnedPositionsCutAtTheirTable) {
    nn::TransformerOptions options = nn::tiny_options();
    options.positions = nn::Positions::learned;
    options.position_table = 12;
    EXPECT_EQ(longest_translation(nn::Transformer(options, 1), 4), 12);
    options.positions = nn::Positions::sinusoidal;
    EXPECT_EQ(longest_translation(nn::Transformer(options, 1), 4), 22);
}

TEST(BeamSearch, ASourceFindsTheSameAloneAndAmongOthers) {
    const auto owned_model = random_model(30, 4);
    const nn::Transformer& model = *owned_model;
    std::vector<Tokens> sources;
    for (std::uint64_t i = 0; i < 9; ++i) sources.push_back(source_of(1 + static_cast<std::int64_t>(i * 5 % 11), 30, i));
    for (const std::int64_t beam : {1, 2, 5}) {
        const std::vector<Hypothesis> together = beam_search(model, sources, {.beam = beam});
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const Hypothesis alone = search(model, sources[i], beam, 1);
            EXPECT_EQ(together[i].tokens, alone.tokens) << "beam " << beam << ", source " << i;
            EXPECT_EQ(together[i].log_probability, alone.log_probability);
        }
    }
}

TEST(BeamSearch, AWiderBeamFindsNothingWorse) {
    int better = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const auto owned_model = random_model(12, seed, 0.8);
        const nn::Transformer& model = *owned_model;
        const Tokens source = source_of(4, 12, seed);
        const Hypothesis narrow = search(model, source, 1, 1), wide = search(model, source, 8, 1);
        if (!narrow.ended || !wide.ended) continue;
        EXPECT_GE(wide.score, narrow.score - 1e-9) << "seed " << seed;
        better += wide.score > narrow.score + 1e-9 ? 1 : 0;
    }
    EXPECT_GT(better, 0);
}

TEST(BeamSearch, WrongUseIsAnError) {
    const auto owned_model = random_model(9, 1);
    const nn::Transformer& model = *owned_model;
    EXPECT_TRUE(beam_search(model, {}, {}).empty());
    expect_error([&] { search(model, {4, eos_id}, 0, 1); }, "beam search: a beam of 0, wanted at least 1");
}

// Lines of one to eight of twenty words, enough for several batches.
std::vector<std::string> many_lines(std::size_t count) {
    Sequence random(3);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < count; ++i) {
        std::string line;
        for (std::uint64_t n = 1 + random.below(8); n > 0; --n) line += "w" + std::to_string(random.below(20)) + " ";
        line.pop_back();
        lines.push_back(line);
    }
    return lines;
}

class TranslateLines : public testing::Test {
  protected:
    TranslateLines() {
        VocabularyOptions options;
        options.type = VocabularyType::word;
        vocabularies_.source = vocabularies_.target = train_vocabulary(options, lines_);
    }

    std::vector<std::string> lines_ = many_lines(500);
    Vocabularies vocabularies_;
};

TEST_F(TranslateLines, GivesEachLineItsOwnTranslationInAnyCompanyAndOnAnyThreads) {
    const auto owned_model = random_model(vocabularies_.source->size(), 2);
    const nn::Transformer& model = *owned_model;
    const DecodeOptions options{.beam = 2};
    std::vector<std::string> alone;
    for (const std::string& line : lines_) alone.push_back(translate_lines(model, vocabularies_, {line}, options).front());
    EXPECT_GT(std::set<std::string>(alone.begin(), alone.end()).size(), 20u)
        << "the lines must differ, or the test shows nothing";
    for (const int count : {1, 2, 3}) {
        const WithThreads on(count);
        EXPECT_EQ(translate_lines(model, vocabularies_, lines_, options), alone) << count << " threads";
    }
}

TEST_F(TranslateLines, GivesAnEmptyLineForABlankOne) {
    const auto owned_model = random_model(vocabularies_.source->size(), 2);
    const nn::Transformer& model = *owned_model;
    const std::vector<std::string> given =
        translate_lines(model, vocabularies_, {"", lines_[0], "  \t ", lines_[1]}, {.beam = 2});
    ASSERT_EQ(given.size(), 4u);
    EXPECT_EQ(given[0], "");
    EXPECT_EQ(given[2], "");
    EXPECT_EQ(given[1], translate_lines(model, vocabularies_, {lines_[0]}, {.beam = 2}).front());
    VocabularyOptions characters;
    characters.type = VocabularyType::character;
    Vocabularies both;
    both.source = both.target = train_vocabulary(characters, lines_);
    const auto owned_speller = random_model(both.source->size(), 3);
    const nn::Transformer& speller = *owned_speller;
    EXPECT_EQ(translate_lines(speller, both, {"   "}, {.beam = 1}).front(), "") << "where a space is a token, too";
}

}  // namespace
}  // namespace heddle::app
