#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>

#include "autograd/observe.h"
#include "autograd/ops.h"
#include "kernels/cast/cast.h"

namespace heddle::inline ops {
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

}  // namespace heddle::inline ops
