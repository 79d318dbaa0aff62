#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <iterator>

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

// The gradient of an input of which attention ops read different columns, as those of all decoder layers do of one product: each
// op writes its own columns there, instead of adding a whole tensor that is zero elsewhere.
class GradientByColumns {
  public:
    // The gradient of input i so far, in which these columns are zeros, or undefined.
    Tensor find(Gradients& g, int i, const Layout& layout) const {
        const Tensor so_far = g.so_far(i);
        const bool ours = so_far.defined() && so_far.dtype() == g.saved(i).dtype() && so_far.storage_id() == storage_ &&
                          so_far.version() == version_;
        const auto written = [&](const Layout::Slice& slice) {
            return std::ranges::any_of(written_, [&](const Layout::Slice& before) {
                return slice.begin < before.begin + before.count && before.begin < slice.begin + slice.count;
            });
        };
        const auto of_it = [&](const Layout::Slice& slice) { return slice.input == i; };
        return ours && std::ranges::none_of(layout.slices, [&](const auto& slice) { return of_it(slice) && written(slice); })
                   ? so_far
                   : Tensor();
    }
    // Behind the writing: `gradient` is the input's, and only ops that were noted here have written to it. The tape counts
    // `changes` of it when the op has ended.
    void note(const Tensor& gradient, int i, const Layout& layout, std::uint64_t changes) {
        if (storage_ != gradient.storage_id()) written_.clear();
        storage_ = gradient.storage_id();
        version_ = gradient.version() + changes;
        std::ranges::copy_if(layout.slices, std::back_inserter(written_), [&](const auto& slice) { return slice.input == i; });
    }

  private:
    std::uint64_t storage_ = 0, version_ = 0;
    std::vector<Layout::Slice> written_;
};
thread_local GradientByColumns by_columns;

// One gradient tensor per input takes all its slices. When slices overlap (a tensor that is query and key at once), each
// gets a tensor of its own and the tape adds them up. The bias, where there is one, is the input behind them.
void give_gradients(Gradients& g, const Layout& layout, const kernels::AttentionRules& rules) {
    const bool shared = !layout.overlap(0, 1) && !layout.overlap(0, 2) && !layout.overlap(1, 2);
    std::array<Tensor, 3> whole;           // by input
    std::array<bool, 3> there{}, parts{};  // by input: it is the input's gradient already; other columns have other gradients
    std::array<Columns, 3> inputs, gradients;
    for (std::size_t i = 0; i < 3; ++i) {
        const int input = layout.slices[i].input;
        const Tensor& value = g.saved(input);
        inputs[i] = layout.columns(i, value);
        if (!g.needs(input)) continue;
        const bool covered = shared && layout.covers(input, value.cols());
        const std::size_t place = shared ? static_cast<std::size_t>(input) : i;
        Tensor& target = whole[place];
        parts[place] = shared && !covered;
        if (!target.defined() && parts[place]) {
            target = by_columns.find(g, input, layout);
            there[place] = target.defined();
        }
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
    for (std::size_t i = 0; i < 3; ++i) {
        if (!whole[i].defined()) continue;
        const int input = shared ? static_cast<int>(i) : layout.slices[i].input;
        const bool first = !there[i] && !g.so_far(input).defined();
        if (there[i])
            g.accumulate_into(input);  // its columns were written in place
        else
            g.give(input, std::move(whole[i]));
        if (parts[i] && (there[i] || first)) by_columns.note(g.so_far(input), input, layout, there[i] ? 1 : 0);
    }
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
