#include "kernels/attention/attention.h"

#include <fmt/format.h>

#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_pieces.h"
#include "tests/kernels/attention_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

AttentionResult forward_of(const AttentionCase& at, bool reference) {
    return (reference ? attention_forward_reference : attention_forward)(at.query(), at.key(), at.value(), at.rules, true);
}

struct ThreeGradients {
    Tensor query, key, value;
    Tensor bias = {};  // where there is one
};

// Each in a tensor of its own, unwritten elements NaN.
ThreeGradients backward_of(const AttentionCase& at, const AttentionResult& forward, bool reference) {
    const auto poisoned = [](const Columns& like) { return Tensor::full({like.rows(), like.count}, NAN, like.base.dtype()); };
    ThreeGradients g{poisoned(at.query()), poisoned(at.key()), poisoned(at.value())};
    if (at.rules.bias.defined()) g.bias = Tensor::full(at.rules.bias.shape(), NAN, at.rules.bias.dtype());
    (reference ? attention_backward_reference : attention_backward)(at.query(), at.key(), at.value(), at.rules, forward,
                                                                    at.d_output, {g.query, g.key, g.value, g.bias});
    return g;
}

// d_query and d_key are sums of P (dP - mean), in which nearly equal numbers cancel: rounding errors are bounded by the sum of
// the terms' absolute values, not by the result (Higham 2002, equation 3.5). The tolerance for it is a few roundings only.
void expect_formula(const AttentionCase& at, const NaiveAttention& wanted, bool reference, double tolerance,
                    double terms_tolerance, const std::string& what) {
    const AttentionResult result = forward_of(at, reference);
    const ThreeGradients g = backward_of(at, result, reference);
    EXPECT_LE(relative_error(result.output, wanted.output), tolerance) << what << ", output";
    EXPECT_LE(error_among(g.query, wanted.d_query, wanted.d_query_terms), terms_tolerance) << what << ", d_query";
    EXPECT_LE(error_among(g.key, wanted.d_key, wanted.d_key_terms), terms_tolerance) << what << ", d_key";
    EXPECT_LE(relative_error(g.value, wanted.d_value), tolerance) << what << ", d_value";
    if (g.bias.defined()) {
        EXPECT_LE(error_among(g.bias, wanted.d_bias, wanted.d_bias_terms), terms_tolerance) << what << ", d_bias";
    }
}

// Both paths and both dtypes, forward and backward.
void expect_formula(const AttentionCase& at, const std::string& what) {
    const NaiveAttention wanted = naive_attention(at.to(DType::f64));
    expect_formula(at.to(DType::f64), wanted, true, 1e-13, 2e-15, what + ", f64");
    expect_formula(at, wanted, true, 1e-6, 2e-7, what + ", f32 by the reference");
    expect_formula(at, wanted, false, 2e-6, 4e-7, what + ", f32");
}

// Rows [span.start, span.start + span.length) in the order of the sentences.
Tensor sentence_rows(const Tensor& tensor, const Span& span) {
    return tensor.slice(span.start, span.start + span.length).clone();
}

TEST(Attention, FollowsTheFormulaForEverySize) {
    for (const std::int64_t time : {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127}) {
        const Spans spans = Spans::packed(std::vector<std::int64_t>{time});
        for (const bool causal : {false, true}) {
            AttentionRules rules = self_rules(spans, 2);
            rules.causal = causal;
            expect_formula(make_case(rules, 8, 8, true), fmt::format("time {}, causal {}", time, causal));
        }
    }
}

TEST(Attention, FollowsTheFormulaForALongSentence) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{1025}), 1);
    rules.causal = true;
    expect_formula(make_case(rules, 4, 3, true), "time 1025");
}

TEST(Attention, TakesAnyHeadWidth) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{5, 19, 1});
    for (const auto& [dk, dv] : {std::pair{1, 1}, {3, 5}, {15, 16}, {17, 31}, {32, 32}, {33, 7}, {64, 48}, {127, 65}})
        expect_formula(make_case(self_rules(spans, 3), dk, dv, true), fmt::format("dk {}, dv {}", dk, dv));
}

TEST(Attention, TakesMasksCausalDropoutAndGapsTogether) {
    for (const auto& [what, one] : cases_of_every_rule()) expect_formula(one, what);
}

TEST(Attention, TakesBiasesMasksOfHeadsAndGroupedKeys) {
    for (const auto& [what, one] : cases_of_biases_and_groups(false)) expect_formula(one, what);
}

// Four query heads over two heads of keys are attention with each head of keys written twice, whose gradients add up.
TEST(Attention, GroupedKeysAreRepeatedKeys) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{14, 1, 70}), 4);
    rules.causal = true;
    AttentionCase repeated = make_case(rules, 8, 8, true);
    for (std::int64_t row = 0; row < 85; ++row)
        for (const std::int64_t head : {4, 6, 8, 10})  // of keys, then of values: the odd ones are copies
            std::copy_n(repeated.key_base.data<float>() + row * 96 + head * 8, 8,
                        repeated.key_base.mutable_data<float>() + row * 96 + (head + 1) * 8);
    for (const DType dtype : {DType::f32, DType::f64}) {
        const AttentionCase wide = repeated.to(dtype);
        AttentionRules grouped = rules;
        grouped.key_heads = 2;
        const auto half = [&](const Columns& from) {  // the even heads
            Tensor to = Tensor::empty({85, 16}, dtype);
            const std::vector<double> all = from.base.to_vector();
            std::vector<double> some;
            for (std::int64_t row = 0; row < 85; ++row)
                for (std::int64_t c = 0; c < 16; ++c)
                    some.push_back(all[static_cast<std::size_t>(row * from.pitch() + from.begin + c / 8 * 16 + c % 8)]);
            to.copy_(Tensor::from(some, {85, 16}).to(dtype));
            return to;
        };
        const Tensor key = half(wide.key()), value = half(wide.value());
        const AttentionResult wanted = wide.forward(), got = attention_forward(wide.query(), key, value, grouped);
        EXPECT_TRUE(same_bits(got.output, wanted.output) && same_bits(got.log_sum, wanted.log_sum));
        const ThreeGradients of_wide = backward_of(wide, wanted, false);
        ThreeGradients g{Tensor::full({85, 32}, NAN, dtype), Tensor::full({85, 16}, NAN, dtype),
                         Tensor::full({85, 16}, NAN, dtype)};
        attention_backward(wide.query(), key, value, grouped, got, wide.d_output, {g.query, g.key, g.value});
        EXPECT_TRUE(same_bits(g.query, of_wide.query));
        const auto pairs = [](const Tensor& of_heads) {
            const std::vector<double> all = of_heads.to_vector();
            std::vector<double> sums;
            for (std::size_t row = 0; row < 85; ++row)
                for (std::size_t c = 0; c < 16; ++c) {
                    const std::size_t at = row * 32 + c / 8 * 16 + c % 8;
                    sums.push_back(all[at] + all[at + 8]);
                }
            return Tensor::from(sums, {85, 16});
        };
        const double tolerance = dtype == DType::f64 ? 1e-14 : 1e-6;
        EXPECT_LE(relative_error(g.key, pairs(of_wide.key)), tolerance);
        EXPECT_LE(relative_error(g.value, pairs(of_wide.value)), tolerance);
    }
}

// A bias that is 0 where a query may attend and -inf elsewhere hides like a mask, to the bit of each output and gradient.
TEST(Attention, ABiasOfMinusInfinityIsAMask) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{14, 1, 70}), 2);
    rules.mask = random_mask({1, 2, 70, 70}, 0.5, 3);
    AttentionRules biased = rules;
    biased.mask = {};
    biased.bias = Tensor::zeros({2, 70, 70}, DType::f32);
    for (std::int64_t i = 0; i < biased.bias.numel(); ++i)
        if (rules.mask.data<std::uint8_t>()[i] == 0) biased.bias.mutable_data<float>()[i] = -INFINITY;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const AttentionCase masked = make_case(rules, 8, 8, true).to(dtype), other = make_case(biased, 8, 8, true).to(dtype);
        const AttentionResult a = masked.forward(), b = other.forward();
        const ThreeGradients c = backward_of(masked, a, false), d = backward_of(other, b, false);
        EXPECT_TRUE(same_bits(a.output, b.output) && same_bits(a.log_sum, b.log_sum));
        EXPECT_TRUE(same_bits(c.query, d.query) && same_bits(c.key, d.key) && same_bits(c.value, d.value));
    }
}

TEST(Attention, MoreQueriesThanKeysLeavesTheFirstRowsWithoutKeysWhenCausal) {
    AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{40}),
                         .key_spans = Spans::packed(std::vector<std::int64_t>{3}),
                         .heads = 1,
                         .causal = true};
    const AttentionCase at = make_case(rules, 8, 8, false);
    expect_formula(at, "40 queries, 3 keys");
    const AttentionResult result = at.forward();
    for (std::int64_t row = 0; row < 37; ++row) {
        EXPECT_EQ(result.log_sum.data<float>()[row], INFINITY);
        for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(result.output.data<float>()[row * 8 + c], 0.0f);
    }
}

TEST(Attention, RowsOutsideTheSpansAreZeroAndTheirNaNsStayThere) {
    const Spans spans({{2, 3}, {5, 4}, {11, 2}}, 14);
    for (const DType dtype : {DType::f32, DType::f64}) {
        const AttentionCase at = make_case(self_rules(spans, 2), 8, 8, true).to(dtype);
        const AttentionResult result = at.forward();
        const ThreeGradients g = backward_of(at, result, false);
        for (const Tensor& tensor : {result.output, g.query, g.key, g.value}) {
            const std::vector<double> values = tensor.to_vector();
            for (std::int64_t row = 0; row < 14; ++row)
                for (std::int64_t c = 0; c < 16; ++c) {
                    const double value = values[static_cast<std::size_t>(row * 16 + c)];
                    if (row < 2 || row == 9 || row == 10 || row == 13)
                        EXPECT_EQ(value, 0.0);
                    else
                        EXPECT_TRUE(std::isfinite(value));
                }
        }
    }
}

TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{20});
    AttentionRules rules = self_rules(spans, 1);
    rules.scale = 1e4;
    const AttentionCase at = make_case(rules, 8, 8, true);
    const NaiveAttention wanted = naive_attention(at.to(DType::f64));
    EXPECT_LE(relative_error(at.forward().output, wanted.output), 1e-3);  // scores of 1e5 have an ulp of 0.008
    EXPECT_LE(relative_error(at.to(DType::f64).forward().output, wanted.output), 1e-9);
    for (const double value : backward_of(at, at.forward(), false).key.to_vector()) EXPECT_TRUE(std::isfinite(value));
}

TEST(Attention, AFutureTokenChangesEarlierOutputsByExactlyNothing) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{100, 30}), 2);
    rules.causal = true;
    for (const DType dtype : {DType::f32, DType::f64}) {
        AttentionCase at = make_case(rules, 16, 16, true).to(dtype);
        const Tensor before = at.forward().output;
        Tensor changed = at.key_base.clone();
        changed.slice(70, 71).fill_(3);
        at.query_base = at.key_base = changed;
        const Tensor after = at.forward().output;
        EXPECT_TRUE(same_bits(before.slice(0, 70), after.slice(0, 70)));
        EXPECT_TRUE(same_bits(before.slice(100, 130), after.slice(100, 130)));
        for (std::int64_t row = 70; row < 100; ++row)
            EXPECT_FALSE(same_bits(before.slice(row, row + 1), after.slice(row, row + 1))) << row;
    }
}

// The sentences of `at` laid out under other spans.
AttentionCase laid_out(const AttentionCase& at, const Spans& spans) {
    AttentionCase other = at;
    other.rules.query_spans = other.rules.key_spans = spans;
    const auto move = [&](const Tensor& from) {
        Tensor to = Tensor::full({spans.rows(), from.cols()}, NAN, from.dtype());
        for (std::int64_t s = 0; s < spans.size(); ++s)
            to.slice(spans[s].start, spans[s].start + spans[s].length).copy_(sentence_rows(from, at.rules.query_spans[s]));
        return to;
    };
    other.query_base = other.key_base = move(at.key_base);
    other.d_output = move(at.d_output);
    return other;
}

TEST(Attention, ASentenceHasTheSameBitsAloneInABatchAndPadded) {
    const std::vector<std::int64_t> lengths{14, 1, 33, 64, 7, 90, 16};
    for (const bool causal : {false, true})
        for (const DType dtype : {DType::f32, DType::f64}) {
            AttentionRules rules = self_rules(Spans::packed(lengths), 2);
            rules.causal = causal;
            const AttentionCase batch = make_case(rules, 24, 24, true).to(dtype);
            const AttentionCase padded = laid_out(batch, Spans::padded(lengths, 97));
            const AttentionResult whole = batch.forward(), wide = padded.forward();
            const ThreeGradients whole_gradients = backward_of(batch, whole, false),
                                 wide_gradients = backward_of(padded, wide, false);
            for (std::int64_t s = 0; s < batch.rules.query_spans.size(); ++s) {
                const Span &packed_at = batch.rules.query_spans[s], &padded_at = padded.rules.query_spans[s];
                AttentionCase alone = batch;
                alone.rules.query_spans = alone.rules.key_spans = Spans::packed(std::vector<std::int64_t>{packed_at.length});
                alone.query_base = alone.key_base = sentence_rows(batch.key_base, packed_at);
                alone.d_output = sentence_rows(batch.d_output, packed_at);
                const AttentionResult one = alone.forward();
                const ThreeGradients g = backward_of(alone, one, false);
                EXPECT_TRUE(same_bits(one.output, sentence_rows(whole.output, packed_at))) << s;
                EXPECT_TRUE(same_bits(one.output, sentence_rows(wide.output, padded_at))) << s;
                EXPECT_TRUE(same_bits(g.query, sentence_rows(whole_gradients.query, packed_at))) << s;
                EXPECT_TRUE(same_bits(g.key, sentence_rows(wide_gradients.key, padded_at))) << s;
                EXPECT_TRUE(same_bits(g.value, sentence_rows(wide_gradients.value, padded_at))) << s;
            }
        }
}

TEST(Attention, GivesTheSameBitsForAnyNumberOfThreads) {
    const Spans spans = Spans::packed(random_lengths(60, 40, 4));
    AttentionRules rules = self_rules(spans, 4);
    rules.dropout = Dropout(0.2, 17);
    rules.key_heads = 2;
    add_bias(rules, true, 3);
    for (const DType dtype : {DType::f32, DType::f64}) {
        const AttentionCase at = make_case(rules, 8, 8, true).to(dtype);
        std::vector<Tensor> first;
        for (const int count : {1, 2, 3}) {
            const WithThreads with(count);
            const AttentionResult result = at.forward();
            const ThreeGradients g = backward_of(at, result, false);
            const std::vector<Tensor> now{result.output, result.log_sum, g.query, g.key, g.value, g.bias};
            if (first.empty()) first = now;
            for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_bits(now[i], first[i])) << count << ", " << i;
        }
    }
}

TEST(Attention, DropsExactlyTheWeightsThatDropoutNames) {
    // With equal scores and the identity as values the output is the dropout mask itself, times scale / time.
    constexpr std::int64_t kTime = 75;
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3, kTime});
    AttentionRules rules = self_rules(spans, 2);
    rules.dropout = Dropout(0.3, 1234);
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor scores = Tensor::zeros({3 + kTime, 2}, dtype);
        Tensor values = Tensor::zeros({3 + kTime, 2 * kTime}, DType::f64);
        for (std::int64_t j = 0; j < kTime; ++j)
            for (std::int64_t h = 0; h < 2; ++h) values.mutable_data<double>()[(3 + j) * 2 * kTime + h * kTime + j] = 1;
        const std::vector<double> output = attention_forward(scores, scores, values.to(dtype), rules).output.to_vector();
        for (std::int64_t i = 0; i < kTime; ++i)
            for (std::int64_t h = 0; h < 2; ++h)
                for (std::int64_t j = 0; j < kTime; ++j) {
                    const bool kept = rules.dropout.keeps(j, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(h), 1);
                    const double wanted = kept ? rules.dropout.scale() / kTime : 0;
                    EXPECT_NEAR(output[static_cast<std::size_t>(((3 + i) * 2 + h) * kTime + j)], wanted, 1e-8);
                }
    }
}

TEST(Attention, EveryProcessorLevelAgreesWithTheReference) {
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{14, 1, 70, 33}), 2);
    rules.causal = true;
    rules.dropout = Dropout(0.2, 3);
    add_bias(rules, false, 4);
    const AttentionCase at = make_case(rules, 20, 37, true);
    const AttentionResult wanted = forward_of(at, true);
    const ThreeGradients wanted_gradients = backward_of(at, wanted, true);
    const auto view = view_attention<float>(at.query(), at.key(), at.value(), rules);
    std::vector<AttentionItem> items;
    for (std::int64_t s = 0; s < 4; ++s)
        for (std::int64_t h = 0; h < 2; ++h) items.push_back({s, h});
    const auto forwards = HEDDLE_ALL_LEVELS(attention_forward_fast);
    const auto backwards = HEDDLE_ALL_LEVELS(attention_backward_fast);
    const auto biases = HEDDLE_ALL_LEVELS(attention_bias_gradient_fast);
    for (std::size_t level = 0; level < forwards.size(); ++level) {
        Guarded<float> output(118 * 74), log_sum(118 * 2), d_query(118 * 40), d_key(118 * 40), d_value(118 * 74);
        Guarded<float> scratch(attention_forward_scratch(70, 20, 37)), back_scratch(attention_backward_scratch(70, 20, 37));
        forwards[level](view, items.data(), 8, {output.data(), 74, 37}, log_sum.data(), scratch.data());
        const AttentionBackwardView<float> back{
            {output.data(), 74, 37},  log_sum.data(),         {at.d_output.data<float>(), 74, 37},
            {d_query.data(), 40, 20}, {d_key.data(), 40, 20}, {d_value.data(), 74, 37}};
        backwards[level](view, back, items.data(), 8, back_scratch.data());
        Guarded<float> d_bias(2 * 71 * 72), bias_scratch(attention_backward_scratch(70, 20, 37) + padded(72) * kQueryBlock);
        for (std::int64_t head = 0; head < 2; ++head)
            for (std::int64_t first = 0; first < 71; first += kQueryBlock)
                biases[level](view, back, 4, head, first, std::min<std::int64_t>(kQueryBlock, 71 - first),
                              d_bias.data() + (head * 71 + first) * 72, bias_scratch.data());
        EXPECT_TRUE(d_bias.intact() && bias_scratch.intact()) << level;
        EXPECT_LE(relative_error(d_bias.tensor({2, 71, 72}), wanted_gradients.bias), 2e-6) << level;
        for (const Guarded<float>* memory : {&output, &log_sum, &d_query, &d_key, &d_value, &scratch, &back_scratch})
            EXPECT_TRUE(memory->intact()) << level;
        EXPECT_LE(relative_error(output.tensor({118, 74}), wanted.output), 2e-6) << level;
        EXPECT_LE(relative_error(log_sum.tensor({118, 2}), wanted.log_sum), 2e-6) << level;
        EXPECT_LE(relative_error(d_query.tensor({118, 40}), wanted_gradients.query), 2e-6) << level;
        EXPECT_LE(relative_error(d_key.tensor({118, 40}), wanted_gradients.key), 2e-6) << level;
        EXPECT_LE(relative_error(d_value.tensor({118, 74}), wanted_gradients.value), 2e-6) << level;
    }
}

TEST(Attention, SaysWhatDoesNotFit) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3, 4});
    const Tensor x = normal({7, 12}, DType::f32, 1);
    const auto run = [&](const Columns& q, const Columns& k, const Columns& v, const AttentionRules& rules) {
        return [=] { attention_forward(q, k, v, rules); };
    };
    const AttentionRules rules = self_rules(spans, 3);
    expect_error(run(x, x, x, self_rules(spans, 5)), "attention: query has 12 columns, which 5 heads do not divide");
    expect_error(run({x, 4, 9}, x, x, rules), "attention: query takes columns [4, 13) of [7, 12]");
    expect_error(run(x, {x, 0, 6}, x, rules), "attention: query has 12 columns, but key has 6; their heads must have one width");
    expect_error(run(x, x.slice(0, 6), x, rules), "attention: key has 6 rows [6, 12], but key_spans describe 7 rows");
    expect_error(run(x, x, {}, rules), "value");
    expect_error(run(x, x.to(DType::f64), x, rules), "key");
    AttentionRules other = rules;
    other.key_spans = Spans::packed(std::vector<std::int64_t>{7});
    expect_error(run(x, x, x, other), "attention: 2 query spans, but 1 key spans; each sentence has one of both");
    other = rules;
    other.mask = Tensor::zeros({3, 4}, DType::u8);
    expect_error(run(x, x, x, other),
                 "attention: mask has shape [3, 4], wanted [query_time, key_time], [2, query_time, key_time] or [2 or 1, 3 or 1, "
                 "query_time, key_time] with times of at least 4 and 4");
    other.mask = Tensor::zeros({2, 2, 4, 4}, DType::u8);
    expect_error(run(x, x, x, other), "attention: mask has shape [2, 2, 4, 4]");
    other.mask = Tensor::zeros({4, 4}, DType::f32);
    expect_error(run(x, x, x, other), "mask");
    other = rules;
    other.bias = Tensor::zeros({2, 4, 4}, DType::f32);
    expect_error(run(x, x, x, other),
                 "attention: bias has shape [2, 4, 4], wanted [3 or 1, query_time, key_time] with times of at "
                 "least 4 and 4");
    other.bias = Tensor::zeros({1, 4, 4}, DType::f64);
    expect_error(run(x, x, x, other), "attention: bias is f64, wanted f32");
    other = rules;
    other.key_heads = 2;
    expect_error(run(x, x, x, other), "attention: 3 heads cannot share 2 heads of keys evenly");
    other.key_heads = 1;
    expect_error(run(x, x, x, other), "attention: query has 12 columns, but key has 12; their heads must have one width");
    const AttentionResult result = attention_forward(x, x, x, rules);
    expect_error(
        [&] {
            attention_backward(x, x, x, rules, result, x, {{x, 0, 6}, {}, {}});
        },
        "attention: d_query is columns [0, 6) of [7, 12], wanted 7 rows and 12 columns");
}

}  // namespace
}  // namespace heddle::kernels
