// Several models that translate together: the mean of their probabilities.
#include "nn/search/ensemble.h"

#include <gtest/gtest.h>

#include "nn/search/search.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

std::vector<const Transformer*> pointers(const std::vector<Model>& models) {
    std::vector<const Transformer*> all;
    for (const Model& model : models) all.push_back(model.get());
    return all;
}

std::vector<Model> three_models(std::int64_t vocabulary, std::int64_t table = 0) {
    std::vector<Model> models;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) models.push_back(random_model(vocabulary, seed, 0.7, table));
    return models;
}

TEST(Ensemble, MixesProbabilitiesNotLogits) {
    const Tensor one = Tensor::from(std::vector<float>{1, 2, 3, 0, 0, 0}, {2, 3});
    const Tensor two = Tensor::from(std::vector<float>{40, 41, 20, -50, 0, 60}, {2, 3});
    const std::vector<Model> models = three_models(13);
    const Ensemble both({models[0].get(), models[1].get()});
    const Tensor mixed = both.mixed({one, two});
    const auto softmax = [](const Tensor& logits, std::int64_t row) {
        std::vector<double> p = logits.slice(row, row + 1).to_vector();
        double sum = 0, largest = *std::max_element(p.begin(), p.end());
        for (double& each : p) sum += each = std::exp(each - largest);
        for (double& each : p) each /= sum;
        return p;
    };
    for (std::int64_t row = 0; row < 2; ++row)
        for (std::size_t j = 0; j < 3; ++j)
            EXPECT_NEAR(softmax(mixed, row)[j], (softmax(one, row)[j] + softmax(two, row)[j]) / 2, 1e-6) << row << ", " << j;
}

// An ensemble of a model with itself gives that model's bits, so it never decides otherwise.
TEST(Ensemble, OfOneModelWithItselfIsThatModel) {
    const Model model = random_model(13, 4);
    Tensor logits = Tensor::empty({5, 13}, DType::f32);
    fill_uniform(logits, -20, 20, 3);
    for (const std::size_t times : {1, 2, 3}) {
        const Ensemble same(std::vector<const Transformer*>(times, model.get()));
        EXPECT_EQ(same.mixed(std::vector<Tensor>(times, logits)).to_vector(), logits.to_vector());
    }
    const Ensemble twice({model.get(), model.get()});
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::vector<Tokens> sources{source_of(4, 11, seed)};
        const HypothesisLists one = beam_search(*model, sources, {.n_best = 5}), two = beam_search(twice, sources, {.n_best = 5});
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(one[0][i].tokens, two[0][i].tokens);
            EXPECT_EQ(one[0][i].log_probability, two[0][i].log_probability);
        }
    }
}

TEST(Ensemble, AWideBeamFindsTheBestOfTheMean) {
    const std::vector<Model> models = three_models(5, 5);
    const Ensemble all(pointers(models));
    int own = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const std::vector<Tokens> sources{source_of(3, 5, seed)};
        for (const Tokens& prefix : {Tokens{}, Tokens{4}}) {
            const std::vector<Hypothesis> wanted = all_translations(all, sources[0], 5, 1, prefix);
            const auto given = beam_search(all, sources, {.beam = 700, .n_best = 3, .prefix = prefix}).front();
            ASSERT_EQ(given.size(), 3u);
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_EQ(given[i].tokens, wanted[i].tokens) << "seed " << seed << ", place " << i;
                EXPECT_NEAR(given[i].log_probability, wanted[i].log_probability, 1e-4);
            }
            for (const Model& model : models)
                own += beam_search(*model, sources, {.beam = 700, .prefix = prefix}).front().front().tokens != wanted[0].tokens;
        }
    }
    EXPECT_GT(own, 0) << "the models must disagree, or the test shows nothing";
}

TEST(Ensemble, IsAsLongAsItsShortestTable) {
    const Model shorter = random_model(13, 1, 0.5, 7), longer = random_model(13, 2, 0.5, 9), free = random_model(13, 3);
    EXPECT_EQ(Ensemble(*free).longest_sentence(), std::nullopt);
    const Ensemble all({free.get(), longer.get(), shorter.get()});
    EXPECT_EQ(all.longest_sentence(), 7);
    EXPECT_EQ(all.position_table(), 7);
    EXPECT_EQ(longest_translation(all, 40), 7);
}

TEST(Ensemble, RefusesModelsThatDoNotFit) {
    const Model one = random_model(13, 1), other = random_model(12, 1);
    expect_error([] { Ensemble(std::vector<const Transformer*>()); }, "no model");
    expect_error([&] { Ensemble({one.get(), other.get()}); }, "vocabularies of 13 and 13 tokens, and of 12 and 12");
}

}  // namespace
}  // namespace heddle::nn
