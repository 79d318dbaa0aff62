// Sampling: what is drawn has the model's distribution, and depends on nothing but the seed, the line's number and the sample's.
#include "nn/search/search.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "core/device.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

std::vector<Hypothesis> drawn(const Ensemble& models, const Tokens& source, std::int64_t count, const Sampling& sampling,
                              const Tokens& prefix = {}, std::int64_t line = 0) {
    const std::vector<Tokens> sources{source};
    const std::vector<std::int64_t> lines{line};
    return sample(models, sources, lines, {.n_best = count, .prefix = prefix, .sampling = sampling}).front();
}

// p^(1/T) over the k most probable tokens, normalised.
std::vector<double> expected(std::vector<double> log_probabilities, const Sampling& sampling) {
    std::vector<double> falling = log_probabilities;
    std::sort(falling.rbegin(), falling.rend());
    const double least = sampling.top_k == 0 ? falling.back() : falling[static_cast<std::size_t>(sampling.top_k - 1)];
    double sum = 0;
    for (double& each : log_probabilities) sum += each = each < least ? 0 : std::exp(each / sampling.temperature);
    for (double& each : log_probabilities) each /= sum;
    return log_probabilities;
}

using Counts = std::map<std::int32_t, int>;

// Of the tokens that samples have behind a prefix of so many tokens; the end mark where they end there.
Counts counts_at(std::size_t place, const std::vector<Hypothesis>& given) {
    Counts counts;
    for (const Hypothesis& each : given) ++counts[place < each.tokens.size() ? each.tokens[place] : end_mark];
    return counts;
}

// Pearson's statistic of the counts is at most five standard deviations beyond its mean; infinite if something impossible was
// drawn. `left`: tokens that may be drawn at all.
void expect_draws(const Counts& counts, const std::vector<double>& log_probabilities, Sampling sampling, std::int64_t left = 9) {
    sampling.top_k = std::min(sampling.top_k, left);
    int total = 0;
    for (const auto& [token, count] : counts) total += count;
    double statistic = 0, freedom = -1;
    const std::vector<double> probabilities = expected(log_probabilities, sampling);
    for (std::size_t j = 0; j < probabilities.size(); ++j) {
        const auto found = counts.find(static_cast<std::int32_t>(j));
        const double count = found == counts.end() ? 0 : found->second, wanted = probabilities[j] * total;
        if (wanted == 0 && count == 0) continue;
        statistic += (count - wanted) * (count - wanted) / wanted;
        freedom += 1;
    }
    EXPECT_LE(statistic, freedom + 5 * std::sqrt(2 * freedom)) << "top-k " << sampling.top_k << ", T " << sampling.temperature;
}

constexpr std::int64_t samples = 4000;

TEST(Sampling, FollowsTheModelsDistribution) {
    const Model one = random_model(9, 2, 0.3, 5), two = random_model(9, 5, 0.3, 5);  // short samples: five tokens
    const Tokens source = source_of(4, 9, 1);
    for (const Ensemble& models : {Ensemble(*one), Ensemble({one.get(), two.get()})})
        for (const Sampling& sampling :
             {Sampling{}, Sampling{.top_k = 4}, Sampling{.temperature = 0.6}, Sampling{.temperature = 1.7},
              Sampling{.top_k = 5, .temperature = 2, .seed = 9}, Sampling{.top_k = 100}})
            for (const Tokens& prefix : {Tokens{}, Tokens{6, 5}}) {
                const std::vector<Hypothesis> given = drawn(models, source, samples, sampling, prefix);
                for (const Hypothesis& each : given) ASSERT_TRUE(std::equal(prefix.begin(), prefix.end(), each.tokens.begin()));
                Counts first = counts_at(prefix.size(), given);
                expect_draws(first, next_log_probabilities(models, source, prefix), sampling);
                first.erase(end_mark);
                Tokens before = prefix;  // and the most frequent first token
                before.push_back(std::ranges::max_element(first, {}, [](const auto& counted) { return counted.second; })->first);
                std::vector<Hypothesis> behind;
                std::ranges::copy_if(given, std::back_inserter(behind), [&](const Hypothesis& each) {
                    return each.tokens.size() > prefix.size() && each.tokens[prefix.size()] == before.back();
                });
                expect_draws(counts_at(before.size(), behind), next_log_probabilities(models, source, before), sampling);
            }
}

// The other tokens share the probability of forbidden ones; the reported log p remains the model's.
TEST(Sampling, DrawsNoForbiddenToken) {
    const Model model = random_model(9, 2, 0.3, 5);
    const std::vector<Tokens> sources{source_of(4, 9, 1)};
    const std::vector<std::int64_t> lines{0};
    std::vector<double> left = next_log_probabilities(*model, sources[0], {});
    const Tokens forbidden{0, 1, 5, 8};  // the last one, too
    const std::vector<double> own = left;
    for (const std::int32_t token : forbidden) left[static_cast<std::size_t>(token)] = -std::numeric_limits<double>::infinity();
    for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 3}, Sampling{.top_k = 8}, Sampling{.top_k = 1},
                                     Sampling{.top_k = 100, .temperature = 1.7}}) {
        const std::vector<Hypothesis> given =
            sample(*model, sources, lines, {.n_best = samples, .sampling = sampling, .forbidden = forbidden}).front();
        for (const Hypothesis& each : given) {
            ASSERT_EQ(std::ranges::find_first_of(each.tokens, forbidden), each.tokens.end());
            if (each.tokens.empty()) {
                EXPECT_NEAR(each.log_probability, own[end_mark], 1e-5);
            }
        }
        expect_draws(counts_at(0, given), left, sampling, 5);
    }
}

TEST(Sampling, DrawsNoTokenThatItsOutputBiasForbids) {
    const Model model = random_model(9, 2, 0.3, 5);
    Tensor bias = named_tensor(*model, "output.bias");
    for (const std::int64_t token : {5, 8}) bias.mutable_data<float>()[token] = static_cast<float>(forbidden_bias);
    const Tokens source = source_of(4, 9, 1);
    const std::vector<double> own = next_log_probabilities(*model, source, {});
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        model->to(device);
        for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 9}, Sampling{.temperature = 1.7}}) {
            const Counts first = counts_at(0, drawn(*model, source, samples, sampling));
            EXPECT_FALSE(first.contains(5) || first.contains(8)) << name(device);
            expect_draws(first, own, sampling);
        }
    }
}

// Temperature and top-k change the draws, not the reported probabilities.
TEST(Sampling, StopsAtTheLimitAndReportsTheModelsOwnProbability) {
    const Model model = random_model(9, 2);
    const std::vector<Tokens> sources{source_of(4, 9, 1)};
    const std::vector<std::int64_t> lines{0};
    int met = 0, cut = 0;
    for (const std::int64_t most : {1, 3}) {
        const HypothesisLists given =
            sample(*model, sources, lines,
                   {.n_best = 200, .sampling = Sampling{.top_k = 4, .temperature = 3, .seed = 4}, .max_length = most});
        for (const Hypothesis& each : given.front()) {
            const auto length = static_cast<std::int64_t>(each.tokens.size());
            ASSERT_LE(length, most);
            ASSERT_TRUE(each.ended || length == most);
            double sum = 0;
            Tokens prefix;
            for (std::size_t i = 0; i < each.tokens.size() + (each.ended ? 1 : 0); ++i) {
                const std::int32_t token = i < each.tokens.size() ? each.tokens[i] : end_mark;
                sum += next_log_probabilities(*model, sources[0], prefix)[static_cast<std::size_t>(token)];
                prefix.push_back(token);
            }
            EXPECT_NEAR(each.log_probability, sum, 1e-5);
            EXPECT_NEAR(each.score, sum / static_cast<double>(prefix.size()), 1e-5);
            met += each.ended && length == most ? 1 : 0;
            cut += each.ended ? 0 : 1;
        }
    }
    EXPECT_GT(met, 0) << "the end mark may follow the last token";
    EXPECT_GT(cut, 0);
}

TEST(Sampling, DrawsTheTokenAfterThePrefixFromThoseThatMayFollow) {
    const Model model = random_model(9, 2, 0.3, 5);
    const std::vector<Tokens> sources{source_of(4, 9, 1)};
    const std::vector<std::int64_t> lines{0};
    const Tokens prefix{6, 5}, may_follow{2, 7};
    for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 1}, Sampling{.top_k = 4, .temperature = 2}}) {
        std::vector<double> wanted = next_log_probabilities(*model, sources[0], prefix);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (i != 2 && i != 7) wanted[i] = -1e9;
        const auto drawn =
            sample(*model, sources, lines, {.n_best = samples, .prefix = prefix, .first = may_follow, .sampling = sampling});
        expect_draws(counts_at(2, drawn.front()), wanted, sampling, 2);
    }
}

// Neighbouring lines, samples and seeds are not copies of one another.
TEST(Sampling, LinesAndSeedsDrawIndependently) {
    const Model model = random_model(9, 2, 0.3);
    const Tokens source = source_of(4, 9, 1);
    const std::vector<double> wanted = next_log_probabilities(*model, source, {});
    const std::vector<Tokens> sources(4000, source);
    std::vector<std::int64_t> lines(4000);
    std::iota(lines.begin(), lines.end(), 0);
    std::vector<Hypothesis> by_line, by_seed;
    for (const auto& each : sample(*model, sources, lines, {.sampling = Sampling{}})) by_line.push_back(each[0]);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) by_seed.push_back(drawn(*model, source, 1, {.seed = seed})[0]);
    expect_draws(counts_at(0, by_line), wanted, {});
    expect_draws(counts_at(0, by_seed), wanted, {});
}

TEST(Sampling, DependsOnSeedLineAndNumberAlone) {
    const Model model = random_model(30, 4);
    std::vector<Tokens> sources;
    std::vector<std::int64_t> lines;
    for (std::uint64_t i = 0; i < 12; ++i) {
        sources.push_back(source_of(1 + static_cast<std::int64_t>(i * 5 % 11), 30, i / 2));
        lines.push_back(static_cast<std::int64_t>(100 + 7 * i));
    }
    const Sampling sampling{.top_k = 20, .temperature = 0.9, .seed = 3};
    std::set<Tokens> different;
    for (const int count : {1, 3}) {
        const WithThreads on(count);
        const HypothesisLists together = sample(*model, sources, lines, {.n_best = 3, .prefix = {}, .sampling = sampling});
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const std::vector<Hypothesis> alone = drawn(*model, sources[i], 3, sampling, {}, lines[i]);
            const std::vector<Hypothesis> more = drawn(*model, sources[i], 5, sampling, {}, lines[i]);
            for (std::size_t s = 0; s < 3; ++s) {
                EXPECT_EQ(together[i][s].tokens, alone[s].tokens) << "source " << i << ", " << count << " threads";
                EXPECT_EQ(together[i][s].log_probability, alone[s].log_probability);
                EXPECT_EQ(more[s].tokens, alone[s].tokens) << "the first samples of more are the same";
                different.insert(alone[s].tokens);
            }
        }
    }
    EXPECT_GT(different.size(), 30u);
    EXPECT_NE(drawn(*model, sources[5], 1, {.seed = 3})[0].tokens, drawn(*model, sources[5], 1, {.seed = 4})[0].tokens);
}

TEST(Sampling, OneTokenOrATinyTemperatureIsGreedy) {
    const Model model = random_model(12, 3);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Tokens source = source_of(3, 12, seed);
        Tokens wanted;
        while (static_cast<std::int64_t>(wanted.size()) < longest_translation(*model, 3)) {
            const std::vector<double> next = next_log_probabilities(*model, source, wanted);
            const auto best = static_cast<std::int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
            if (best == end_mark) break;
            wanted.push_back(best);
        }
        EXPECT_EQ(drawn(*model, source, 1, {.top_k = 1, .seed = seed})[0].tokens, wanted);
        EXPECT_EQ(drawn(*model, source, 1, {.temperature = 1e-6, .seed = seed})[0].tokens, wanted);
    }
}

// A source's samples are decoded some at a time, so that many of them do not need memory for all.
TEST(Sampling, HowManyAreDrawnTogetherChangesNothing) {
    const Model model = random_model(12, 3);
    const std::vector<Tokens> sources{source_of(3, 12, 1), source_of(5, 12, 2)};
    const std::vector<std::int64_t> lines{4, 9};
    DecodeOptions options{.n_best = 20, .samples_at_once = 20, .sampling = Sampling{.seed = 5}};
    const HypothesisLists wanted = sample(*model, sources, lines, options);
    for (const std::int64_t at_once : {1, 7, 10, 100}) {
        options.samples_at_once = at_once;
        const HypothesisLists found = sample(*model, sources, lines, options);
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            ASSERT_EQ(found[i].size(), 20u);
            for (std::size_t s = 0; s < 20; ++s) {
                EXPECT_EQ(found[i][s].tokens, wanted[i][s].tokens) << at_once << ", sample " << s;
                EXPECT_EQ(found[i][s].log_probability, wanted[i][s].log_probability);
            }
        }
    }
    EXPECT_NE(wanted[0][0].tokens, wanted[0][7].tokens);
}

TEST(Sampling, WrongUseIsAnError) {
    const Model model = random_model(9, 1);
    const Tokens source{4, end_mark};
    const std::vector<Tokens> sources{source};
    EXPECT_TRUE(sample(*model, {}, {}, {.sampling = Sampling{}}).empty());
    expect_error([&] { drawn(*model, source, 0, {}); }, "0 samples");
    expect_error([&] { drawn(*model, source, 1, {.temperature = 0}); }, "a temperature of 0, wanted more than 0");
    expect_error([&] { drawn(*model, source, 1, {.top_k = -1}); }, "top_k is -1");
    expect_error([&] { sample(*model, sources, std::vector<std::int64_t>{0}, {.samples_at_once = 0, .sampling = Sampling{}}); },
                 "samples_at_once is 0");
    expect_error([&] { sample(*model, sources, {}, {.sampling = Sampling{}}); }, "1 sources, but 0 numbers");
    const std::vector<std::int64_t> lines{0};
    expect_error([&] { sample(*model, sources, lines, {.sampling = Sampling{}, .forbidden = {end_mark}}); },
                 "the end mark is forbidden");
}

}  // namespace
}  // namespace heddle::nn
