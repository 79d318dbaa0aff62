// Beam search against a search through all translations.
#include "nn/search/search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

Hypothesis search(const Transformer& model, const Tokens& source, std::int64_t beam, double alpha) {
    const std::vector<Tokens> sources{source};
    return beam_search(model, sources, {.beam = beam, .length_penalty = alpha, .patience = 0}).front().front();
}

// The token after the prefix.
std::int32_t next_of(const Hypothesis& each, const DecodeOptions& options) {
    return each.tokens.size() > options.prefix.size() ? each.tokens[options.prefix.size()] : end_mark;
}

bool allowed(const Hypothesis& each, const DecodeOptions& options) {
    return std::ranges::find_first_of(each.tokens, options.forbidden) == each.tokens.end() &&
           (options.first.empty() || std::ranges::find(options.first, next_of(each, options)) != options.first.end());
}

// The best of all translations of at most `longest` tokens with the end mark that the options allow, which a search finds whose
// beam is wider than the number of prefixes: it keeps every hypothesis.
Tokens expect_the_best(const Transformer& model, const Tokens& source, DecodeOptions options, std::int64_t longest,
                       const std::string& what) {
    std::vector<Hypothesis> wanted = all_translations(model, source, longest, options.length_penalty, options.prefix);
    std::erase_if(wanted, [&](const Hypothesis& each) { return !allowed(each, options); });
    options.beam = 700;
    options.patience = 0;
    options.n_best = std::min(options.n_best, static_cast<std::int64_t>(wanted.size()));
    const std::vector<Hypothesis> given = beam_search(model, std::vector<Tokens>{source}, options).front();
    EXPECT_EQ(given.size(), static_cast<std::size_t>(options.n_best)) << what;
    for (std::size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(given[i].tokens, wanted[i].tokens) << what << ", place " << i;
        EXPECT_NEAR(given[i].log_probability, wanted[i].log_probability, 1e-4) << what;
        EXPECT_NEAR(given[i].score, wanted[i].score, 1e-4) << what;
        EXPECT_TRUE(given[i].ended) << what;
    }
    return wanted[0].tokens;
}

// This covers the score's formula, the end rule, the bound that closes hypotheses and the paths through the tree. Learned
// positions with 5 rows limit the number of translations.
TEST(BeamSearch, AWideBeamFindsTheBestOfAllTranslations) {
    std::set<Tokens> found;
    for (const double alpha : {0.0, 0.6, 1.0, 2.0})
        for (std::uint64_t seed = 1; seed <= 6; ++seed)
            for (const std::int64_t n : {1, 2, 7, 40})
                found.insert(expect_the_best(*random_model(5, seed, 0.7, 5), source_of(3, 5, seed),
                                             {.length_penalty = alpha, .n_best = n}, 5,
                                             fmt::format("alpha {}, seed {}, the {} best", alpha, seed, n)));
    EXPECT_GE(found.size(), 4u) << "the models must disagree, or the test shows nothing";
}

// Forbidden tokens and those that may not follow the prefix are only excluded from the choice: the others keep their log p.
TEST(BeamSearch, BeginsWithThePrefixAndWritesWhatIsAllowed) {
    const DecodeOptions each[] = {{.prefix = {4}},
                                  {.prefix = {4, 0}},
                                  {.prefix = {1, 4, 4}},
                                  {.forbidden = {1}},
                                  {.forbidden = {4, 0}},
                                  {.forbidden = {0, 1, 2, 4}},  // only the empty translation is left
                                  {.first = {2}},
                                  {.first = {0, 4}},
                                  {.first = {end_mark, 1}},
                                  {.prefix = {4}, .first = {2}},
                                  {.prefix = {4}, .first = {end_mark, 1}},
                                  {.prefix = {4, 0}, .first = {0, 4}},
                                  {.prefix = {4, 0}, .first = {end_mark, 1}, .forbidden = {2}}};
    int other = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Model model = random_model(5, seed, 0.7, 5);
        const Tokens source = source_of(3, 5, seed), best = search(*model, source, 3, 1).tokens;
        for (std::size_t i = 0; i < std::size(each); ++i) {
            DecodeOptions options = each[i];
            const std::string what = fmt::format("seed {}, options {}", seed, i);
            options.n_best = 4;
            other += expect_the_best(*model, source, options, 5, what) != best ? 1 : 0;
            options.beam = options.n_best = 2;
            const HypothesisLists given = beam_search(*model, std::vector<Tokens>{source}, options);
            for (const Hypothesis& narrow : given.front()) EXPECT_TRUE(allowed(narrow, options)) << what;
        }
    }
    EXPECT_GT(other, 46) << "of 78";
    const Model model = random_model(5, 1, 0.7, 5);
    expect_error(
        [&] {
            translate(*model, source_of(3, 5, 1), {.prefix = {4, 4, 4, 4, 4}});
        },
        "translate: a prefix of 5 tokens, but the model's position table ends after 5");
}

TEST(BeamSearch, WritesWhatTheLimitAllows) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Model model = random_model(5, seed, 0.7);
        const std::vector<Tokens> sources{source_of(3, 5, seed)};
        for (const std::int64_t most : {1, 3})
            expect_the_best(*model, sources[0], {.n_best = 20, .max_length = most}, most + 1,
                            fmt::format("seed {}, at most {} tokens", seed, most));
        // A limit that is not reached, or just reached, changes nothing.
        const Model talker = random_model(12, seed, 0.5);
        const Hypothesis free = beam_search(*talker, sources, {.beam = 3, .n_best = 1}).front().front();
        const auto length = static_cast<std::int64_t>(free.tokens.size());
        for (const std::int64_t most : {length, length + 1, std::int64_t{40}}) {
            const Hypothesis limited =
                beam_search(*talker, sources, {.beam = 3, .max_length = std::max<std::int64_t>(1, most)}).front().front();
            if (free.ended) {
                EXPECT_EQ(limited.tokens, free.tokens) << "seed " << seed << ", limit " << most;
                EXPECT_EQ(limited.score, free.score);
                EXPECT_TRUE(limited.ended);
            }
        }
    }
}

// Truncated hypotheses have exactly as many tokens as the limit allows, are all different, and have the log p of their tokens.
TEST(BeamSearch, CutsAtTheLimit) {
    const Model model = random_model(9, 1);
    named_tensor(*model, "output.bias").mutable_data<float>()[end_mark] = -1e4f;  // never ends by itself
    const std::vector<Tokens> sources{source_of(4, 9, 2)};
    for (const std::int64_t most : {2, 3, 50})
        for (const std::int64_t beam : {1, 4})
            for (const Tokens& prefix : {Tokens{}, Tokens{5, 6}}) {
                std::set<Tokens> different;
                const HypothesisLists given =
                    beam_search(*model, sources, {.beam = beam, .n_best = beam, .prefix = prefix, .max_length = most});
                for (const Hypothesis& each : given.front()) {
                    EXPECT_FALSE(each.ended);
                    ASSERT_EQ(static_cast<std::int64_t>(each.tokens.size()), most);
                    EXPECT_TRUE(different.insert(each.tokens).second);
                    if (most == 50) continue;  // takes long without a cache
                    double sum = 0;
                    for (std::size_t i = 0; i < each.tokens.size(); ++i)
                        sum += next_log_probabilities(
                            *model, sources[0],
                            {each.tokens.begin(),
                             each.tokens.begin() + static_cast<std::ptrdiff_t>(i)})[static_cast<std::size_t>(each.tokens[i])];
                    EXPECT_NEAR(each.log_probability, sum, 1e-4);
                    EXPECT_NEAR(each.score, sum / static_cast<double>(most), 1e-4);
                }
                EXPECT_GE(different.size(), 1u);
            }
    expect_error(
        [&] {
            beam_search(*model, sources, {.prefix = {4, 4, 4}, .max_length = 2});
        },
        "translate: a prefix of 3 tokens, but translations of 2 at most; use a shorter prefix, or a max_length of 4");
    const Model table = random_model(9, 1, 0.5, 5);  // whose end comes first
    EXPECT_LE(beam_search(*table, sources, {.max_length = 50}).front().front().tokens.size(), 5u);
}

// A hypothesis that is kept only because more are wanted does not displace a better one: what cannot win is less probable than
// everything that can.
TEST(BeamSearch, TheFirstOnesAreTheSameHoweverManyAreAskedFor) {
    int cut = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Model model = random_model(12, seed, 0.8);
        const std::vector<Tokens> sources{source_of(4, 12, seed)};
        const double patience = seed % 2 == 0 ? 1 : 0, alpha = seed % 3 == 0 ? 0 : 1;
        const std::vector<Hypothesis> four =
            beam_search(*model, sources, {.beam = 4, .length_penalty = alpha, .patience = patience, .n_best = 4}).front();
        ASSERT_EQ(four.size(), 4u);
        for (const std::int64_t n : {1, 2, 3}) {
            const std::vector<Hypothesis> some =
                beam_search(*model, sources, {.beam = 4, .length_penalty = alpha, .patience = patience, .n_best = n}).front();
            ASSERT_EQ(some.size(), static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].tokens, four[i].tokens) << "seed " << seed;
        }
        std::set<Tokens> different;
        for (std::size_t i = 0; i < 4; ++i) {
            different.insert(four[i].tokens);
            if (i > 0) {
                EXPECT_GE(std::pair(four[i - 1].ended, four[i - 1].score), std::pair(four[i].ended, four[i].score));
            }
            cut += four[i].ended ? 0 : 1;
        }
        EXPECT_EQ(different.size(), 4u);
    }
    EXPECT_GT(cut, 0) << "both kinds must occur";
}

TEST(BeamSearch, ABeamOfOneTakesTheMostProbableTokenUntilTheEnd) {
    int ended = 0, cut = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const auto owned_model = random_model(9, seed);
        const Transformer& model = *owned_model;
        const Tokens source = source_of(3, 9, seed);
        Tokens wanted;
        bool end = false;
        while (!end && static_cast<std::int64_t>(wanted.size()) < longest_translation(model, 3)) {
            const std::vector<double> next = next_log_probabilities(model, source, wanted);
            const auto best = static_cast<std::int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
            end = best == end_mark;
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
    Transformer& model = *owned_model;
    Tensor bias = named_tensor(model, "output.bias");
    bias.mutable_data<float>()[end_mark] = -1e4f;  // never ends by itself
    for (const std::int64_t length : {1, 4, 40})
        for (const std::int64_t beam : {1, 3}) {
            const Hypothesis given = search(model, source_of(length, 9, 2), beam, 1);
            EXPECT_EQ(static_cast<std::int64_t>(given.tokens.size()), 3 * length + 10);
            EXPECT_FALSE(given.ended);
        }
}

// Computing tokens twice, or beyond the end mark, would not change translations, but it shows in the memory requests.
TEST(BeamSearch, ReadsEachTokenOnceAndStopsAtTheEndMark) {
    const auto requests = [](float bias_of_the_end) {
        const auto model = random_model(9, 1);
        named_tensor(*model, "output.bias").mutable_data<float>()[end_mark] = bias_of_the_end;
        const Tokens source = source_of(40, 9, 2);
        search(*model, source, 1, 1);
        const std::int64_t before = memory_statistics().requests;
        search(*model, source, 1, 1);
        return memory_statistics().requests - before;
    };
    EXPECT_LT(10 * requests(1e4f), requests(-1e4f)) << "one token, or 130";

    const auto model = random_model(9, 1);
    const NoGrad no_grad;
    const Sentences source = packed({source_of(4, 9, 2)});
    const Variable memory = model->encode(source.tokens, source.spans);
    DecoderCache cache = model->start_decoding(memory.value(), source.spans, 1, 600);
    for (int i = 0; i < 599; ++i) model->step(tokens_of({4}), cache);
    const auto bytes = [](const std::function<void()>& work) {  // that it needs for a while
        reset_peak_memory();
        const std::int64_t before = memory_statistics().in_use;
        work();
        return memory_statistics().peak - before;
    };
    const std::int64_t step = bytes([&] { model->step(tokens_of({4}), cache); });
    const Sentences prefix = packed({Tokens(600, 4)});
    EXPECT_LT(2 * step, bytes([&] { model->decode(prefix.tokens, prefix.spans, memory, source.spans); })) << "one row, or 600";
}

TEST(BeamSearch, LearnedPositionsCutAtTheirTable) {
    TransformerOptions options = tiny_options();
    options.positions = Positions::learned;
    options.position_table = 12;
    EXPECT_EQ(longest_translation(Transformer(options, 1), 4), 12);
    options.positions = Positions::sinusoidal;
    EXPECT_EQ(longest_translation(Transformer(options, 1), 4), 22);
}

// Models that end a sentence after a few tokens, long before the bound on possible winners is reached.
TEST(BeamSearch, PatienceTradesTheBestForTime) {
    int worse = 0;
    std::int64_t requests[3] = {};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto model = random_model(12, seed, 0.8);
        named_tensor(*model, "output.bias").mutable_data<float>()[end_mark] = 4;
        const std::vector<Tokens> sources{source_of(20, 12, seed)};
        Hypothesis found[3];
        beam_search(*model, sources, {.beam = 3});  // makes what is made only once
        for (const int i : {0, 1, 2}) {
            const double patience = std::vector<double>{0, 1, 1000}[static_cast<std::size_t>(i)];
            const std::int64_t before = memory_statistics().requests;
            found[i] = beam_search(*model, sources, {.beam = 3, .patience = patience}).front().front();
            requests[i] += memory_statistics().requests - before;
        }
        EXPECT_EQ(found[0].tokens, found[2].tokens) << "seed " << seed << ": a thousand times the beam is never reached";
        EXPECT_TRUE(found[1].ended || !found[0].ended);
        EXPECT_LE(found[1].score, found[0].score + 1e-9) << "seed " << seed;
        worse += found[1].tokens != found[0].tokens ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(requests[2]), static_cast<double>(requests[0]), 0.01 * static_cast<double>(requests[0]));
    EXPECT_LT(2 * requests[1], requests[0]) << "of memory: so many steps";
    EXPECT_GT(worse, 0) << "or the search has not ended earlier where it matters";
}

TEST(BeamSearch, WrongUseIsAnError) {
    const auto owned_model = random_model(9, 1);
    const Transformer& model = *owned_model;
    EXPECT_TRUE(beam_search(model, {}, {}).empty());
    expect_error([&] { search(model, {4, end_mark}, 0, 1); }, "beam search: a beam of 0, wanted at least 1");
    const std::vector<Tokens> sources{{4, end_mark}};
    expect_error([&] { beam_search(model, sources, {.beam = 2, .n_best = 3}); }, "the 3 best of a beam of 2, wanted 1 to 2");
    expect_error([&] { beam_search(model, sources, {.beam = 2, .patience = 0.5}); },
                 "a patience of 0.5, wanted 0, or 1 and more");
    expect_error([&] { beam_search(model, sources, {.beam = 2, .n_best = 0}); }, "the 0 best of a beam of 2");
    expect_error([&] { beam_search(model, sources, {.forbidden = {1, end_mark}}); }, "the end mark 3 is forbidden");
}

}  // namespace
}  // namespace heddle::nn
