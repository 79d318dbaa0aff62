#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>

#include "autograd/bench_cases.h"
#include "autograd/observe.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "kernels/cast/cast.h"

namespace heddle::ops {
namespace {

// Query, key and value as slices of one, two or three inputs.
struct Slices {
    std::array<ColumnsOf, 3> columns;
    std::vector<Variable> bases;   // each Variable once
    std::array<int, 3> base_of{};  // which of them slice i lies in

    Slices(const ColumnsOf& query, const ColumnsOf& key, const ColumnsOf& value) : columns{query, key, value} {
        for (std::size_t i = 0; i < 3; ++i) {
            const auto same = [&](const Variable& base) { return base.is(columns[i].base); };
            const auto found = std::find_if(bases.begin(), bases.end(), same);
            base_of[i] = static_cast<int>(found - bases.begin());
            if (found == bases.end()) bases.push_back(columns[i].base);
        }
    }
};

// Where backward writes: without the Variables, which a node must not hold.
struct Layout {
    struct Slice {
        int input;
        std::int64_t begin, count;
    };
    std::array<Slice, 3> slices;
    int inputs;

    explicit Layout(const Slices& from) : inputs(static_cast<int>(from.bases.size())) {
        for (std::size_t i = 0; i < 3; ++i) slices[i] = {from.base_of[i], from.columns[i].begin, from.columns[i].count};
    }
    Columns columns(std::size_t i, const Tensor& base) const { return {base, slices[i].begin, slices[i].count}; }
    bool overlap(std::size_t i, std::size_t j) const {
        const Slice &a = slices[i], &b = slices[j];
        return a.input == b.input && a.begin < b.begin + b.count && b.begin < a.begin + a.count;
    }
    bool covers(int input, std::int64_t columns) const {
        for (const Slice& slice : slices)
            if (slice.input == input) columns -= slice.count;
        return columns == 0;
    }
};

// One gradient tensor per input takes all its slices. When slices overlap (a tensor that is query and key at once), each
// gets a tensor of its own and the tape adds them up. The bias, where there is one, is the input behind them.
void give_gradients(Gradients& g, const Layout& layout, const kernels::AttentionRules& rules) {
    const bool shared = !layout.overlap(0, 1) && !layout.overlap(0, 2) && !layout.overlap(1, 2);
    std::array<Tensor, 3> whole;  // by input
    std::array<Columns, 3> inputs, gradients;
    for (std::size_t i = 0; i < 3; ++i) {
        const int input = layout.slices[i].input;
        const Tensor& value = g.saved(input);
        inputs[i] = layout.columns(i, value);
        if (!g.needs(input)) continue;
        const bool covered = shared && layout.covers(input, value.cols());
        Tensor& target = whole[shared ? static_cast<std::size_t>(input) : i];
        if (!target.defined())
            target = covered ? Tensor::empty(value.shape(), value.dtype(), value.device())
                             : Tensor::zeros(value.shape(), value.dtype(), value.device());
        gradients[i] = layout.columns(i, target);
    }
    const Tensor &output = g.saved(layout.inputs), &log_sum = g.saved(layout.inputs + 1);
    Tensor d_bias;
    if (rules.bias.defined() && g.needs(layout.inputs))
        d_bias = Tensor::empty(rules.bias.shape(), log_sum.dtype(), log_sum.device());
    kernels::attention_backward(inputs[0], inputs[1], inputs[2], rules, {output, log_sum}, g.output(),
                                {gradients[0], gradients[1], gradients[2], d_bias});
    if (d_bias.defined()) g.give(layout.inputs, kernels::cast(d_bias, rules.bias.dtype()));
    gradients = {};
    for (std::size_t i = 0; i < 3; ++i)
        if (whole[i].defined()) g.give(shared ? static_cast<int>(i) : layout.slices[i].input, std::move(whole[i]));
}

// Pairs of a query and a key that the spans and the causal rule allow.
std::int64_t allowed_pairs(const kernels::AttentionRules& rules) {
    std::int64_t pairs = 0;
    for (std::int64_t sentence = 0; sentence < rules.query_spans.size(); ++sentence) {
        const std::int64_t queries = rules.query_spans[sentence].length, keys = rules.key_spans[sentence].length;
        if (!rules.causal) pairs += queries * keys;
        for (std::int64_t i = 0; rules.causal && i < queries; ++i)
            pairs += std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys);
    }
    return pairs;
}

}  // namespace

Variable attention(const ColumnsOf& query, const ColumnsOf& key, const ColumnsOf& value, const Spans& query_spans,
                   const Spans& key_spans, const AttentionArguments& options, Where where) {
    kernels::AttentionRules rules{.query_spans = query_spans,
                                  .key_spans = key_spans,
                                  .heads = options.heads,
                                  .key_heads = options.key_heads,
                                  .causal = options.causal,
                                  .mask = options.mask,
                                  .bias = options.bias.defined() ? options.bias.value() : Tensor(),
                                  .scale = options.scale,
                                  .dropout = options.dropout};
    const Slices slices(query, key, value);
    std::vector<Variable> inputs = slices.bases;
    if (options.bias.defined()) inputs.push_back(options.bias);
    const bool recorded = will_record(inputs);
    kernels::AttentionResult result = kernels::attention_forward(query.value(), key.value(), value.value(), rules, recorded);
    if (options.weights != nullptr) *options.weights = kernels::attention_weights(query.value(), key.value(), rules);
    const std::int64_t multiply_adds = observed() ? allowed_pairs(rules) * (query.count + result.output.cols()) : 0;
    if (!recorded)
        return record(std::move(result.output),
                      {.op = "attention", .where = where, .inputs = std::move(inputs), .multiply_adds = multiply_adds});
    std::vector<Tensor> saved;
    for (const Variable& base : slices.bases) saved.push_back(base.value());
    saved.push_back(result.output);
    saved.push_back(result.log_sum);
    // From here on among the saved tensors, where a change would be noticed.
    if (rules.mask.defined()) saved.push_back(rules.mask);
    if (rules.bias.defined()) saved.push_back(rules.bias);
    rules.mask = rules.bias = {};
    return record(result.output, {.op = "attention",
                                  .where = where,
                                  .inputs = std::move(inputs),
                                  .multiply_adds = multiply_adds,
                                  .saved = std::move(saved),
                                  .backward = [layout = Layout(slices), rules = std::move(rules), masked = options.mask.defined(),
                                               biased = options.bias.defined()](Gradients& g) {
                                      kernels::AttentionRules now = rules;
                                      if (masked) now.mask = g.saved(layout.inputs + 2);
                                      if (biased) now.bias = g.saved(layout.inputs + 2 + (masked ? 1 : 0));
                                      give_gradients(g, layout, now);
                                  }});
}

}  // namespace heddle::ops

namespace heddle::proofs {
namespace {

using ops::AttentionArguments;
using ops::ColumnsOf;

constexpr std::int64_t kHeads = 2;

AttentionArguments options_beside(const Variable& input, AttentionArguments options) {
    options.mask = proofs::beside(input, options.mask);
    return options;
}

// Query, key and value side by side in one projection.
GradientFunction self_attention(const Spans& spans, std::int64_t dk, std::int64_t dv, const AttentionArguments& options) {
    return [=](std::span<const Variable> in) {
        return ops::attention(ColumnsOf(in[0], 0, kHeads * dk), ColumnsOf(in[0], kHeads * dk, kHeads * dk),
                              ColumnsOf(in[0], 2 * kHeads * dk, kHeads * dv), spans, spans, options_beside(in[0], options));
    };
}

// The query alone, key and value side by side.
GradientFunction cross_attention(const Spans& queries, const Spans& keys, std::int64_t width, const AttentionArguments& options) {
    return [=](std::span<const Variable> in) {
        return ops::attention(in[0], ColumnsOf(in[1], 0, kHeads * width), ColumnsOf(in[1], kHeads * width, kHeads * width),
                              queries, keys, options_beside(in[0], options));
    };
}

// The same with the bias behind it. Query heads are `heads`, key heads those of the options.
GradientFunction biased_attention(const Spans& queries, const Spans& keys, std::int64_t dk, std::int64_t dv,
                                  const AttentionArguments& options) {
    return [=](std::span<const Variable> in) {
        AttentionArguments now = options_beside(in[0], options);
        now.bias = in[2];
        const std::int64_t heads = now.key_heads == 0 ? now.heads : now.key_heads;
        return ops::attention(in[0], ColumnsOf(in[1], 0, heads * dk), ColumnsOf(in[1], heads * dk, heads * dv), queries, keys,
                              now);
    };
}

// Query, key and value side by side, fewer heads of keys.
GradientFunction grouped_attention(const Spans& spans, std::int64_t dk, std::int64_t dv, const AttentionArguments& options) {
    return [=](std::span<const Variable> in) {
        const std::int64_t queries = options.heads * dk, keys = options.key_heads * dk;
        return ops::attention(ColumnsOf(in[0], 0, queries), ColumnsOf(in[0], queries, keys),
                              ColumnsOf(in[0], queries + keys, options.key_heads * dv), spans, spans,
                              options_beside(in[0], options));
    };
}

GradientFunction three_inputs(const Spans& queries, const Spans& keys, const AttentionArguments& options) {
    return [=](std::span<const Variable> in) {
        return ops::attention(in[0], in[1], in[2], queries, keys, options_beside(in[0], options));
    };
}

Tensor mask_of(std::vector<std::uint8_t> values, const Shape& shape) { return Tensor::from(values, shape); }

}  // namespace

std::vector<GradientCase> attention() {
    const Spans packed = Spans::packed(std::vector<std::int64_t>{3, 1, 4});
    const Spans gaps({{1, 3}, {5, 0}, {6, 2}}, 9);
    const Spans queries = Spans::packed(std::vector<std::int64_t>{2, 3, 1});
    const Spans one_each = Spans::packed(std::vector<std::int64_t>{1, 1});
    const Spans few({{0, 2}, {3, 1}}, 4), many({{0, 3}, {4, 2}}, 7);
    // The second row of the first sentence may attend to nothing.
    const Tensor shared = mask_of({1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1}, {4, 4});
    const Tensor each = mask_of({1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0}, {2, 2, 3});
    AttentionArguments plain;
    plain.heads = kHeads;
    AttentionArguments causal = plain, masked = plain, both = plain, dropped = plain, scaled = plain, by_sentence = plain;
    causal.causal = both.causal = true;
    masked.mask = both.mask = shared;
    by_sentence.mask = each;
    dropped.dropout = both.dropout = Dropout(0.3, 7);
    scaled.scale = 1.5;
    // The first sentence's second row in head 1 may attend to nothing.
    const Tensor of_heads = mask_of({1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1}, {1, 2, 3, 3});
    AttentionArguments by_head = plain, all = causal, grouped = plain, one_key_head = both;
    by_head.mask = all.mask = of_heads;
    grouped.heads = 4;
    grouped.key_heads = 2;
    one_key_head.key_heads = 1;
    all.heads = 2;
    all.key_heads = 1;
    all.dropout = Dropout(0.3, 8);
    const auto input = [](std::int64_t rows, std::int64_t cols, std::uint64_t seed) { return random_input({rows, cols}, seed); };
    return {
        {"attention", "self, one shared projection", self_attention(packed, 2, 2, plain), {input(8, 12, 1)}},
        {"attention", "self, causal", self_attention(packed, 2, 2, causal), {input(8, 12, 2)}},
        {"attention", "self, a mask with a fully masked row", self_attention(packed, 2, 2, masked), {input(8, 12, 3)}},
        {"attention", "self, causal, mask and dropout 0.3", self_attention(packed, 2, 2, both), {input(8, 12, 4)}},
        {"attention", "self, dropout 0.3", self_attention(packed, 2, 2, dropped), {input(8, 12, 5)}},
        {"attention", "self, padded with gaps, an empty sentence", self_attention(gaps, 2, 2, plain), {input(9, 12, 6)}},
        {"attention",
         "self, heads of 3 and 1, columns that nobody reads",
         self_attention(packed, 3, 1, plain),
         {input(8, 17, 7)}},
        {"attention", "cross, shared key and value", cross_attention(few, many, 2, scaled), {input(4, 4, 8), input(7, 8, 9)}},
        {"attention",
         "cross, causal at the end, gaps",
         cross_attention(few, many, 2, causal),
         {input(4, 4, 10), input(7, 8, 11)}},
        {"attention",
         "cross, a mask for each sentence",
         cross_attention(few, many, 2, by_sentence),
         {input(4, 4, 12), input(7, 8, 13)}},
        {"attention",
         "three inputs, dropout 0.3",
         three_inputs(queries, packed, dropped),
         {input(6, 4, 14), input(8, 4, 15), input(8, 6, 16)}},
        {"attention",
         "one tensor is query, key and value",
         [=](std::span<const Variable> in) { return ops::attention(in[0], in[0], in[0], packed, packed, causal); },
         {input(8, 4, 17)}},
        {"attention", "a mask for each head", cross_attention(few, many, 2, by_head), {input(4, 4, 19), input(7, 8, 20)}},
        {"attention",
         "a bias for each head, gaps",
         biased_attention(few, many, 2, 3, plain),
         {input(4, 4, 21), input(7, 10, 22), random_input({2, 2, 3}, 23)}},
        {"attention",
         "one bias for all heads, larger than the sentences, causal",
         biased_attention(queries, packed, 2, 2, causal),
         {input(6, 4, 24), input(8, 8, 25), random_input({1, 4, 5}, 26)}},
        {"attention", "two heads of keys for four", grouped_attention(packed, 2, 1, grouped), {input(8, 14, 27)}},
        {"attention",
         "one head of keys for two, causal, mask and dropout 0.3",
         grouped_attention(packed, 2, 2, one_key_head),
         {input(8, 8, 28)}},
        {"attention",
         "bias, mask of each head, one head of keys for two, causal, dropout 0.3",
         biased_attention(few, many, 2, 3, all),
         {input(4, 4, 29), input(7, 5, 30), random_input({2, 3, 3}, 31)}},
        {"attention", "sentences of one token", self_attention(one_each, 2, 2, plain), {input(2, 12, 18)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

OpCase attention(const Setting& on, const std::string& what, const std::vector<std::int64_t>& lengths, std::int64_t d_model,
                 std::int64_t heads, bool causal, const Dropout& dropout) {
    double pairs = 0;
    std::int64_t rows = 0;
    for (const std::int64_t length : lengths) {
        const auto n = static_cast<double>(length);
        pairs += causal ? n * (n + 1) / 2 : n * n;
        rows += length;
    }
    const auto width = static_cast<double>(d_model), hidden = static_cast<double>(rows * d_model);
    return {.op = "attention",
            .what = what + (causal ? ", causal" : ""),
            .prepare = [=]() -> Run {
                const Variable qkv = leaf({rows, 3 * d_model}, on);
                const Spans spans = Spans::packed(lengths);
                ops::AttentionArguments options;
                options.heads = heads;
                options.causal = causal;
                options.dropout = dropout;
                return [=] {
                    const Variable projection = fresh(qkv);
                    return ops::attention({projection, 0, d_model}, {projection, d_model, d_model},
                                          {projection, 2 * d_model, d_model}, spans, spans, options);
                };
            },
            .forward_operations = 4 * pairs* width,
            .backward_operations = 10 * pairs* width,
            .formula = "4 d_model for each query and key that meet forward, 10 backward",
            .forward_bytes = on.bytes(4 * hidden),
            .backward_bytes = on.bytes(8 * hidden)};
}

}  // namespace heddle::benches
