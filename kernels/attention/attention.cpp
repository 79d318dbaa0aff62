// Attention, the plain way: one query row after the other, one key after the other.
//
// The softmax is online in its simplest form, a tile of one key: a running maximum, sum and weighted mean of the values; when a
// larger score turns up, what was gathered so far is shrunk by e^{old maximum - new maximum}. Sums are kept in double
// (of dual numbers: in them).
#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/parallel.h"
#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_pieces.h"
#include "kernels/attention/detail/attention_running.h"

namespace heddle::kernels {
namespace {

// The dropout factor of one weight.
double factor(const Dropout& dropout, const AttentionItem& item, std::int64_t query, std::int64_t key) {
    const bool kept = dropout.keeps(key, static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(item.head),
                                    static_cast<std::uint32_t>(item.sentence));
    return kept ? dropout.scale() : 0;
}

// Mask and bias of one query row of one head.
template <class T>
struct RowRules {
    const std::uint8_t* mask;  // [keys] or null
    const T* bias;             // [keys] or null

    RowRules(const AttentionView<T>& view, const AttentionItem& item, std::int64_t i)
        : mask(view.mask_row(item.sentence, item.head, i)), bias(view.bias_row(item.head, i)) {}
    bool may_attend(std::int64_t key) const {
        return (mask == nullptr || mask[key] != 0) && !(bias != nullptr && bias[key] == -std::numeric_limits<T>::infinity());
    }
    Accumulator<T> added(std::int64_t key) const { return Accumulator<T>(bias == nullptr ? T{0} : bias[key]); }
};

template <class T>
void forward_item(const AttentionView<T>& view, const AttentionItem& item, HeadRows<T> output, T* log_sum) {
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    const std::int64_t key_head = view.key_head(item.head);
    RunningSoftmax<T> running(view.dv());
    for (std::int64_t i = 0; i < queries.length; ++i) {
        const std::int64_t row = queries.start + i;
        const T* query = view.query.at(row, item.head);
        const RowRules<T> rules(view, item, i);
        const std::int64_t visible = view.visible(item.sentence, i);
        running.start();
        for (std::int64_t j = 0; j < visible; ++j)
            if (rules.may_attend(j))
                running.add(view.scale * dot(query, view.key.at(keys.start + j, key_head), view.dk()) + rules.added(j),
                            factor(view.dropout, item, i, j), view.value.at(keys.start + j, key_head));
        running.finish(output.at(row, item.head));
        if (log_sum != nullptr) log_sum[row * view.heads + item.head] = static_cast<T>(running.log_sum());
    }
}

// `take(key, p, f, d_score)` for each key that query row i of the sentence and head may attend to: the weight before dropout, the
// dropout factor, and dS.
template <class T, class Take>
void for_row_gradients(const AttentionView<T>& view, const AttentionBackwardView<T>& back, const AttentionItem& item,
                       std::int64_t i, const Take& take) {
    using std::exp;
    const Span& keys = view.keys(item.sentence);
    const std::int64_t row = view.queries(item.sentence).start + i, key_head = view.key_head(item.head);
    const T* query = view.query.at(row, item.head);
    const T* d_output = back.d_output.at(row, item.head);
    const RowRules<T> rules(view, item, i);
    const std::int64_t visible = view.visible(item.sentence, i);
    const auto log_sum = Accumulator<T>(back.log_sum[row * view.heads + item.head]);
    const Accumulator<T> delta = dot(d_output, back.output.at(row, item.head), view.dv());
    for (std::int64_t j = 0; j < visible; ++j) {
        if (!rules.may_attend(j)) continue;
        const Accumulator<T> score = view.scale * dot(query, view.key.at(keys.start + j, key_head), view.dk()) + rules.added(j);
        const Accumulator<T> p = exp(score - log_sum);
        const double f = factor(view.dropout, item, i, j);
        take(j, p, f, p * (f * dot(d_output, view.value.at(keys.start + j, key_head), view.dv()) - delta));
    }
}

// One head of keys of one sentence, with all query heads that share it.
template <class T>
void backward_item(const AttentionView<T>& view, const AttentionBackwardView<T>& back, const AttentionItem& item) {
    using A = Accumulator<T>;
    const std::int64_t dk = view.dk(), dv = view.dv();
    const Span& queries = view.queries(item.sentence);
    const Span& keys = view.keys(item.sentence);
    std::vector<A> d_query(static_cast<std::size_t>(dk));
    std::vector<A> d_key(static_cast<std::size_t>(keys.length * dk));
    std::vector<A> d_value(static_cast<std::size_t>(keys.length * dv));
    const auto add = [](const A& times, const T* from, A* to, std::int64_t n) {
        for (std::int64_t c = 0; c < n; ++c) to[c] += times * A(from[c]);
    };
    const auto write = [](const A* from, const HeadRows<T>& to, std::int64_t row, std::int64_t head) {
        if (to.data != nullptr) std::copy_n(from, to.width, to.at(row, head));
    };
    for (std::int64_t head = item.head * view.group; head < (item.head + 1) * view.group; ++head)
        for (std::int64_t i = 0; i < queries.length; ++i) {
            const std::int64_t row = queries.start + i;
            const T* query = view.query.at(row, head);
            const T* d_output = back.d_output.at(row, head);
            std::fill(d_query.begin(), d_query.end(), A(0));
            for_row_gradients(view, back, {item.sentence, head}, i, [&](std::int64_t j, const A& p, double f, const A& d_score) {
                add(p * f, d_output, &d_value[static_cast<std::size_t>(j * dv)], dv);
                add(view.scale * d_score, query, &d_key[static_cast<std::size_t>(j * dk)], dk);
                add(view.scale * d_score, view.key.at(keys.start + j, item.head), d_query.data(), dk);
            });
            write(d_query.data(), back.d_query, row, head);
        }
    for (std::int64_t j = 0; j < keys.length; ++j) {
        write(d_key.data() + j * dk, back.d_key, keys.start + j, item.head);
        write(d_value.data() + j * dv, back.d_value, keys.start + j, item.head);
    }
}

// Row i of one head of dB, of which all sentences and, when they share it, all heads make a part.
template <class T>
void bias_gradient_row(const AttentionView<T>& view, const AttentionBackwardView<T>& back, std::int64_t sentences,
                       std::int64_t bias_head, std::int64_t i, T* d_bias) {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(view.bias_pitch));
    const bool shared = view.bias_head == 0;
    for (std::int64_t sentence = 0; sentence < sentences; ++sentence) {
        if (i >= view.queries(sentence).length) continue;
        for (std::int64_t head = shared ? 0 : bias_head; head < (shared ? view.heads : bias_head + 1); ++head)
            for_row_gradients(view, back, {sentence, head}, i, [&](std::int64_t j, const A&, double, const A& d_score) {
                sums[static_cast<std::size_t>(j)] += d_score;
            });
    }
    std::copy(sums.begin(), sums.end(), d_bias);
}

// One row of P, into a row of zeros.
template <class T>
void weights_row(const AttentionView<T>& view, const AttentionItem& item, std::int64_t i, T* weights) {
    using std::exp;
    const Span& keys = view.keys(item.sentence);
    const T* query = view.query.at(view.queries(item.sentence).start + i, item.head);
    const RowRules<T> rules(view, item, i);
    std::vector<std::pair<std::int64_t, Accumulator<T>>> scores;  // of the keys that may be attended to
    for (std::int64_t j = 0; j < view.visible(item.sentence, i); ++j)
        if (rules.may_attend(j))
            scores.emplace_back(
                j, view.scale * dot(query, view.key.at(keys.start + j, view.key_head(item.head)), view.dk()) + rules.added(j));
    RunningSoftmax<T> running(0);
    running.start();
    for (const auto& [j, score] : scores) running.add(score, 1, nullptr);
    for (const auto& [j, score] : scores) weights[j] = static_cast<T>(exp(score - running.log_sum()));
}

// `body(items)` for every piece, on several threads.
template <class Body>
void for_pieces(const AttentionRules& rules, std::int64_t heads, std::int64_t work_per_weight, const Body& body) {
    const AttentionPieces pieces(rules, heads, work_per_weight);
    parallel_for(pieces.size(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) body(pieces[piece]);
    });
}

Shape output_shape(const Columns& query, const Columns& value, const AttentionRules& rules) {
    return {query.rows(), value.count / rules.heads_of_keys() * rules.heads};
}

AttentionResult make_result(const Columns& query, const Columns& value, const AttentionRules& rules, bool with_log_sum) {
    const DType dtype = query.base.dtype();
    AttentionResult result{Tensor::empty(output_shape(query, value, rules), dtype), {}};
    zero_gaps(result.output, rules.query_spans);
    if (!with_log_sum) return result;
    result.log_sum = Tensor::empty({query.rows(), rules.heads}, dtype);
    zero_gaps(result.log_sum, rules.query_spans);
    return result;
}

template <class T>
AttentionBackwardView<T> view_backward(const AttentionRules& rules, const AttentionResult& forward, const Tensor& d_output,
                                       AttentionGradients& gradients) {
    return {.output = head_rows<T>(forward.output, rules.heads),
            .log_sum = forward.log_sum.data<T>(),
            .d_output = head_rows<T>(d_output, rules.heads),
            .d_query = mutable_head_rows<T>(gradients.query, rules.heads),
            .d_key = mutable_head_rows<T>(gradients.key, rules.heads_of_keys()),
            .d_value = mutable_head_rows<T>(gradients.value, rules.heads_of_keys())};
}

AttentionResult make_cuda_result(const Columns& query, const Columns& value, const AttentionRules& rules, bool with_log_sum) {
    const DType dtype = query.base.dtype();
    AttentionResult result{Tensor::empty(output_shape(query, value, rules), dtype, Device::cuda), {}};
    if (with_log_sum) result.log_sum = Tensor::empty({query.rows(), rules.heads}, log_sum_dtype(dtype), Device::cuda);
    return result;
}

void zero_gradient_gaps(const AttentionRules& rules, AttentionGradients& gradients) {
    zero_gaps(gradients.query, rules.query_spans);
    zero_gaps(gradients.key, rules.key_spans);
    zero_gaps(gradients.value, rules.key_spans);
}

AttentionResult forward_reference(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                  bool with_log_sum) {
    AttentionResult result = make_result(query, value, rules, with_log_sum);
    dispatch_real("attention", query.base, [&]<class T>(TypeTag<T>) {
        const auto view = view_attention<T>(query, key, value, rules);
        const auto output = mutable_head_rows<T>(result.output, rules.heads);
        T* const log_sum = with_log_sum ? result.log_sum.mutable_data<T>() : nullptr;
        for_pieces(rules, rules.heads, 4 * (view.dk() + view.dv()), [&](std::span<const AttentionItem> items) {
            for (const AttentionItem& item : items) forward_item(view, item, output, log_sum);
        });
    });
    return result;
}

AttentionResult forward_fast(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                             bool with_log_sum) {
    AttentionResult result = make_result(query, value, rules, with_log_sum);
    const auto view = view_attention<float>(query, key, value, rules);
    const auto output = mutable_head_rows<float>(result.output, rules.heads);
    float* const log_sum = with_log_sum ? result.log_sum.mutable_data<float>() : nullptr;
    const std::int64_t floats = attention_forward_scratch(rules.key_spans.longest(), view.dk(), view.dv());
    for_pieces(rules, rules.heads, view.dk() + view.dv(), [&](std::span<const AttentionItem> items) {
        Tensor scratch = Tensor::empty({floats}, DType::f32);
        by_level(v2::attention_forward_fast, v3::attention_forward_fast, v4::attention_forward_fast)(
            view, items.data(), std::ssize(items), output, log_sum, scratch.mutable_data<float>());
    });
    return result;
}

AttentionResult forward_cuda(AttentionVariant variant, const Columns& query, const Columns& key, const Columns& value,
                             const AttentionRules& rules, bool with_log_sum) {
    AttentionResult result = make_cuda_result(query, value, rules, with_log_sum);
    attention_forward_cuda(variant, query, key, value, rules, result);
    return result;
}

void backward_reference(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                        const AttentionResult& forward, const Tensor& d_output, AttentionGradients& gradients) {
    zero_gradient_gaps(rules, gradients);
    dispatch_real("attention", query.base, [&]<class T>(TypeTag<T>) {
        const auto view = view_attention<T>(query, key, value, rules);
        const auto back = view_backward<T>(rules, forward, d_output, gradients);
        for_pieces(rules, rules.heads_of_keys(), 8 * view.group * (view.dk() + view.dv()),
                   [&](std::span<const AttentionItem> items) {
                       for (const AttentionItem& item : items) backward_item(view, back, item);
                   });
        if (!gradients.bias.defined()) return;
        const std::int64_t time = gradients.bias.dim(1), keys = gradients.bias.dim(2);
        T* const d_bias = gradients.bias.mutable_data<T>();
        parallel_for(gradients.bias.dim(0) * time, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                bias_gradient_row(view, back, rules.query_spans.size(), row / time, row % time, d_bias + row * keys);
        });
    });
}

void backward_fast(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                   const AttentionResult& forward, const Tensor& d_output, AttentionGradients& gradients) {
    zero_gradient_gaps(rules, gradients);
    const auto view = view_attention<float>(query, key, value, rules);
    const auto back = view_backward<float>(rules, forward, d_output, gradients);
    const std::int64_t floats = attention_backward_scratch(rules.key_spans.longest(), view.dk(), view.dv());
    for_pieces(rules, rules.heads_of_keys(), 2 * view.group * (view.dk() + view.dv()), [&](std::span<const AttentionItem> items) {
        Tensor scratch = Tensor::empty({floats}, DType::f32);
        by_level(v2::attention_backward_fast, v3::attention_backward_fast, v4::attention_backward_fast)(
            view, back, items.data(), std::ssize(items), scratch.mutable_data<float>());
    });
    if (!gradients.bias.defined()) return;
    const std::int64_t time = gradients.bias.dim(1), keys = gradients.bias.dim(2);
    const std::int64_t blocks = (time + kQueryBlock - 1) / kQueryBlock;
    parallel_for(gradients.bias.dim(0) * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        Tensor scratch = Tensor::empty({floats + padded(keys) * kQueryBlock}, DType::f32);
        for (std::int64_t block = begin; block < end; ++block) {
            const std::int64_t head = block / blocks, first = block % blocks * kQueryBlock;
            by_level(v2::attention_bias_gradient_fast, v3::attention_bias_gradient_fast, v4::attention_bias_gradient_fast)(
                view, back, rules.query_spans.size(), head, first, std::min(kQueryBlock, time - first),
                gradients.bias.mutable_data<float>() + (head * time + first) * keys, scratch.mutable_data<float>());
        }
    });
}

}  // namespace

AttentionResult attention_forward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                  bool with_log_sum) {
    check_attention(query, key, value, rules);
    const AttentionVariant variant = attention_variant(AttentionPass::forward, attention_call(query, value, rules));
    switch (variant) {
        case AttentionVariant::reference: return forward_reference(query, key, value, rules, with_log_sum);
        case AttentionVariant::fast: return forward_fast(query, key, value, rules, with_log_sum);
        default: return forward_cuda(variant, query, key, value, rules, with_log_sum);
    }
}

void attention_backward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                        const AttentionResult& forward, const Tensor& d_output, AttentionGradients gradients) {
    check_attention_backward(query, key, value, rules, forward, d_output, gradients);
    const AttentionVariant variant = attention_variant(AttentionPass::backward, attention_call(query, value, rules));
    switch (variant) {
        case AttentionVariant::reference: return backward_reference(query, key, value, rules, forward, d_output, gradients);
        case AttentionVariant::fast: return backward_fast(query, key, value, rules, forward, d_output, gradients);
        default: return attention_backward_cuda(variant, query, key, value, rules, forward, d_output, gradients);
    }
}

AttentionResult attention_forward_reference(const Columns& query, const Columns& key, const Columns& value,
                                            const AttentionRules& rules, bool with_log_sum) {
    check_attention(query, key, value, rules);
    return forward_reference(query, key, value, rules, with_log_sum);
}

void attention_backward_reference(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                  const AttentionResult& forward, const Tensor& d_output, AttentionGradients gradients) {
    check_attention_backward(query, key, value, rules, forward, d_output, gradients);
    backward_reference(query, key, value, rules, forward, d_output, gradients);
}

Tensor attention_weights(const Columns& query, const Columns& key, const AttentionRules& rules) {
    check_attention(query, key, key, rules);
    const std::int64_t query_time = rules.query_spans.longest(), key_time = rules.key_spans.longest();
    Tensor weights =
        Tensor::zeros({rules.query_spans.size(), rules.heads, query_time, key_time}, query.base.dtype(), query.base.device());
    if (query.base.device() == Device::cuda) {
        attention_weights_cuda(query, key, rules, weights);
        return weights;
    }
    dispatch_real("attention", query.base, [&]<class T>(TypeTag<T>) {
        const auto view = view_attention<T>(query, key, key, rules);
        T* const data = weights.mutable_data<T>();
        for_pieces(rules, rules.heads, 4 * view.dk(), [&](std::span<const AttentionItem> items) {
            for (const AttentionItem& item : items)
                for (std::int64_t i = 0; i < view.queries(item.sentence).length; ++i)
                    weights_row(view, item, i, data + ((item.sentence * rules.heads + item.head) * query_time + i) * key_time);
        });
    });
    return weights;
}

}  // namespace heddle::kernels
