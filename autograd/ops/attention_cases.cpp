// The cases of attention.
#include <fmt/format.h>
#include <algorithm>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"

namespace heddle::attention_cases {
namespace {

using namespace cases;

// ---- the proof

using ops::AttentionArguments;
using ops::ColumnsOf;

constexpr std::int64_t kHeads = 2;

AttentionArguments options_beside(const Variable& input, AttentionArguments options) {
    options.mask = beside(input, options.mask);
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

std::vector<GradientCase> proofs() {
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
    dropped.dropout = both.dropout = DropoutMask(0.3, 7);
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
    all.dropout = DropoutMask(0.3, 8);
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

// ---- a random call

// [[start, length], ...] within `rows`: gaps between sentences, some of them empty.
Json draw_spans(Draw& draw, std::int64_t rows, std::int64_t sentences) {
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
Tensor kept_weights(const DropoutMask& dropout, const Shape& shape) {
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
std::optional<Step> draw(Draw& draw) {
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
    step.options["query_spans"] = draw_spans(draw, draw.shape_of(query).rows(), sentences);
    step.options["key_spans"] = draw_spans(draw, keys, sentences);
    rules(draw, step, heads, sentences);
    return step;
}

// The leading inputs hold query, key and value; the bias, where there is one, is behind them.
Outputs apply(const Step& step, Inputs in) {
    ops::AttentionArguments arguments;
    arguments.heads = step.options.at("heads");
    arguments.key_heads = step.options.at("key_heads");
    arguments.causal = step.options.at("causal");
    arguments.mask = step.constant("mask");
    arguments.dropout = step.dropout();
    if (step.options.contains("scale")) arguments.scale = step.options.at("scale").get<double>();
    if (step.options.at("biased")) arguments.bias = in.back();
    std::vector<ops::ColumnsOf> columns;
    for (const Json& each : step.options.at("columns"))
        columns.emplace_back(in[each.at(0).get<std::size_t>()], each.at(1).get<std::int64_t>(), each.at(2).get<std::int64_t>());
    const Spans queries = step.spans("query_spans", columns[0].base.rows());
    const Spans keys = step.spans("key_spans", columns[1].base.rows());
    return {ops::attention(columns[0], columns[1], columns[2], queries, keys, arguments)};
}

constexpr std::string_view kTorch = R"py(
query, key, value = (inputs[base][:, begin:begin + count] for base, begin, count in options["columns"])
heads, key_heads = options["heads"], options["key_heads"]

def by_head(part, count):  # [rows, count * width] to [heads, rows, width]
    return part.unflatten(1, (count, -1)).transpose(0, 1).repeat_interleave(heads // count, 0)

def of_sentence(tensor, sentence, queries, keys):  # of a mask or a bias of two to four axes, [heads, queries, keys]
    if tensor.dim() == 4: tensor = tensor[sentence if tensor.shape[0] > 1 else 0]
    return tensor[..., :queries, :keys].expand(heads, queries, keys)

parts = []
for sentence, ((q0, queries), (k0, keys)) in enumerate(zip(options["query_spans"], options["key_spans"])):
    q, k = by_head(query[q0:q0 + queries], heads), by_head(key[k0:k0 + keys], key_heads)
    v = by_head(value[k0:k0 + keys], key_heads)
    allowed = torch.ones(heads, queries, keys, dtype=torch.bool)
    if options["causal"]: allowed = allowed & causal(queries, keys)
    if "mask" in constants:
        mask = constants["mask"].bool()
        if mask.dim() == 3: mask = mask[sentence]
        allowed = allowed & of_sentence(mask, sentence, queries, keys)
    bias = of_sentence(inputs[-1], sentence, queries, keys) if options["biased"] else q.new_zeros(heads, queries, keys)
    if "kept" in constants or not allowed.any(-1).all():
        scale = options.get("scale", q.shape[-1]**-0.5)
        weights = softmax_where(scale * (q @ k.mT) + bias, allowed) if keys else q.new_zeros(heads, queries, keys)
        if "kept" in constants: weights = weights * constants["kept"][sentence, :, :queries, :keys]
        y = weights @ v
    else:
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(~allowed, -INFINITY), scale=options.get("scale"))
    parts.append(y.transpose(0, 1).flatten(1))
return [rows_of(options["query_spans"], len(query), parts)]
)py";

// ---- what is timed

// Self attention over packed sentences of these lengths; `what` describes them.
BenchCase self_attention_case(const BenchSetting& on, const std::string& what, const std::vector<std::int64_t>& lengths,
                              std::int64_t d_model, std::int64_t heads, bool causal, const DropoutMask& dropout) {
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
            .make_run = [=]() -> Run {
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

std::vector<BenchCase> bench(const BenchSetting& on) {
    std::vector<BenchCase> cases;
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(on.sentences), on.length);
    const std::string what = fmt::format("{} sentences of {}, {} heads", on.sentences, on.length, on.heads);
    for (const bool causal : {false, true})
        cases.push_back(self_attention_case(on, what, lengths, on.d_model, on.heads, causal, dropout_of_training()));
    return cases;
}

// Sentences as a corpus has them, for which the packed attention is made. Lengths 10, 47, 33, 19, .. : every length from 10 to 60
// equally often.
std::vector<BenchCase> bench_sentences(const BenchSetting& on) {
    std::vector<BenchCase> cases;
    for (const std::int64_t d_model : {128, 512})
        for (const std::int64_t sentences : {64, 128, 256})
            for (const bool causal : {false, true}) {
                std::vector<std::int64_t> lengths;
                for (std::int64_t i = 0; i < sentences; ++i) lengths.push_back(10 + 37 * i % 51);
                const std::int64_t heads = d_model == 128 ? 4 : 8;
                const std::string what = fmt::format("{} sentences of 10-60, {} heads of {}", sentences, heads, d_model / heads);
                cases.push_back(self_attention_case(on, what, lengths, d_model, heads, causal, {}));
            }
    return cases;
}

std::vector<BenchCase> bench_large(const BenchSetting& on) {
    std::vector<BenchCase> cases;
    constexpr std::int64_t tokens = 16384, d_model = 2048;
    for (const std::int64_t head : {64, 128})
        for (const std::int64_t length : {std::int64_t{2048}, tokens})
            for (const bool causal : {false, true}) {
                const std::vector<std::int64_t> lengths(static_cast<std::size_t>(tokens / length), length);
                const std::string what =
                    fmt::format("{} sentences of {}, {} heads of {}", lengths.size(), length, d_model / head, head);
                cases.push_back(self_attention_case(on, what, lengths, d_model, d_model / head, causal, {}));
            }
    return cases;
}

}  // namespace

OpCases table() {
    return {.name = "attention",
            .place = 17,
            .proofs = proofs,
            .functions = {{"attention", draw, apply, kTorch}},
            .benches = {{.cases = bench_large, .place = 5, .sizes = "large"},
                        {.cases = bench_sentences, .sizes = "sentences"},
                        {.cases = bench, .place = 35, .sizes = "translator tiny"}}};
}

}  // namespace heddle::attention_cases
