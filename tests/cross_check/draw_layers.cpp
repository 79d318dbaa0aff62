// Configurations of attention, the feed-forward and the losses.
#include <algorithm>

#include "tests/cross_check/draw.h"

namespace heddle::cross_check {
namespace {

// [[start, length], ...] within `rows`: gaps between sentences, some of them empty.
Json spans(Draw& draw, std::int64_t rows, std::int64_t sentences) {
    Json result = Json::array();
    std::int64_t at = 0;
    for (std::int64_t left = sentences; left > 0; --left) {
        at = std::min(rows, at + (draw.chance(0.3) ? 1 : 0));
        const std::int64_t most = rows - at;
        const std::int64_t length =
            draw.chance(0.1) ? 0 : draw.between(std::min<std::int64_t>(1, most), left == 1 ? most : (most + 1) / 2);
        result.push_back({at, length});
        at += length;
    }
    return result;
}

std::int64_t longest(const Json& spans) {
    std::int64_t most = 1;
    for (const Json& each : spans) most = std::max(most, each.at(1).get<std::int64_t>());
    return most;
}

// The factors of the weights that attention keeps, [sentences, heads, longest query, longest key].
Tensor kept_weights(const Dropout& dropout, const Shape& shape) {
    Tensor kept = Tensor::zeros(shape, DType::f64);
    double* at = kept.mutable_data<double>();
    for (std::int64_t sentence = 0; sentence < shape[0]; ++sentence)
        for (std::int64_t head = 0; head < shape[1]; ++head)
            for (std::int64_t query = 0; query < shape[2]; ++query)
                for (std::int64_t key = 0; key < shape[3]; ++key, ++at)
                    if (dropout.keeps(key, static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(head),
                                      static_cast<std::uint32_t>(sentence)))
                        *at = dropout.scale();
    return kept;
}

struct Heads {
    std::int64_t queries, keys, dk, dv;
};

// The mask in one of its forms, a bias, the causal rule, a scale, dropout: each of them or not.
void rules(Draw& draw, Step& step, const Heads& heads, std::int64_t sentences) {
    const std::int64_t queries = longest(step.options["query_spans"]), keys = longest(step.options["key_spans"]);
    const std::int64_t wide_queries = queries + draw.between(0, 1), wide_keys = keys + draw.between(0, 1);
    if (draw.chance(0.5)) {
        Shape shape{wide_queries, wide_keys};
        if (draw.chance(0.3)) shape = {sentences, wide_queries, wide_keys};
        if (draw.chance(0.4))
            shape = {draw.chance(0.5) ? sentences : 1, draw.chance(0.5) ? heads.queries : 1, wide_queries, wide_keys};
        step.constants["mask"] = draw.mask(shape, 0.7);
    }
    step.options["biased"] = draw.chance(0.4);
    if (step.options["biased"]) step.inputs.push_back(draw.of({draw.chance(0.5) ? heads.queries : 1, wide_queries, wide_keys}));
    step.options["causal"] = draw.chance(0.4);
    if (draw.chance(0.4)) step.options["scale"] = draw.uniform(0.2, 1.5);
    if (draw.chance(0.4))
        step.constants["kept"] = kept_weights(draw.dropout_option(step), {sentences, heads.queries, queries, keys});
}

Number base(Draw& draw) { return draw.alone() ? draw.leaf({draw.between(1, 9), draw.between(2, 12)}) : draw.any(2, 2); }

// Query, key and value are columns of one, two or three tensors; they may overlap.
std::optional<Step> attention(Draw& draw) {
    const Number query = base(draw);
    const Number key = draw.chance(0.4) ? query : base(draw);
    const std::int64_t keys = draw.shape_of(key).rows();
    const Number value = draw.chance(0.6) ? key : draw.of({keys, draw.between(1, draw.alone() ? 8 : 3)});
    const std::int64_t key_heads = draw.between(1, 2), group = draw.between(1, 2);
    const std::int64_t wq = draw.shape_of(query).cols(), wk = draw.shape_of(key).cols(), wv = draw.shape_of(value).cols();
    const std::int64_t most_dk = std::min(wq / (key_heads * group), wk / key_heads), most_dv = wv / key_heads;
    if (most_dk < 1 || most_dv < 1) return {};
    const Heads heads{key_heads * group, key_heads, draw.between(1, most_dk), draw.between(1, most_dv)};
    const std::int64_t sentences = draw.between(1, 3);
    Step step{.inputs = {query}};
    const auto place = [&](Number number) {
        const auto found = std::find(step.inputs.begin(), step.inputs.end(), number);
        if (found == step.inputs.end()) step.inputs.push_back(number);
        return std::find(step.inputs.begin(), step.inputs.end(), number) - step.inputs.begin();
    };
    const auto columns = [&](Number number, std::int64_t count) {
        const std::int64_t width = draw.shape_of(number).cols();
        return Json{place(number), draw.between(0, width - count), count};
    };
    step.options["columns"] = {columns(query, heads.queries * heads.dk), columns(key, heads.keys * heads.dk),
                               columns(value, heads.keys * heads.dv)};
    step.options["heads"] = heads.queries;
    step.options["key_heads"] = heads.keys;
    step.options["query_spans"] = spans(draw, draw.shape_of(query).rows(), sentences);
    step.options["key_spans"] = spans(draw, keys, sentences);
    rules(draw, step, heads, sentences);
    return step;
}

std::optional<Step> feed_forward(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t most = draw.alone() ? 20 : 3, d_ff = draw.between(1, most), out = draw.between(1, most);
    const Number w1 = draw.of({d_ff, draw.shape_of(x).cols()}), w2 = draw.of({out, d_ff});
    const Number b1 = draw.chance(0.7) ? draw.of({d_ff}) : kNone, b2 = draw.chance(0.7) ? draw.of({out}) : kNone;
    const char* const names[] = {"relu", "gelu", "gelu_tanh"};
    Step step{.inputs = {x, w1, b1, w2, b2}, .options = {{"activation", names[draw.between(0, 2)]}}};
    if (draw.chance(0.4)) draw.dropout(step, draw.shape_of(x).rows(), d_ff);
    return step;
}

// Targets, of which some are ignored, and the loss's options.
void loss(Draw& draw, Step& step, std::int64_t rows, std::int64_t vocabulary) {
    Tensor targets = draw.indices(rows, vocabulary);
    const bool in_vocabulary = draw.chance(0.3);
    const auto ignore = static_cast<std::int32_t>(in_vocabulary ? draw.between(0, vocabulary - 1) : -draw.between(1, 9));
    for (std::int32_t& target : targets.mutable_values<std::int32_t>())
        if (draw.chance(0.2)) target = ignore;
    step.constants["targets"] = targets;
    step.options["ignore"] = ignore;
    step.options["label_smoothing"] = draw.chance(0.5) ? draw.uniform(0.05, 0.5) : 0.0;
    step.options["divisor"] = draw.chance(0.3) ? draw.uniform(1, 20) : 0.0;
}

std::optional<Step> cross_entropy(Draw& draw) {
    Step step{.inputs = {draw.any(2, 2)}};
    loss(draw, step, draw.shape_of(step.inputs[0]).rows(), draw.shape_of(step.inputs[0]).cols());
    return step;
}

std::optional<Step> linear_cross_entropy(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t vocabulary = draw.between(2, draw.alone() ? 40 : 5);
    const Number weight = draw.of({vocabulary, draw.shape_of(x).cols()});
    Step step{.inputs = {x, weight, draw.chance(0.6) ? draw.of({vocabulary}) : kNone}};
    loss(draw, step, draw.shape_of(x).rows(), vocabulary);
    return step;
}

}  // namespace

std::map<std::string, DrawOp> drawn_layers() {
    return {{"attention", attention},
            {"feed_forward", feed_forward},
            {"cross_entropy", cross_entropy},
            {"linear_cross_entropy", linear_cross_entropy}};
}

}  // namespace heddle::cross_check
