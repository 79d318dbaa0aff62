// The cases of attention_cases.h on any device and in any dtype.
#pragma once

#include "tests/devices.h"
#include "tests/kernels/attention_cases.h"

namespace heddle::kernels {

/// The case in these numbers, where they live. The mask goes along; spans stay with the host.
inline AttentionCase on(const Numbers& numbers, const AttentionCase& at) {
    AttentionCase other = at;
    other.query_base = in(numbers, at.query_base);
    other.key_base = at.query_base.shares_storage(at.key_base) ? other.query_base : in(numbers, at.key_base);
    other.d_output = in(numbers, at.d_output);
    other.rules.mask = in(numbers, at.rules.mask);
    other.rules.bias = in(numbers, at.rules.bias);
    return other;
}

/// The case after rounding to these numbers, for the reference.
inline AttentionCase reference_of(const Numbers& numbers, const AttentionCase& at) {
    AttentionCase other = at;
    other.query_base = rounded(numbers, at.query_base);
    other.key_base = rounded(numbers, at.key_base);
    other.d_output = rounded(numbers, at.d_output);
    other.rules.bias = rounded(numbers, at.rules.bias);
    return other;
}

struct Gradients {
    Tensor query, key, value;
    Tensor bias = {};  // where there is one
};

/// All gradients, into tensors that hold NaN before.
inline Gradients backward_of(const AttentionCase& at, const AttentionResult& forward,
                             decltype(attention_backward)& backward = attention_backward) {
    const auto poisoned = [](const Columns& like) {
        return Tensor::full({like.rows(), like.count}, NAN, like.base.dtype(), like.base.device());
    };
    Gradients g{poisoned(at.query()), poisoned(at.key()), poisoned(at.value())};
    const Tensor& bias = at.rules.bias;
    if (bias.defined()) g.bias = Tensor::full(bias.shape(), NAN, forward.log_sum.dtype(), bias.device());
    backward(at.query(), at.key(), at.value(), at.rules, forward, at.d_output, {g.query, g.key, g.value, g.bias});
    return g;
}

inline double largest_of(const Tensor& tensor) {
    double largest = 0;
    for (const double value : tensor.to_vector()) largest = std::max(largest, std::abs(value));
    return largest;
}

/// As expect_close, but the f32 and f64 errors are measured against the sums of the terms' absolute values: of P (dP - mean), in
/// which nearly equal numbers cancel, rounding errors are bounded by these, not by the result (Higham 2002, equation 3.5).
inline void expect_close_among(const Tensor& got, const Tensor& want, const Tensor& terms, const Numbers& numbers,
                               const std::string& what, const Tensor& plain) {
    const double room = largest_of(want) == 0 ? 1 : std::max(1.0, largest_of(terms) / largest_of(want));
    const double f32 = numbers.device == Device::cpu ? 4e-7 : 8e-7;
    expect_close(got, want, numbers, what, {.f64 = 2e-15 * room, .f32 = f32 * room}, plain);
}

/// L of each row and head, from the formula: what forward saves.
inline void expect_log_sums(const AttentionResult& result, const AttentionCase& at, const std::string& what) {
    const AttentionRules& r = at.rules;
    const std::vector<double> saved = result.log_sum.to_vector();
    const double tolerance = result.log_sum.dtype() == DType::f64 ? 1e-12 : 1e-5;
    std::vector<bool> covered(saved.size());
    const Columns query = at.query(), key = at.key();  // once: a Columns counts its owners
    for (std::int64_t s = 0; s < r.query_spans.size(); ++s)
        for (std::int64_t i = 0; i < r.query_spans[s].length; ++i)
            for (std::int64_t h = 0; h < r.heads; ++h) {
                const auto place = static_cast<std::size_t>((r.query_spans[s].start + i) * r.heads + h);
                covered[place] = true;
                double sum = 0, largest = -INFINITY;
                std::vector<double> scores;
                for (std::int64_t j = 0; j < r.key_spans[s].length; ++j) {
                    if (!allowed(r, s, h, i, j)) continue;
                    const std::int64_t key_head = h / (r.heads / r.heads_of_keys());
                    double score = 0;
                    for (std::int64_t c = 0; c < at.dk; ++c)
                        score += query.data<double>()[(r.query_spans[s].start + i) * query.pitch() + h * at.dk + c] *
                                 key.data<double>()[(r.key_spans[s].start + j) * key.pitch() + key_head * at.dk + c];
                    scores.push_back(score * r.scale.value_or(1 / std::sqrt(static_cast<double>(at.dk))) + added(r, h, i, j));
                    largest = std::max(largest, scores.back());
                }
                for (const double score : scores) sum += std::exp(score - largest);
                const double want = scores.empty() ? INFINITY : largest + std::log(sum);
                if (saved[place] == want) continue;
                ASSERT_TRUE(std::abs(saved[place] - want) <= tolerance * std::max(1.0, std::abs(want)))
                    << what << ": row " << i << " of sentence " << s << " saves " << saved[place] << ", wanted " << want;
            }
    for (std::size_t i = 0; i < saved.size(); ++i)
        if (!covered[i]) {
            ASSERT_EQ(saved[i], 0.0) << what << ": outside the spans";
        }
}

/// Forward, saved numbers and backward against the formula, on every device and in every dtype.
inline void expect_formula(const AttentionCase& at, const std::string& what, const std::vector<Numbers>& all = all_numbers()) {
    for (const Numbers& numbers : all) {
        SCOPED_TRACE(what + " on " + to_string(numbers));
        const AttentionCase reference = reference_of(numbers, at), here = on(numbers, at);
        const NaiveAttention want = naive_attention(reference);
        const NaiveAttention plain = numbers.dtype == DType::bf16 ? naive_attention(reference, true) : want;
        const AttentionResult result = here.forward();
        const Gradients g = backward_of(here, result);
        expect_close(result.output, want.output, numbers, what + ", output", {.f64 = 1e-13, .f32 = 2e-6}, plain.output);
        expect_log_sums(result, reference, what);
        expect_close_among(g.query, want.d_query, want.d_query_terms, numbers, what + ", d_query", plain.d_query);
        expect_close_among(g.key, want.d_key, want.d_key_terms, numbers, what + ", d_key", plain.d_key);
        expect_close(g.value, want.d_value, numbers, what + ", d_value", {.f64 = 1e-13, .f32 = 2e-6}, plain.d_value);
        if (g.bias.defined())
            expect_close_among(g.bias, want.d_bias, want.d_bias_terms, numbers, what + ", d_bias", plain.d_bias);
    }
}

}  // namespace heddle::kernels
