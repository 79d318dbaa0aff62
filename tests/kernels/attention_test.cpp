#include "kernels/attention/attention.h"

#include <fmt/format.h>

#include "tests/kernels/attention_device_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// On the CPU alone what takes long elsewhere; attention_device_test.cpp tries the rules on every device.
TEST(Attention, FollowsTheFormulaForEverySize) {
    const std::vector<Numbers> cpu{{Device::cpu, DType::f32}, {Device::cpu, DType::f64}};
    for (const bool causal : {false, true}) {
        AttentionRules rules =
            self_rules(Spans::packed(std::vector<std::int64_t>{0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127}), 2);
        rules.causal = causal;
        expect_formula(make_case(rules, 8, 8, true), fmt::format("every length, causal {}", causal), cpu);
    }
    AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{1025}), 1);
    rules.causal = true;
    expect_formula(make_case(rules, 4, 3, true), "time 1025", cpu);
    for (const auto& [dk, dv] : {std::pair{15, 16}, {64, 48}, {127, 65}})
        expect_formula(make_case(self_rules(Spans::packed(std::vector<std::int64_t>{5, 19, 1}), 3), dk, dv, true),
                       fmt::format("dk {}, dv {}", dk, dv), cpu);
}

TEST(Attention, FollowsTheFormulaByThePlainLoopsInF32Too) {
    for (const auto& [what, one] : cases_of_biases_and_groups(false)) {
        const NaiveAttention wanted = naive_attention(one.to(DType::f64));
        const AttentionResult result = attention_forward_reference(one.query(), one.key(), one.value(), one.rules);
        const Gradients g = backward_of(one, result, attention_backward_reference);
        EXPECT_LE(relative_error(result.output, wanted.output), 1e-6) << what;
        EXPECT_LE(error_among(g.query, wanted.d_query, wanted.d_query_terms), 2e-7) << what;
        EXPECT_LE(error_among(g.key, wanted.d_key, wanted.d_key_terms), 2e-7) << what;
        EXPECT_LE(relative_error(g.value, wanted.d_value), 1e-6) << what;
        if (g.bias.defined()) {
            EXPECT_LE(error_among(g.bias, wanted.d_bias, wanted.d_bias_terms), 2e-7) << what;
        }
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
        const Gradients c = backward_of(masked, a), d = backward_of(other, b);
        EXPECT_TRUE(same_bits(a.output, b.output) && same_bits(a.log_sum, b.log_sum));
        EXPECT_TRUE(same_bits(c.query, d.query) && same_bits(c.key, d.key) && same_bits(c.value, d.value));
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
            const Gradients g = backward_of(at, result);
            const std::vector<Tensor> now{result.output, result.log_sum, g.query, g.key, g.value, g.bias};
            if (first.empty()) first = now;
            for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(same_bits(now[i], first[i])) << count << ", " << i;
        }
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
