// The cases of embedding.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/embedding/embedding.h"

namespace heddle::embedding_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor tokens = Tensor::from(std::vector<std::int32_t>{2, 0, 2, 4, 2, 1, 0}, {7});  // repeated ones, and none of row 3
    const Spans packed = Spans::packed(std::vector<std::int64_t>{4, 1, 2});
    const Spans gaps({{1, 3}, {5, 2}}, 7);
    const auto embed = [=](const Spans& spans, const ops::EmbeddingOptions& options) -> GradientFunction {
        return [=](auto in) {
            ops::EmbeddingOptions with = options;
            if (in.size() > 1) with.positions = in[1];
            return ops::embedding(in[0], beside(in[0], tokens), spans, with);
        };
    };
    const Tensor table = random_input({5, 9}, 1), positions = random_input({6, 9}, 2);
    return {
        {"embedding", "table alone", embed(packed, {}), {table}},
        {"embedding", "scale, learned positions", embed(packed, {.scale = 3}), {table, positions}},
        {"embedding", "rows outside the spans", embed(gaps, {.scale = 2}), {table, positions}},
        {"embedding",
         "from position 2 on, dropout 0.3",
         embed(packed, {.scale = 3, .first_position = 2, .dropout = Dropout(0.3, 15)}),
         {table, positions}},
        // The inputs are the rows of other tokens: row 2, which four tokens read, is a constant.
        {"embedding",
         "an untrained token",
         [=](auto in) {
             const Variable parts[] = {in[0], Variable(Tensor::zeros({1, 9}, in[0].dtype(), in[0].value().device())), in[1]};
             return ops::embedding(ops::concat(parts, 0), beside(in[0], tokens), packed, {.scale = 3, .untrained = 2});
         },
         {random_input({2, 9}, 3), random_input({2, 9}, 4)}},
    };
}

// ---- calls of the kernels

constexpr std::int64_t kVocabulary = 37;

struct Embedded {
    Spans spans;
    std::int64_t cols;
    EmbeddingPlan plan;
    bool positions;

    std::int64_t most_positions() const { return plan.first_position + spans.longest() + 1; }
    std::string text() const {
        return std::to_string(spans.rows()) + " x " + std::to_string(cols) + (plan.untrained < 0 ? "" : ", a token untrained");
    }
};

std::vector<Embedded> embedded_batches() {
    const std::vector<std::int64_t> lengths = {3, 1, 0, 7, 0, 2};
    const Spans packed = Spans::packed(lengths), padded = Spans::padded(lengths, 8);
    const Spans gaps({{2, 3}, {5, 0}, {9, 4}}, 16);
    std::vector<Embedded> all = {{packed, 8, {}, false},
                                 {padded, 128, {.scale = 3, .dropout = Dropout(0.3, 77)}, true},
                                 {gaps, 31, {.scale = 2, .dropout = Dropout(0.1, 78)}, true},
                                 {gaps, 1032, {.scale = 2, .first_position = 4}, true},
                                 {Spans(), 8, {}, true},
                                 {Spans({}, 5), 8, {}, false},
                                 {Spans::packed(std::vector<std::int64_t>{1100, 1030}), 1, {}, false},
                                 {Spans::equal(60, 17), 128, {.scale = 11, .dropout = Dropout(0.2, 4)}, true},
                                 {gaps, 32, {.scale = 2, .dropout = Dropout(0.1, 78), .untrained = 12}, true},
                                 {packed, 31, {.untrained = 0}, false},
                                 {Spans::packed(std::vector<std::int64_t>{1100, 1030}), 2, {.untrained = 36}, false}};
    for (const std::int64_t cols : {1, 31, 32, 33, 127, 128, 1025})
        all.push_back({packed, cols, {.scale = 5.5, .first_position = 1, .dropout = Dropout(cols % 2 == 0 ? 0.3 : 0, 4)}, true});
    return all;
}

// Few different tokens, so that they repeat; outside the spans what no table has.
Tensor tokens_of(const Spans& spans) {
    Sequence random(5);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(spans.rows()), -9);
    for (const Span& span : spans)
        for (std::int64_t i = span.start; i < span.start + span.length; ++i)
            ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random.below(4) * 12);
    return Tensor::from(ids, {spans.rows()});
}

// body(row, place in its sentence, column, the dropout's factor) for every element of a sentence.
void for_each_element(const Embedded& one, const std::function<void(std::int64_t, std::int64_t, std::int64_t, double)>& body) {
    for (const Span& span : one.spans)
        for (std::int64_t t = 0; t < span.length; ++t)
            for (std::int64_t c = 0; c < one.cols; ++c)
                body(span.start + t, t, c, one.plan.dropout.keeps_row(span.start + t, c) ? one.plan.dropout.scale() : 0);
}

KernelCase embedding_forward_case(const Embedded& one) {
    return {.what = one.text(),
            .inputs = {numbers({kVocabulary, one.cols}, 1),
                       one.positions ? numbers({one.most_positions(), one.cols}, 2) : Tensor(), tokens_of(one.spans)},
            .run = [one](const Tensors& in) { return Tensors{embedding_forward(in[0], in[2], one.spans, in[1], one.plan)}; },
            .on_cpu = Allowed{1e-15, 1e-6},
            .formula =
                [one](const Tensors& in) {
                    Tensor y = Tensor::zeros({one.spans.rows(), one.cols}, DType::f64);
                    for_each_element(one, [&](std::int64_t row, std::int64_t place, std::int64_t c, double factor) {
                        const std::int64_t token = in[2].data<std::int32_t>()[row];
                        double value = one.plan.scale * in[0].data<double>()[token * one.cols + c];
                        if (one.positions) value += in[1].data<double>()[(one.plan.first_position + place) * one.cols + c];
                        y.mutable_data<double>()[row * one.cols + c] = value * factor;
                    });
                    return Tensors{y};
                },
            .runs = one.spans.rows() == 1020 ? RunsOn::on_the_cpu : RunsOn::everywhere};
}

KernelCase embedding_backward_case(const Embedded& one, std::int64_t vocabulary, const Tensor& tokens) {
    const auto before = [](const Shape& shape, std::uint64_t key) { return numbers(shape, key).to(DType::bf16).to(DType::f64); };
    KernelCase made{.what = one.text() + ", backward",
                    .inputs = {numbers({one.spans.rows(), one.cols}, 3), tokens, before({vocabulary, one.cols}, 8),
                               before({one.most_positions(), one.cols}, 9)},
                    .run =
                        [one](const Tensors& in) {
                            Tensor table = in[2], positions = in[3];
                            embedding_backward(in[0], in[1], one.spans, one.plan, &table, one.positions ? &positions : nullptr);
                            return Tensors{table, positions};
                        },
                    .allowed = {.f64 = 1e-12, .f32 = 1e-5},
                    .formula =
                        [one](const Tensors& in) {
                            Tensor table = in[2].clone(), positions = in[3].clone();
                            for_each_element(one, [&](std::int64_t row, std::int64_t place, std::int64_t c, double factor) {
                                const double e = in[0].data<double>()[row * one.cols + c] * factor;
                                const std::int32_t token = in[1].data<std::int32_t>()[row];
                                if (token != one.plan.untrained)
                                    table.mutable_data<double>()[token * one.cols + c] += one.plan.scale * e;
                                if (one.positions)
                                    positions.mutable_data<double>()[(one.plan.first_position + place) * one.cols + c] += e;
                            });
                            return Tensors{table, positions};
                        },
                    .runs = one.spans.rows() == 1020 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                    .sums = 2};
    if (one.spans.rows() < 50) made.on_cpu = Allowed{1e-14, 2e-6};
    return made;
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Embedded& one : embedded_batches())
        for (KernelCase each : {embedding_forward_case(one), embedding_backward_case(one, kVocabulary, tokens_of(one.spans))}) {
            if (one.cols % 8 != 0 || one.spans.rows() > 100)
                each.offset = KernelCase::no_offset;  // rows are not aligned as they are
            cases.push_back(each);
        }
    // More words than the sort tells apart in one pass; one that comes in every second row, some that come twice, and gaps.
    const Spans spans({{1, 130}, {140, 0}, {150, 170}}, 330);
    std::vector<std::int32_t> ids(330, -9);
    for (const Span& span : spans)
        for (std::int64_t i = span.start; i < span.start + span.length; ++i)
            ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 2 == 0 ? 2999 : i * 37 % 97 * 31);
    for (const double dropout : {0.0, 0.3}) {
        const Embedded one{spans, 8, {.scale = 2, .dropout = Dropout(dropout, 79)}, false};
        cases.push_back(embedding_backward_case(one, 3000, Tensor::from(ids, {330})));
        cases.back().offset = KernelCase::no_offset;
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number table = draw.any(2, 2);
    const Shape shape = draw.shape_of(table);
    Json spans = Json::array();
    std::int64_t rows = 0, longest = 0;
    for (std::int64_t sentences = draw.between(1, 3); sentences > 0; --sentences) {
        rows += draw.chance(0.3) ? draw.between(1, 2) : 0;  // a gap
        const std::int64_t length = draw.between(0, 3);
        spans.push_back({rows, length});
        rows += length;
        longest = std::max(longest, length);
    }
    rows = std::max<std::int64_t>(rows, 1);
    const std::int64_t first = draw.between(0, 2);
    const Number positions = draw.chance(0.6) ? draw.of({first + longest + draw.between(1, 2), shape.cols()}) : kNone;
    Step step{.inputs = {table, positions},
              .options = {{"spans", spans}, {"scale", draw.uniform(0.5, 2)}, {"first_position", first}},
              .constants = {{"tokens", draw.indices(rows, shape[0])}}};
    if (draw.chance(0.4)) draw.dropout(step, rows, shape.cols());
    return step;
}

Outputs apply(const Step& step, Inputs in) {
    const Tensor tokens = step.constant("tokens");
    return {ops::embedding(in[0], tokens, step.spans("spans", tokens.numel()),
                           {.scale = step.options.at("scale"),
                            .positions = in[1],
                            .first_position = step.options.at("first_position"),
                            .dropout = step.dropout()})};
}

constexpr std::string_view kTorch = R"py(
table, positions = inputs
tokens = constants["tokens"].long()
parts = []
for start, length in options["spans"]:
    part = options["scale"] * F.embedding(tokens[start:start + length], table)
    first = options["first_position"]
    parts.append(part if positions is None else part + positions[first:first + length])
return [kept(rows_of(options["spans"], len(tokens), parts), constants)]
)py";

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), length = on.length, vocabulary = on.vocabulary, d_model = on.d_model;
    const Spans spans = Spans::equal(on.sentences, length);
    const auto hidden = static_cast<double>(rows * d_model);
    return {{.op = "embedding",
             .what = fmt::format("[{}, {}], {} tokens, positions, dropout", vocabulary, d_model, rows),
             .make_run = [=]() -> Run {
                 const Variable table = leaf({vocabulary, d_model}, on);
                 const Tensor tokens = random_tokens(rows, vocabulary, on);
                 ops::EmbeddingOptions options;
                 options.scale = 11.3;
                 options.positions = Variable(numbers({length, d_model}, on));
                 options.dropout = dropout_of_training();
                 return [=] { return ops::embedding(table, tokens, spans, options); };
             },
             .forward_bytes = on.bytes(2 * hidden),
             .backward_bytes = on.bytes(3 * hidden)}};
}

// ---- what is explained

void explain_embedding(Session& s, Extents d) {
    const std::int64_t vocabulary = 16;
    const Tensor table = s.input("table", Tensor::randn({vocabulary, d[1]}, 1));
    const Tensor tokens = s.input("tokens", some_indices(d[0], vocabulary));
    const Tensor positions = s.input("positions", sinusoidal_positions(d[0], d[1], DType::f32));
    const Spans spans = Spans::packed(std::array{d[0]});
    traced(s, "y", [&] { return embedding_forward(table, tokens, spans, positions, {.scale = 8}); });
}

void explain_embedding_dx(Session& s, Extents d) {
    const std::int64_t vocabulary = 16;
    const Tensor dy = s.input("dy", randn(d, 1)), tokens = s.input("tokens", some_indices(d[0], vocabulary));
    Tensor dtable = s.input("dtable", Tensor::zeros({vocabulary, d[1]})),
           dpositions = s.input("dpositions", Tensor::zeros(Shape(d)));
    const Spans spans = Spans::packed(std::array{d[0]});
    s.trace([&] { embedding_backward(dy, tokens, spans, {.scale = 8}, &dtable, &dpositions); });
}

}  // namespace

OpCases table() {
    return {
        .name = "embedding",
        .place = 13,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions = {{"embedding", draw, apply, kTorch}},
        .benches = {{.cases = bench, .place = 60}},
        .example_place = 27,
        .examples = {
            {"embedding", "the rows of tokens, scaled, plus positions", "tokens, d_model", {6, 64}, explain_embedding},
            {"embedding-backward", "the gradients of table and positions", "tokens, d_model", {6, 64}, explain_embedding_dx}}};
}

}  // namespace heddle::embedding_cases
