// Attention for tests: the formula with explicit matrices in double, and batches to try it on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/attention/attention.h"
#include "tests/numbers.h"

namespace heddle::kernels {

/// Query, key and value side by side in one projection, as the model has them: [rows, heads * dk + key heads * (dk + dv)] (for
/// cross attention the query lies in a tensor of its own), and the gradient of the output.
struct AttentionCase {
    AttentionRules rules;
    std::int64_t dk = 32, dv = 32;
    Tensor query_base, key_base, d_output;

    Columns query() const { return {query_base, 0, rules.heads * dk}; }
    Columns key() const { return {key_base, rules.heads * dk, rules.heads_of_keys() * dk}; }
    Columns value() const { return {key_base, (rules.heads + rules.heads_of_keys()) * dk, rules.heads_of_keys() * dv}; }

    AttentionCase to(DType dtype) const {
        AttentionCase other = *this;
        other.query_base = query_base.to(dtype);
        other.key_base = key_base.to(dtype);
        other.d_output = d_output.to(dtype);
        if (rules.bias.defined()) other.rules.bias = rules.bias.to(dtype);
        return other;
    }
    AttentionResult forward() const { return attention_forward(query(), key(), value(), rules); }
};

/// Sentences that attend to themselves.
inline AttentionRules self_rules(const Spans& spans, std::int64_t heads) {
    return {.query_spans = spans, .key_spans = spans, .heads = heads};
}

/// NaN in all rows that belong to no sentence.
inline void poison_gaps(Tensor& tensor, const Spans& spans) {
    std::vector<bool> covered(static_cast<std::size_t>(spans.rows()));
    for (const Span& span : spans)
        for (std::int64_t i = 0; i < span.length; ++i) covered[static_cast<std::size_t>(span.start + i)] = true;
    for (std::int64_t row = 0; row < spans.rows(); ++row)
        if (!covered[static_cast<std::size_t>(row)]) tensor.slice(row, row + 1).fill_(std::numeric_limits<double>::quiet_NaN());
}

/// Random f32 numbers under the given rules; NaN in the gaps. `self`: the query is part of the same projection.
inline AttentionCase make_case(AttentionRules rules, std::int64_t dk, std::int64_t dv, bool self, std::uint64_t key = 1) {
    AttentionCase made{.rules = std::move(rules), .dk = dk, .dv = dv, .query_base = {}, .key_base = {}, .d_output = {}};
    const Spans &queries = made.rules.query_spans, &keys = made.rules.key_spans;
    const std::int64_t width = made.rules.heads * dk + made.rules.heads_of_keys() * (dk + dv);
    made.key_base = normal({keys.rows(), width}, DType::f32, key);
    made.query_base = self ? made.key_base : normal({queries.rows(), made.rules.heads * dk + 3}, DType::f32, key + 1);
    made.d_output = normal({queries.rows(), made.rules.heads * dv}, DType::f32, key + 2);
    poison_gaps(made.key_base, keys);
    if (!self) poison_gaps(made.query_base, queries);
    poison_gaps(made.d_output, queries);
    return made;
}

struct NaiveAttention {
    Tensor output, weights;          // weights [sentences, heads, longest query, longest key], before dropout
    Tensor d_query, d_key, d_value;  // [rows, heads * width]
    // Sums of the absolute values of the terms of d_query and d_key, P_j |dP_j| + P_j |mean|, before they cancel: what rounding
    // errors are proportional to. With two keys of nearly equal dP the gradients themselves are a hundred times smaller.
    Tensor d_query_terms, d_key_terms;
    Tensor d_bias, d_bias_terms;  // of the bias' shape, or undefined
};

/// The bias of query i and key j in head h.
inline double added(const AttentionRules& rules, std::int64_t h, std::int64_t i, std::int64_t j) {
    if (!rules.bias.defined()) return 0;
    const Tensor& bias = rules.bias;
    return bias.data<double>()[((bias.dim(0) == 1 ? 0 : h) * bias.dim(1) + i) * bias.dim(2) + j];
}

inline bool allowed(const AttentionRules& rules, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::int64_t tq = rules.query_spans[s].length, tk = rules.key_spans[s].length;
    if (rules.causal && j > i + tk - tq) return false;
    if (rules.bias.defined() && added(rules, h, i, j) == -INFINITY) return false;
    const Tensor& mask = rules.mask;
    if (!mask.defined()) return true;
    std::int64_t square = 0;
    if (mask.rank() == 3) square = s;
    if (mask.rank() == 4) square = (mask.dim(0) == 1 ? 0 : s) * mask.dim(1) + (mask.dim(1) == 1 ? 0 : h);
    return mask.data<std::uint8_t>()[(square * mask.dim(-2) + i) * mask.dim(-1) + j] != 0;
}

/// softmax(scale Q K^T + bias + mask) V and its derivatives with whole matrices, for f64 tensors. The softmax's derivative is its
/// Jacobian, written out: dS_j = sum_l dP_l P_l ([l = j] - P_j). `in_bf16`: the plain computation in bf16, which writes S, P, P
/// F, O, dP and dS down, each rounded.
inline NaiveAttention naive_attention(const AttentionCase& at, bool in_bf16 = false) {
    const auto written = [in_bf16](double x) {
        return in_bf16 ? static_cast<double>(static_cast<float>(bf16(static_cast<float>(x)))) : x;
    };
    const AttentionRules& r = at.rules;
    const std::int64_t H = r.heads, dk = at.dk, dv = at.dv;
    const double scale = r.scale.value_or(1 / std::sqrt(static_cast<double>(dk)));
    // Pointers once: a Columns counts its owners, and data() of what is not const counts changes.
    const Columns query = at.query(), key = at.key(), value = at.value();
    const auto q = [from = query.data<double>(), &query](std::int64_t row, std::int64_t c) {
        return from[row * query.pitch() + c];
    };
    const auto k = [from = key.data<double>(), &key](std::int64_t row, std::int64_t c) { return from[row * key.pitch() + c]; };
    const auto v = [from = value.data<double>(), &value](std::int64_t row, std::int64_t c) {
        return from[row * value.pitch() + c];
    };
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::f64); };
    const std::int64_t rows = r.query_spans.rows(), key_rows = r.key_spans.rows(), KH = r.heads_of_keys();
    NaiveAttention n{zeros({rows, H * dv}),
                     zeros({r.query_spans.size(), H, r.query_spans.longest(), r.key_spans.longest()}),
                     zeros({rows, H * dk}),
                     zeros({key_rows, KH * dk}),
                     zeros({key_rows, KH * dv}),
                     zeros({rows, H * dk}),
                     zeros({key_rows, KH * dk}),
                     {},
                     {}};
    if (r.bias.defined()) n.d_bias = zeros(r.bias.shape()), n.d_bias_terms = zeros(r.bias.shape());
    const double* const d_output = at.d_output.data<double>();
    double *const output = n.output.mutable_data<double>(), *const weights = n.weights.mutable_data<double>();
    double *const d_query = n.d_query.mutable_data<double>(), *const d_query_terms = n.d_query_terms.mutable_data<double>();
    double *const d_key = n.d_key.mutable_data<double>(), *const d_key_terms = n.d_key_terms.mutable_data<double>();
    double* const d_value = n.d_value.mutable_data<double>();
    for (std::int64_t s = 0; s < r.query_spans.size(); ++s)
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < r.query_spans[s].length; ++i) {
                const std::int64_t row = r.query_spans[s].start + i, first = r.key_spans[s].start, tk = r.key_spans[s].length;
                const std::int64_t kh = h / (H / KH);
                std::vector<double> p(static_cast<std::size_t>(tk)), dp(p), f(p);
                double largest = -INFINITY, sum = 0;
                std::vector<double> score(p);
                for (std::int64_t j = 0; j < tk; ++j) {
                    for (std::int64_t c = 0; c < dk; ++c)
                        score[static_cast<std::size_t>(j)] += scale * q(row, h * dk + c) * k(first + j, kh * dk + c);
                    score[static_cast<std::size_t>(j)] = written(score[static_cast<std::size_t>(j)] + added(r, h, i, j));
                    if (allowed(r, s, h, i, j)) largest = std::max(largest, score[static_cast<std::size_t>(j)]);
                }
                for (std::int64_t j = 0; j < tk; ++j)
                    if (allowed(r, s, h, i, j))
                        sum += p[static_cast<std::size_t>(j)] = std::exp(score[static_cast<std::size_t>(j)] - largest);
                for (std::int64_t j = 0; j < tk; ++j) {
                    const auto at_j = static_cast<std::size_t>(j);
                    if (sum > 0) p[at_j] = written(p[at_j] / sum);
                    weights[((s * H + h) * n.weights.dim(2) + i) * n.weights.dim(3) + j] = p[at_j];
                    f[at_j] = r.dropout.keeps(j, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(h),
                                              static_cast<std::uint32_t>(s))
                                  ? r.dropout.scale()
                                  : 0;
                    for (std::int64_t c = 0; c < dv; ++c) {
                        const double d = d_output[row * H * dv + h * dv + c];
                        output[row * H * dv + h * dv + c] += written(p[at_j] * f[at_j]) * v(first + j, kh * dv + c);
                        d_value[((first + j) * KH + kh) * dv + c] += written(p[at_j] * f[at_j]) * d;
                        dp[at_j] += f[at_j] * d * v(first + j, kh * dv + c);
                    }
                    dp[at_j] = written(dp[at_j]);
                }
                double mean = 0;
                for (std::size_t j = 0; j < p.size(); ++j) mean += p[j] * dp[j];
                for (std::int64_t j = 0; j < tk; ++j) {
                    const double ds = written(p[static_cast<std::size_t>(j)] * (dp[static_cast<std::size_t>(j)] - mean));
                    const double terms =
                        p[static_cast<std::size_t>(j)] * (std::abs(dp[static_cast<std::size_t>(j)]) + std::abs(mean));
                    for (std::int64_t c = 0; c < dk; ++c) {
                        d_query_terms[row * H * dk + h * dk + c] += std::abs(scale * terms * k(first + j, kh * dk + c));
                        d_key_terms[((first + j) * KH + kh) * dk + c] += std::abs(scale * terms * q(row, h * dk + c));
                        d_query[row * H * dk + h * dk + c] += scale * ds * k(first + j, kh * dk + c);
                        d_key[((first + j) * KH + kh) * dk + c] += scale * ds * q(row, h * dk + c);
                    }
                    if (!r.bias.defined()) continue;
                    const std::int64_t place = ((r.bias.dim(0) == 1 ? 0 : h) * r.bias.dim(1) + i) * r.bias.dim(2) + j;
                    n.d_bias.mutable_data<double>()[place] += ds;
                    n.d_bias_terms.mutable_data<double>()[place] += terms;
                }
            }
    return n;
}

/// max |a - b| / max terms; infinity for a NaN.
inline double error_among(const Tensor& a, const Tensor& b, const Tensor& terms) {
    const std::vector<double> given = a.to_vector(), wanted = b.to_vector(), all = terms.to_vector();
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const double error = std::abs(given[i] - wanted[i]);
        if (!(error <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, error);
        largest = std::max(largest, all[i]);
    }
    return worst == 0 ? 0 : worst / largest;
}

/// `count` lengths between 1 and `longest`, the same for the same key.
inline std::vector<std::int64_t> random_lengths(std::int64_t count, std::int64_t longest, std::uint64_t key) {
    Sequence random(key);
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < count; ++i)
        lengths.push_back(1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(longest))));
    return lengths;
}

/// A random mask of zeros and ones.
inline Tensor random_mask(const Shape& shape, double share, std::uint64_t key) {
    Tensor mask = Tensor::empty(shape, DType::u8);
    Sequence random(key);
    for (std::uint8_t& allowed : mask.mutable_values<std::uint8_t>()) allowed = random.uniform() < share ? 1 : 0;
    return mask;
}

/// Masks, the causal rule, dropout and gaps in every combination, with what each is.
inline std::vector<std::pair<std::string, AttentionCase>> cases_of_every_rule() {
    const std::vector<std::int64_t> query_lengths{3, 0, 33, 7, 1}, key_lengths{5, 4, 70, 7, 0};
    const Spans queries = Spans::padded(query_lengths, 35), keys = Spans::padded(key_lengths, 71);
    std::vector<std::pair<std::string, AttentionCase>> all;
    for (const bool causal : {false, true})
        for (const double dropout : {0.0, 0.4})
            for (const int mask : {0, 2, 3}) {
                AttentionRules rules{.query_spans = queries, .key_spans = keys, .heads = 2, .causal = causal};
                rules.dropout = Dropout(dropout, 99);
                if (mask == 2) rules.mask = random_mask({35, 71}, 0.5, 5);
                if (mask == 3) rules.mask = random_mask({5, 40, 71}, 0.3, 6);
                rules.scale = 0.7;
                all.emplace_back(std::string(causal ? "causal" : "not causal") + ", dropout " + std::to_string(dropout) +
                                     ", mask of " + std::to_string(mask) + " axes",
                                 make_case(rules, 8, 20, false));
            }
    return all;
}

/// Adds a bias of [heads or 1, longest query + 1, longest key + 2]. Some places are -inf, and so is all that the second query of
/// the first head sees.
inline void add_bias(AttentionRules& rules, bool shared, std::uint64_t key) {
    const std::int64_t time = rules.query_spans.longest() + 1, keys = rules.key_spans.longest() + 2;
    rules.bias = normal({shared ? 1 : rules.heads, time, keys}, DType::f32, key, 0, 2);
    const Tensor open = random_mask(rules.bias.shape(), 0.9, key);
    for (std::int64_t i = 0; i < rules.bias.numel(); ++i)
        if (open.data<std::uint8_t>()[i] == 0 || i / keys == 1) rules.bias.mutable_data<float>()[i] = -INFINITY;
}

/// Biases, masks of each head and grouped keys, alone and together: among sentences of all lengths, or short ones.
inline std::vector<std::pair<std::string, AttentionCase>> cases_of_biases_and_groups(bool all_short) {
    const std::vector<std::int64_t> query_lengths{3, 0, 33, 7, 1}, key_lengths{5, 4, all_short ? 50 : 70, 7, 0};
    const Spans queries = Spans::padded(query_lengths, 35), keys = Spans::padded(key_lengths, 71);
    const AttentionRules plain{.query_spans = queries, .key_spans = keys, .heads = 4, .scale = 0.7};
    std::vector<std::pair<std::string, AttentionCase>> all;
    const auto add = [&](const std::string& what, const AttentionRules& rules, std::int64_t dk = 8, std::int64_t dv = 20) {
        all.emplace_back(what + (all_short ? ", short" : ""), make_case(rules, dk, dv, false));
    };
    AttentionRules rules = plain;
    add_bias(rules, false, 3);
    add("a bias for each head", rules);
    rules = plain;
    add_bias(rules, true, 4);
    rules.causal = true;
    rules.dropout = Dropout(0.3, 11);
    add("one bias for all heads, causal, dropout", rules);
    rules = plain;
    rules.key_heads = 2;
    add("two heads of keys for four", rules);
    rules.key_heads = 1;
    rules.heads = 3;
    rules.causal = true;
    rules.dropout = Dropout(0.3, 12);
    add("one head of keys for three, causal, dropout", rules);
    rules = plain;
    rules.mask = random_mask({1, 4, 35, 71}, 0.4, 7);
    add("a mask for each head", rules);
    rules.mask = random_mask({5, 4, 36, 72}, 0.4, 8);
    rules.dropout = Dropout(0.3, 13);
    add("a mask for each sentence and head, dropout", rules);
    rules.key_heads = 2;
    rules.causal = true;
    add_bias(rules, false, 5);
    add("everything at once", rules);
    add_bias(rules, true, 6);
    rules.mask = random_mask({5, 1, 35, 71}, 0.6, 9);
    add("everything at once, shared by the heads", rules);
    return all;
}

}  // namespace heddle::kernels
