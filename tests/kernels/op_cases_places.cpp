// Cases of the ops that move rows and elements: concat, embedding, gather, permute, slice.
#include "kernels/concat/concat.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gather/gather.h"
#include "kernels/permute/permute.h"
#include "kernels/slice/slice.h"
#include "tests/kernels/op_cases.h"

namespace heddle::kernels {
namespace {

// n indices below `bound`, index 0 in every second place, and every fifth one negative when `gaps`.
Tensor indices_of(std::int64_t n, std::int64_t bound, bool gaps) {
    std::vector<std::int32_t> indices;
    Sequence random(static_cast<std::uint64_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        const auto drawn = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
        indices.push_back(gaps && i % 5 == 3 ? -1 - drawn : i % 2 == 0 ? 0 : drawn);
    }
    return Tensor::from(indices, {n});
}

// Each index as often as `counts` says, mixed.
Tensor indices_in_numbers(std::span<const std::int64_t> counts) {
    std::vector<std::int32_t> sorted;
    for (std::size_t k = 0; k < counts.size(); ++k)
        sorted.insert(sorted.end(), static_cast<std::size_t>(counts[k]), static_cast<std::int32_t>(k));
    std::vector<std::int32_t> mixed;
    constexpr std::size_t kStep = 1009;  // a prime, which divides no number of indices here
    for (std::size_t i = 0; i < sorted.size(); ++i) mixed.push_back(sorted[i * kStep % sorted.size()]);
    return Tensor::from(mixed, {static_cast<std::int64_t>(mixed.size())});
}

// Numbers, and the same as integers: the former are tried in every floating-point dtype.
Tensors of_every_type(const Shape& shape) {
    const Tensor x = numbers(shape, 1, 100, 30);
    return {x, x.to(DType::i32), x.to(DType::u8)};
}

OpCase moving(const std::string& what, const Tensors& inputs, const OpFunction& run) {
    return {.what = what, .inputs = inputs, .run = run, .exact = true};
}

const Shape kShapes[] = {{40}, {3, 16}, {4, 33, 5}, {2, 3, 32}};

constexpr std::int64_t kVocabulary = 37;

struct Embedded {
    Spans spans;
    std::int64_t cols;
    EmbeddingPlan plan;
    bool positions;

    std::int64_t most_positions() const { return plan.first_position + spans.longest() + 1; }
    std::string text() const { return std::to_string(spans.rows()) + " x " + std::to_string(cols); }
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
                                 {Spans::equal(60, 17), 128, {.scale = 11, .dropout = Dropout(0.2, 4)}, true}};
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

OpCase embedding_forward_case(const Embedded& one) {
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
            .runs = one.spans.rows() == 1020 ? Runs::on_the_cpu : Runs::everywhere};
}

OpCase embedding_backward_case(const Embedded& one, std::int64_t vocabulary, const Tensor& tokens) {
    const auto before = [](const Shape& shape, std::uint64_t key) { return numbers(shape, key).to(DType::bf16).to(DType::f64); };
    OpCase made{.what = one.text() + ", backward",
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
                            table.mutable_data<double>()[in[1].data<std::int32_t>()[row] * one.cols + c] += one.plan.scale * e;
                            if (one.positions)
                                positions.mutable_data<double>()[(one.plan.first_position + place) * one.cols + c] += e;
                        });
                        return Tensors{table, positions};
                    },
                .runs = one.spans.rows() == 1020 ? Runs::on_the_cpu : Runs::everywhere,
                .sums = 2};
    if (one.spans.rows() < 50) made.on_cpu = Allowed{1e-14, 2e-6};
    return made;
}

}  // namespace

std::vector<OpCase> embedding_cases() {
    std::vector<OpCase> cases;
    for (const Embedded& one : embedded_batches())
        for (OpCase each : {embedding_forward_case(one), embedding_backward_case(one, kVocabulary, tokens_of(one.spans))}) {
            if (one.cols % 8 != 0 || one.spans.rows() > 100) each.offset = OpCase::no_offset;  // rows are not aligned as they are
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
        cases.back().offset = OpCase::no_offset;
    }
    return cases;
}

std::vector<OpCase> gather_cases() {
    std::vector<OpCase> cases;
    const OpFunction forward = [](const Tensors& in) { return Tensors{gather_forward(in[0], in[1])}; };
    for (const Shape& shape : {Shape{5}, {7, 1}, {9, 31}, {9, 32}, {3, 2, 20}, {4, 0}})
        for (const std::int64_t n : {0, 1, 33})
            cases.push_back(moving("rows of " + shape.str(), {numbers(shape, 1), indices_of(n, shape[0], false)}, forward));
    for (const std::int64_t cols : {1, 2, 6, 32})
        for (const Tensor& x : of_every_type({6, cols}))
            cases.push_back(moving("rows of " + std::to_string(cols), {x, indices_of(20, 6, false)}, forward));
    const auto add_backward = [&](const Tensor& indices, std::int64_t bound, std::int64_t cols) {
        const std::int64_t n = indices.numel();
        cases.push_back({.what = std::to_string(n) + " rows of " + std::to_string(cols) + " into " + std::to_string(bound),
                         .inputs = {numbers({n, cols}, 1), indices, numbers({bound, cols}, 2)},
                         .run =
                             [](const Tensors& in) {
                                 Tensor dx = in[2];
                                 gather_backward(in[0], in[1], dx, 1.5);
                                 return Tensors{dx};
                             },
                         .allowed = {.f64 = 1e-12, .f32 = 1e-5},
                         .offset = OpCase::no_offset});
    };
    struct Backward {
        std::int64_t n, bound, cols;
    };
    // Tables of one row and of more than 2^8 and 2^16; indices with few rows, and one with more than 64; several tiles of
    // columns, and of the sort.
    for (const auto& [n, bound, cols] : {Backward{0, 3, 8},
                                         {1, 1, 1},
                                         {7, 300, 33},
                                         {33, 5, 32},
                                         {64, 2, 31},
                                         {129, 1, 8},
                                         {300, 7, 300},
                                         {400, 11, 9},
                                         {1025, 40, 33},
                                         {260, 70000, 4},
                                         {5000, 400, 1}})
        for (const bool gaps : {false, true}) {
            if (n > 1000 && !gaps) continue;
            add_backward(indices_of(n, bound, gaps), bound, cols);
        }
    // Indices that fill more rows than a block adds alone: cut several times; where the next one begins right behind a cut and
    // right at one; with just too few rows, and just enough; at the end of the list.
    for (const std::int64_t cols : {1, 8, 33})
        add_backward(indices_in_numbers(std::vector<std::int64_t>{1027, 1021, 64, 512, 513, 65, 1, 1100}), 8, cols);
    add_backward(indices_in_numbers(std::vector<std::int64_t>{4200}), 1, 5);
    return cases;
}

std::vector<OpCase> permute_cases() {
    struct Order {
        Shape shape;
        std::vector<int> axes;
    };
    // Nothing moves; the last axis stays, whole vectors and not; it moves, by tiles (several, and broken ones) and too narrow for
    // them; between other axes; empty.
    const Order orders[] = {{{}, {}},
                            {{7}, {0}},
                            {{1, 5, 1}, {2, 1, 0}},
                            {{2, 3, 4}, {0, 1, 2}},
                            {{3, 5, 16}, {1, 0, 2}},
                            {{3, 5, 7}, {1, 0, 2}},
                            {{2, 3, 4, 8}, {0, 2, 1, 3}},
                            {{33, 40}, {1, 0}},
                            {{8, 9}, {1, 0}},
                            {{5, 40}, {1, 0}},
                            {{40, 3}, {1, 0}},
                            {{2, 33, 3, 9}, {0, 3, 2, 1}},
                            {{9, 2, 10, 3}, {2, 3, 0, 1}},
                            {{2, 3, 10, 12}, {3, 1, 0, 2}},
                            {{4, 0}, {1, 0}},
                            {{130, 70, 9}, {2, 0, 1}}};
    std::vector<OpCase> cases;
    for (const Order& order : orders)
        for (const Tensor& x : of_every_type(order.shape)) {
            const std::vector<int> axes = order.axes;
            cases.push_back(moving("of " + order.shape.str(), {x, permute_forward(x, axes)}, [axes](const Tensors& in) {
                return Tensors{permute_forward(in[0], axes), permute_backward(in[1], axes)};
            }));
            if (x.numel() > 50000) cases.back().runs = Runs::on_the_cpu;
        }
    return cases;
}

std::vector<OpCase> slice_cases() {
    std::vector<OpCase> cases;
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::string what = shape.str() + " axis " + std::to_string(axis);
            const std::int64_t all = shape[axis];
            for (const Tensor& x : of_every_type(shape))
                for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, all}, {1, 2}, {all / 2, all}})
                    cases.push_back(moving(what + " from " + std::to_string(begin),
                                           {x, Tensor::full(shape, 3, DType::f64).to(x.dtype())},
                                           [axis, begin = begin, end = end](const Tensors& in) {
                                               const Tensor part = slice_forward(in[0], axis, begin, end);
                                               Tensor whole = in[1];
                                               place_slice(part, axis, begin, whole);
                                               return Tensors{part, whole};
                                           }));
            for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, all / 2}) {
                Shape part = shape;
                part.set(axis, (all - begin) / 2);
                cases.push_back({.what = what + ", backward",
                                 .inputs = {numbers(part, 2), numbers(shape, 1)},
                                 .run = [axis, begin](const Tensors& in) {
                                     Tensor dx = in[1];
                                     slice_backward(in[0], axis, begin, dx);
                                     return Tensors{dx};
                                 }});
            }
        }
    cases.push_back(moving("many rows", {numbers({130, 70, 9}, 1)},
                           [](const Tensors& in) { return Tensors{slice_forward(in[0], 1, 3, 50)}; }));
    cases.back().runs = Runs::on_the_cpu;
    return cases;
}

std::vector<OpCase> concat_cases() {
    std::vector<OpCase> cases;
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const Tensor& x : of_every_type(shape)) {
                Shape other = shape;
                other.set(axis, 3);
                const Tensor more = Tensor::full(other, 7, DType::f64).to(x.dtype());
                const std::int64_t extent = shape[axis];
                cases.push_back(
                    moving(shape.str() + " axis " + std::to_string(axis), {x, more}, [axis, extent](const Tensors& in) {
                        const Tensor joined = concat_forward(std::vector{in[0], in[1], in[0]}, axis);
                        const std::vector<Tensor> many(11, in[1]);  // more than one launch takes
                        return Tensors{joined, concat_forward(many, axis), concat_backward(joined, axis, extent, 3)};
                    }));
            }
    return cases;
}

}  // namespace heddle::kernels
