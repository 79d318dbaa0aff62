// Attention with biases, masks of each head and grouped keys, on every device and in every dtype.
#include <fmt/format.h>

#include "tests/kernels/attention_device_cases.h"

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

}  // namespace
}  // namespace heddle::kernels
