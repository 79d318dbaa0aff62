#include <fmt/format.h>

#include <iostream>

#include "kernels/device/inspect.h"
#include "tests/kernels/attention_device_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// The lengths at which tiles end, in one batch: blocks of every kind beside each other.
const std::vector<std::int64_t> kLengths{1, 31, 0, 32, 33, 63, 64, 65, 127};

TEST(AttentionDevice, FollowsTheFormulaForEveryLength) {
    for (const bool causal : {false, true}) {
        AttentionRules rules = self_rules(Spans::packed(kLengths), 1);
        rules.causal = causal;
        expect_formula(make_case(rules, 16, 16, true), fmt::format("every length, causal {}", causal));
    }
}

// Batches of sentences of up to 64 tokens have kernels of their own.
TEST(AttentionDevice, FollowsTheFormulaForShortSentences) {
    const std::vector<std::int64_t> lengths{1, 16, 0, 31, 33, 64, 0}, others{64, 3, 5, 0, 32, 64, 0};
    for (const bool causal : {false, true}) {
        AttentionRules rules{
            .query_spans = Spans::packed(lengths), .key_spans = Spans::padded(others, 65), .heads = 1, .causal = causal};
        expect_formula(make_case(rules, 16, 16, false), fmt::format("short sentences, causal {}", causal));
        rules.mask = random_mask({64, 64}, 0.5, 3);
        rules.dropout = Dropout(0.3, 5);
        expect_formula(make_case(rules, 40, 33, false), fmt::format("short sentences with mask and dropout, causal {}", causal));
    }
}

// In a batch with a sentence of more than 64 tokens, too, which the kernels for short sentences do not take.
TEST(AttentionDevice, TakesAnyHeadWidth) {
    const auto expect_widths = [](const Spans& spans, const std::vector<std::pair<int, int>>& widths) {
        for (const auto& [dk, dv] : widths)
            expect_formula(make_case(self_rules(spans, 2), dk, dv, true), fmt::format("dk {}, dv {}", dk, dv));
    };
    expect_widths(Spans::packed(std::vector<std::int64_t>{17, 1}),
                  {{1, 1}, {3, 5}, {17, 31}, {32, 32}, {33, 7}, {64, 64}, {48, 65}, {128, 128}});
    expect_widths(Spans::packed(std::vector<std::int64_t>{65, 1}), {{17, 31}, {33, 64}, {100, 128}});
    expect_widths(Spans::packed(std::vector<std::int64_t>{5}), {{130, 3}, {200, 256}});
}

TEST(AttentionDevice, TakesMasksCausalDropoutAndGapsTogether) {
    for (const auto& [what, one] : cases_of_every_rule()) expect_formula(one, what);
}

TEST(AttentionDevice, DropsTheSameWeightsInLongSentencesAndWideHeads) {
    for (const auto& [time, width] : {std::pair{131, 33}, {67, 64}, {35, 128}, {18, 136}}) {
        AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{time}), 1);
        rules.dropout = Dropout(0.1, 7);
        rules.causal = true;
        expect_formula(make_case(rules, width, width, true), fmt::format("time {}, width {}", time, width));
    }
}

// Dropout, the causal rule and a mask at once, in each kernel of the tiled path: heads of 40, 64 and 128 columns take different
// tiles.
TEST(AttentionDevice, TakesEveryRuleAtOnceInLongSentencesAndWideHeads) {
    for (const auto& [queries, keys, width] : {std::tuple{131, 131, 40}, {67, 67, 128}, {40, 70, 64}}) {
        AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{queries}),
                             .key_spans = Spans::packed(std::vector<std::int64_t>{keys}),
                             .heads = 1,
                             .causal = true,
                             .mask = random_mask({queries, keys}, 0.7, 4)};
        rules.dropout = Dropout(0.2, 7);
        expect_formula(make_case(rules, width, width, false), fmt::format("{} queries, {} columns", queries, width));
        rules.causal = false;
        if (width == 64) expect_formula(make_case(rules, width, width, false), fmt::format("not causal, {} columns", width));
    }
}

// Alone a short sentence goes another way than beside one of more than 64 tokens. The kernels are watched at these sizes in other
// tests.
TEST(AttentionDevice, ASentenceHasTheSameBitsAloneAndBesideALargeOne) {
    for (const std::int64_t width : {32, 40, 64, 128})
        for (const std::int64_t length : {1, 33, 64})
            for (const bool causal : {false, true}) {
                AttentionRules rules =
                    self_rules(Spans::packed(std::vector<std::int64_t>{length, 70}), causal && length == 33 ? 2 : 1);
                rules.causal = causal;
                rules.key_heads = 1;
                if (rules.heads == 2) add_bias(rules, false, 5);
                rules.dropout = Dropout(causal ? 0.2 : 0, 3);
                const AttentionCase both = make_case(rules, width, width, true);
                AttentionCase alone = both;
                alone.query_base = alone.key_base = both.key_base.slice(0, length).clone();
                alone.d_output = both.d_output.slice(0, length).clone();
                alone.rules.query_spans = alone.rules.key_spans = Spans::packed(std::vector<std::int64_t>{length});
                for (const Numbers& numbers : all_numbers()) {
                    const AttentionCase here = on(numbers, alone), there = on(numbers, both);
                    const AttentionResult a = here.forward(), b = there.forward();
                    const Gradients c = backward_of(here, a), d = backward_of(there, b);
                    const auto same = [&](const Tensor& one, const Tensor& of_two) {
                        return same_bits(one.to(Device::cpu), of_two.slice(0, length).to(Device::cpu));
                    };
                    const std::string what = fmt::format("{}: {} tokens, {} columns", to_string(numbers), length, width);
                    EXPECT_TRUE(same(a.output, b.output) && same(a.log_sum, b.log_sum)) << what;
                    EXPECT_TRUE(same(c.query, d.query) && same(c.key, d.key) && same(c.value, d.value)) << what;
                }
            }
}

TEST(AttentionDevice, QueriesBeforeTheFirstKeySeeNothingWhenCausal) {
    AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{40, 70}),
                         .key_spans = Spans::packed(std::vector<std::int64_t>{3, 66}),
                         .heads = 1,
                         .causal = true};
    expect_formula(make_case(rules, 8, 8, false), "more queries than keys");
    rules.query_spans = rules.key_spans;
    rules.key_spans = Spans::packed(std::vector<std::int64_t>{40, 130});
    expect_formula(make_case(rules, 8, 8, false), "more keys than queries");
}

TEST(AttentionDevice, FullyMaskedRowsGiveZerosAndZeroGradients) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{6, 70}), 2);
    rules.mask = Tensor::zeros({70, 70}, DType::u8);
    for (const Numbers& numbers : all_numbers()) {
        const AttentionCase at = on(numbers, make_case(rules, 8, 8, true));
        const AttentionResult result = at.forward();
        const Gradients g = backward_of(at, result);
        for (const Tensor& tensor : {result.output, g.query, g.key, g.value})
            for (const double value : tensor.to_vector()) ASSERT_EQ(value, 0.0) << to_string(numbers);
        for (const double value : result.log_sum.to_vector()) ASSERT_EQ(value, INFINITY) << to_string(numbers);
    }
}

// Rows that belong to no sentence, or that the mask hides from all, may hold NaN: nothing changes, not even by a bit.
TEST(AttentionDevice, NeighboursAndHiddenRowsMayHoldNaN) {
    const std::vector<std::int64_t> lengths{7, 40, 1, 68};
    const Spans spans({{1, 70}, {71, 70}, {141, 70}, {214, 70}}, 285);
    Spans real({{1, 7}, {71, 40}, {141, 1}, {214, 68}}, 285);
    for (const bool causal : {false, true})
        for (const Numbers& numbers : all_numbers()) {
            AttentionRules rules = self_rules(spans, 1);
            rules.causal = causal;
            rules.mask = Tensor::zeros({4, 70, 70}, DType::u8);
            for (std::int64_t s = 0; s < 4; ++s)
                for (std::int64_t i = 0; i < lengths[static_cast<std::size_t>(s)]; ++i)
                    std::fill_n(rules.mask.mutable_data<std::uint8_t>() + (s * 70 + i) * 70, lengths[static_cast<std::size_t>(s)],
                                1);
            AttentionCase clean = make_case(rules, 8, 20, true);
            AttentionCase dirty = clean;
            dirty.query_base = dirty.key_base = clean.key_base.clone();
            dirty.d_output = clean.d_output.clone();
            poison_gaps(dirty.key_base, real);
            poison_gaps(dirty.d_output, real);
            clean = on(numbers, clean);
            dirty = on(numbers, dirty);
            const AttentionResult wanted = clean.forward(), given = dirty.forward();
            const Gradients all = backward_of(clean, wanted), g = backward_of(dirty, given);
            const auto same = [](const Tensor& a, const Tensor& b) { return same_bits(a.to(Device::cpu), b.to(Device::cpu)); };
            EXPECT_TRUE(same(given.output, wanted.output) && same(given.log_sum, wanted.log_sum)) << to_string(numbers);
            EXPECT_TRUE(same(g.query, all.query) && same(g.key, all.key) && same(g.value, all.value)) << to_string(numbers);
        }
}

// A NaN in a row that takes part stays: it reaches every sum that it belongs to, under every rule and on every path.
TEST(AttentionDevice, NaNInARowThatTakesPartStays) {
    const auto expect_nan = [](const Tensor& tensor, std::int64_t row, const std::string& what) {
        for (const double value : tensor.slice(row, row + 1).to_vector()) ASSERT_TRUE(std::isnan(value)) << what;
    };
    struct Shape {
        std::int64_t queries, keys, width;
    };
    enum Place { query, key, value };
    for (const auto& [queries, keys, width] : {Shape{12, 9, 8}, {70, 67, 8}, {20, 18, 72}, {4, 3, 136}})
        for (const bool causal : {false, true})
            for (const bool masked : {false, true})
                for (const Place place : {query, key, value}) {
                    AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{queries}),
                                         .key_spans = Spans::packed(std::vector<std::int64_t>{keys}),
                                         .heads = 1,
                                         .causal = causal};
                    if (masked) rules.mask = Tensor::full({queries, keys}, 1, DType::u8);
                    AttentionCase at = make_case(rules, width, width, false);
                    const std::int64_t last = queries - 1;  // it sees all keys
                    if (place == query)
                        at.query_base.mutable_data<float>()[last * at.query_base.cols() + 1] = NAN;
                    else
                        at.key_base.mutable_data<float>()[(place == key ? 1 : 2) * width + 1] = NAN;  // key 0
                    for (const Numbers& numbers : all_numbers()) {
                        const AttentionCase here = on(numbers, at);
                        const AttentionResult result = here.forward();
                        const Gradients g = backward_of(here, result);
                        const std::string what = fmt::format("{}, {} queries, {} columns, causal {}, mask {}, NaN in {}",
                                                             to_string(numbers), queries, width, causal, masked,
                                                             place == query ? "a query"
                                                             : place == key ? "a key"
                                                                            : "a value");
                        if (place == value)
                            EXPECT_TRUE(std::isnan(result.output.to_vector()[static_cast<std::size_t>(last * width + 1)]))
                                << what;
                        else
                            expect_nan(result.output, last, what + ": output");
                        expect_nan(g.query, last, what + ": d_query");
                        expect_nan(g.key, 0, what + ": d_key");
                        if (place != value) expect_nan(g.value, 0, what + ": d_value");
                    }
                }
}

TEST(AttentionDevice, GradientsLandInColumnsOfOneTensorAndNowhereElse) {
    const Spans spans({{0, 5}, {6, 20}}, 27);
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t first : {0, 3}) {  // aligned to 16 bytes, and not
            const AttentionCase at = on(numbers, make_case(self_rules(spans, 2), 8, 8, true));
            const AttentionResult result = at.forward();
            const Gradients apart = backward_of(at, result);
            const Tensor together = Tensor::full({27, 64 + first}, -7, numbers.dtype, numbers.device);
            attention_backward(at.query(), at.key(), at.value(), at.rules, result, at.d_output,
                               {{together, first, 16}, {together, first + 16, 16}, {together, first + 40, 16}});
            const std::vector<double> given = together.to_vector(), query = apart.query.to_vector(), key = apart.key.to_vector(),
                                      value = apart.value.to_vector();
            for (std::int64_t row = 0; row < 27; ++row)
                for (std::int64_t column = 0; column < 64 + first; ++column) {
                    const std::int64_t c = column - first;
                    const auto from = [&](const std::vector<double>& tensor, std::int64_t begin) {
                        return tensor[static_cast<std::size_t>(row * 16 + c - begin)];
                    };
                    const double wanted = c >= 0 && c < 16    ? from(query, 0)
                                          : c >= 16 && c < 32 ? from(key, 16)
                                          : c >= 40 && c < 56 ? from(value, 40)
                                                              : -7;
                    ASSERT_EQ(given[static_cast<std::size_t>(row * (64 + first) + column)], wanted)
                        << to_string(numbers) << ": " << row << ", " << column;
                }
        }
}

TEST(AttentionDevice, GradientsThatNobodyWantsDoNotChangeTheOthers) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{9, 3});
    for (const Numbers& numbers : all_numbers()) {
        const AttentionCase at = on(numbers, make_case(self_rules(spans, 2), 8, 8, true));
        const AttentionResult result = at.forward();
        const Gradients all = backward_of(at, result);
        for (int wanted = 0; wanted < 3; ++wanted) {
            const Tensor alone = Tensor::full({12, 16}, NAN, numbers.dtype, numbers.device);
            AttentionGradients gradients;
            (wanted == 0 ? gradients.query : wanted == 1 ? gradients.key : gradients.value) = alone;
            attention_backward(at.query(), at.key(), at.value(), at.rules, result, at.d_output, gradients);
            const Tensor& same = wanted == 0 ? all.query : wanted == 1 ? all.key : all.value;
            EXPECT_TRUE(same_bits(alone.to(Device::cpu), same.to(Device::cpu))) << to_string(numbers) << ", gradient " << wanted;
        }
    }
}

TEST(AttentionDevice, HugeScoresNeitherOverflowNorVanish) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{20, 70}), 1);
    for (const double scale : {1e4, -1.0}) {
        rules.scale = scale;
        for (const Numbers& numbers : all_numbers()) {
            const AttentionCase at = make_case(rules, 8, 8, true), here = on(numbers, at);
            const AttentionCase reference = reference_of(numbers, at);
            const AttentionResult result = here.forward();
            // Scores of 1e5 have an ulp of 0.008 in f32.
            expect_close(result.output, naive_attention(reference).output, numbers, "large scores", {.f64 = 1e-9, .f32 = 3e-2},
                         naive_attention(reference, true).output);
            const Gradients g = backward_of(here, result);
            for (const Tensor& tensor : {g.query, g.key, g.value})
                for (const double value : tensor.to_vector()) ASSERT_TRUE(std::isfinite(value)) << to_string(numbers);
        }
    }
}

TEST(AttentionDevice, GivesTheSameBitsAgain) {
    AttentionRules rules = self_rules(Spans::packed(random_lengths(6, 80, 4)), 2);
    rules.dropout = Dropout(0.2, 17);
    for (const Numbers& numbers : all_numbers()) {
        const AttentionCase at = on(numbers, make_case(rules, 8, 8, true));
        expect_same_bits_again(
            [&] {
                const AttentionResult result = at.forward();
                const Gradients g = backward_of(at, result);
                return std::vector<Tensor>{result.output, result.log_sum, g.query, g.key, g.value};
            },
            "attention on " + to_string(numbers));
    }
}

TEST(AttentionDevice, WeightsSumToOneAndAreExactlyZeroWhereMasked) {
    const Spans queries({{0, 4}, {4, 6}}, 10), keys({{0, 37}, {39, 6}}, 45);
    const AttentionRules rules{
        .query_spans = queries, .key_spans = keys, .heads = 2, .causal = true, .mask = random_mask({2, 6, 37}, 0.6, 3)};
    const AttentionCase at = make_case(rules, 8, 8, false);
    for (const Numbers& numbers : all_numbers()) {
        const AttentionCase here = on(numbers, at);
        const Tensor weights = attention_weights(here.query(), here.key(), here.rules);
        const Tensor want = naive_attention(reference_of(numbers, at)).weights;
        expect_close(weights, want, numbers, "weights");
        const std::vector<double> given = weights.to_vector(), wanted = want.to_vector();
        for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(given[i] == 0, wanted[i] == 0) << to_string(numbers);
    }
}

// One sentence of 65 tokens sends all of them to the tiled kernel, a block each. On a GPU these are more than a grid's y holds;
// that no attention kernel has such an axis is a rule of kernel_rules_test.
TEST(AttentionDevice, LargeBatchesHaveATileForEachSentence) {
    const std::size_t sentences = device::available() && !device::emulated() ? 66'000 : 2'600;
    std::vector<std::int64_t> lengths(sentences, 1);
    lengths.back() = 65;
    const Spans spans = Spans::packed(lengths);
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device != Device::cuda || numbers.dtype != DType::bf16) continue;
        const AttentionCase at = on(numbers, make_case(self_rules(spans, 1), 2, 2, true));
        const AttentionResult result = at.forward();
        const std::vector<double> given = result.output.to_vector(), keys = at.key_base.to_vector();
        for (std::size_t row = 0; row + 1 < sentences; ++row)
            for (std::size_t c = 0; c < 2; ++c) ASSERT_EQ(given[row * 2 + c], keys[row * 6 + 4 + c]) << row;
    }
}

// Shared-memory cycles of backward on tensor cores for each mma that the five products of the formula need; both passes make S
// and dP again. The own rows stay in registers, as far as there is room.
TEST(AttentionCosts, BackwardTakesFewSharedCyclesForAProduct) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "a GPU counts no cycles";
    constexpr std::int64_t kTime = 256, kMma = 16 * 8 * 16;
    for (const auto& [width, most] : {std::pair{32, 2.0}, {64, 2.75}, {128, 3.9}}) {
        const Numbers numbers{Device::cuda, DType::bf16};
        const AttentionCase one =
            on(numbers, make_case(self_rules(Spans::packed(std::vector<std::int64_t>{kTime}), 1), width, width, true));
        const AttentionResult forward = attention_forward(one.query(), one.key(), one.value(), one.rules, true);
        const device::Traffic traffic = device::traffic_of([&] { backward_of(one, forward); });
        const double each = static_cast<double>(traffic.shared_cycles) / (5.0 * kTime * kTime * width / kMma);
        std::cout << "heads of " << width << ": " << each << " shared-memory cycles for each mma\n";
        EXPECT_LE(each, most) << width;
    }
}

}  // namespace
}  // namespace heddle::kernels
