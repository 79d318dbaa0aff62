// Attention with biases, masks of each head and grouped keys, on every device and in every dtype; and on batches within a
// capacity, as captured training steps have them.
#include <fmt/format.h>

#include "tests/kernels/attention_device_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

TEST(AttentionBiasDevice, TakesBiasesMasksOfHeadsAndGroupedKeys) {
    for (const auto& [what, one] : cases_of_biases_and_groups(false)) expect_formula(one, what);
}

TEST(AttentionBiasDevice, TakesBiasesMasksOfHeadsAndGroupedKeysInShortSentences) {
    for (const auto& [what, one] : cases_of_biases_and_groups(true)) expect_formula(one, what);
}

// Each kernel that has a form of its own for a bias: tiles and short sentences, every width, every dtype.
void expect_bias_and_groups(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& widths) {
    for (const std::int64_t width : widths) {
        AttentionRules rules = self_rules(Spans::packed(lengths), 2);
        rules.key_heads = 1;
        add_bias(rules, width == 72, 3);
        expect_formula(make_case(rules, width, width, true),
                       fmt::format("bias and grouped keys, {} tokens, {} columns", lengths.back(), width));
    }
}

TEST(AttentionBiasDevice, TakesABiasAndGroupedKeysInEveryWidth) {
    expect_bias_and_groups({17, 3}, {40, 72});
    expect_bias_and_groups({9, 3}, {136});
}

TEST(AttentionBiasDevice, TakesABiasAndGroupedKeysInEveryWidthOfLongSentences) { expect_bias_and_groups({5, 66}, {40, 72}); }

// The bias may be f32 beside bf16: here numbers that bf16 does not have.
TEST(AttentionBiasDevice, TakesABiasInF32BesideBf16) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{17, 3}), 2);
    rules.bias = normal({2, 17, 17}, DType::f32, 3, 0, 40);
    const AttentionCase at = make_case(rules, 8, 8, true);
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.dtype != DType::bf16) continue;
        AttentionCase reference = reference_of(numbers, at), here = on(numbers, at);
        reference.rules.bias = at.rules.bias.to(DType::f64);
        here.rules.bias = at.rules.bias.to(numbers.device);
        const NaiveAttention want = naive_attention(reference);
        expect_close(here.forward().output, want.output, numbers, "an f32 bias", {}, naive_attention(reference, true).output);
        expect_log_sums(here.forward(), reference, "an f32 bias");
    }
}

// More sentences than one block of the bias' gradient takes.
TEST(AttentionBiasDevice, SumsTheGradientOfABiasOverManySentences) {
    for (const bool shared : {false, true}) {
        AttentionRules rules = self_rules(Spans::packed(random_lengths(40, 12, 4)), 2);
        rules.dropout = Dropout(0.2, 3);
        add_bias(rules, shared, 3);
        expect_formula(make_case(rules, 8, 8, true), fmt::format("40 sentences, one bias for all heads {}", shared));
    }
}

TEST(AttentionBiasDevice, TakesEveryRuleBesideABiasAndGroupedKeysInWideHeads) {
    for (const auto& [queries, keys, width] : {std::tuple{66, 66, 128}, {40, 70, 64}}) {
        AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{queries}),
                             .key_spans = Spans::packed(std::vector<std::int64_t>{keys}),
                             .heads = 2,
                             .key_heads = 1,
                             .causal = width == 64,
                             .mask = random_mask({1, 2, queries, keys}, 0.7, 4)};
        rules.dropout = Dropout(0.2, 7);
        add_bias(rules, width == 64, 5);
        expect_formula(make_case(rules, width, width, false), fmt::format("biased, {} queries, {} columns", queries, width));
    }
}

// Batches within a capacity have empty sentences and rows of no sentence at the end, and work lists as long as any batch of the
// capacity could need: every kernel meets tiles without a row. The sentences keep their bits, and the rest is zeros.
TEST(AttentionCapacity, GivesABatchWithinACapacityTheSameBits) {
    const auto expect_same = [](const Tensor& within, const Tensor& alone, const std::string& what) {
        const Tensor rows = within.to(Device::cpu);
        EXPECT_TRUE(same_bits(rows.slice(0, alone.dim(0)).clone(), alone.to(Device::cpu))) << what;
        for (const double value : rows.slice(alone.dim(0), rows.dim(0)).to_vector()) EXPECT_EQ(value, 0) << what;
    };
    const auto expect_within = [&](const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                                   std::int64_t longest, int dk) {
        const Spans query_spans = Spans::packed(queries), key_spans = Spans::packed(keys);
        for (const bool causal : {false, true})
            for (const Numbers& numbers : all_numbers()) {
                const std::string what = fmt::format("dk {}, causal {}, {}", dk, causal, to_string(numbers));
                AttentionRules rules{.query_spans = query_spans.within({80, 4, longest}),
                                     .key_spans = key_spans.within({90, 4, longest}),
                                     .heads = 1,
                                     .causal = causal,
                                     .dropout = Dropout(0.2, 5)};
                const AttentionCase within = on(numbers, make_case(rules, dk, dk, false));
                AttentionCase alone = within;
                alone.rules.query_spans = query_spans;
                alone.rules.key_spans = key_spans;
                alone.query_base = within.query_base.slice(0, query_spans.rows());
                alone.key_base = within.key_base.slice(0, key_spans.rows());
                alone.d_output = within.d_output.slice(0, query_spans.rows());
                const AttentionResult result = within.forward(), want = alone.forward();
                expect_same(result.output, want.output, what);
                expect_same(result.log_sum, want.log_sum, what);
                const Gradients g = backward_of(within, result), wanted = backward_of(alone, want);
                expect_same(g.query, wanted.query, what);
                expect_same(g.key, wanted.key, what);
                expect_same(g.value, wanted.value, what);
            }
    };
    expect_within({17, 1, 20}, {5, 33, 2}, 64, 16);  // short ones
    expect_within({66, 9}, {65, 3}, 128, 32);        // by tensor cores
    expect_within({3, 2}, {2, 5}, 128, 130);         // too wide for these
}

}  // namespace
}  // namespace heddle::kernels
