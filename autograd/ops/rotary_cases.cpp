// The cases of rotary.
#include <fmt/format.h>

#include <cmath>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/rotary/rotary.h"

namespace heddle::rotary_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Spans packed = Spans::packed({3, 1, 2}), gaps({{1, 3}, {5, 1}}, 6);
    const Tensor positions = Tensor::from(std::vector<std::int32_t>{7, 0, 100000, 3, 3, 12}, {6});
    const auto turn = [](const Spans& spans, std::int64_t head_dim, std::int64_t columns,
                         const ops::RotaryOptions& options) -> GradientFunction {
        return [=](auto in) { return ops::rotary(in[0], spans, head_dim, columns, options); };
    };
    const Tensor x = random_input({6, 12}, 1);
    return {
        {"rotary", "all columns", turn(packed, 4, 12, {}), {x}},
        {"rotary",
         "queries and keys beside values, from position 5 on",
         turn(packed, 2, 8, {.base = 500, .first_position = 5}),
         {x}},
        {"rotary", "rows outside the spans", turn(gaps, 6, 6, {}), {x}},
        {"rotary",
         "a position for each row, turned back",
         [=](auto in) { return ops::rotary(in[0], {}, 12, 12, {.positions = beside(in[0], positions), .inverse = true}); },
         {x}},
    };
}

// ---- calls of the kernels

struct Turned {
    Spans spans;
    std::int64_t cols;
    RotaryPlan plan;
    std::vector<std::int32_t> positions = {};

    std::string text() const {
        return fmt::format("{} x {}, {} columns in heads of {}", rows(), cols, plan.columns, plan.head_dim);
    }
    std::int64_t rows() const { return positions.empty() ? spans.rows() : std::ssize(positions); }
    // -1 outside the spans
    std::vector<double> places() const {
        if (!positions.empty()) return {positions.begin(), positions.end()};
        std::vector<double> places(static_cast<std::size_t>(spans.rows()), -1);
        for (const Span& span : spans)
            for (std::int64_t i = 0; i < span.length; ++i)
                places[static_cast<std::size_t>(span.start + i)] = static_cast<double>(plan.first_position + i);
        return places;
    }
};

// The paper's formula, with angles in radians.
Tensor turned(const Tensor& x, const Turned& one) {
    Tensor y = Tensor::zeros(x.shape(), DType::f64);
    const std::vector<double> places = one.places();
    const std::int64_t half = one.plan.head_dim / 2;
    for (std::int64_t row = 0; row < one.rows(); ++row) {
        const double position = places[static_cast<std::size_t>(row)];
        if (position < 0) continue;
        const double* from = x.data<double>() + row * one.cols;
        double* to = y.mutable_data<double>() + row * one.cols;
        for (std::int64_t c = 0; c < one.cols; ++c) to[c] = from[c];
        for (std::int64_t head = 0; head < one.plan.columns; head += 2 * half)
            for (std::int64_t i = 0; i < half; ++i) {
                const double theta = std::pow(one.plan.base, -static_cast<double>(i) / static_cast<double>(half));
                const double angle = (one.plan.inverse ? -position : position) * theta;
                to[head + i] = from[head + i] * std::cos(angle) - from[head + half + i] * std::sin(angle);
                to[head + half + i] = from[head + half + i] * std::cos(angle) + from[head + i] * std::sin(angle);
            }
    }
    return y;
}

std::vector<KernelCase> kernel_cases() {
    const std::vector<std::int64_t> lengths = {3, 1, 0, 7, 0, 2};
    const Spans packed = Spans::packed(lengths), padded = Spans::padded(lengths, 8), gaps({{2, 3}, {5, 0}, {9, 4}}, 16);
    std::vector<KernelCase> cases;
    std::vector<Turned> all = {{packed, 96, {.head_dim = 16, .columns = 64}},
                               {padded, 128, {.head_dim = 64, .columns = 128, .inverse = true}},
                               {gaps, 31, {.head_dim = 10, .columns = 30, .base = 100}},
                               {gaps, 40, {.head_dim = 4, .columns = 24, .first_position = 3000}},
                               {packed, 24, {.head_dim = 24, .columns = 24}},
                               {packed, 264, {.head_dim = 256, .columns = 256}},
                               {packed, 8, {.head_dim = 2, .columns = 0}},
                               {Spans({}, 5), 8, {.head_dim = 8, .columns = 8}},
                               {Spans(), 8, {.head_dim = 8, .columns = 8}},
                               {Spans(), 48, {.head_dim = 16, .columns = 32}, {5, 0, 70000, 2, 2, 2'000'000'000, 11}},
                               {Spans::packed({1100, 33}), 24, {.head_dim = 8, .columns = 16}}};
    for (const std::int64_t head_dim : {2, 4, 8, 12, 32, 40, 80, 128})
        all.push_back({packed, 3 * head_dim, {.head_dim = head_dim, .columns = 2 * head_dim, .first_position = 1}});
    for (const Turned& one : all) {
        const bool by_row = !one.positions.empty();
        const Tensor positions = by_row ? Tensor::from(one.positions, {one.rows()}) : Tensor();
        cases.push_back({.what = one.text(),
                         .inputs = {numbers({one.rows(), one.cols}, 1), positions},
                         .run = [one](const Tensors& in) { return Tensors{rotary(in[0], one.spans, in[1], one.plan)}; },
                         // A product of a position and a frequency in f64 has fewer digits than the op's angles.
                         .allowed = {.f64 = by_row ? 1e-6 : 1e-12, .f32 = 1e-6},
                         .formula = [one](const Tensors& in) { return Tensors{turned(in[0], one)}; },
                         .runs = one.rows() > 1000 ? RunsOn::on_the_cpu : RunsOn::everywhere});
        if (one.cols % 8 != 0) cases.back().offset = KernelCase::no_offset;
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const std::int64_t head_dim = 2 * draw.between(1, 3), heads = draw.between(0, 2);
    Json spans = Json::array();
    std::int64_t rows = 0;
    for (std::int64_t sentences = draw.between(1, 3); sentences > 0; --sentences) {
        rows += draw.chance(0.3) ? draw.between(1, 2) : 0;  // a gap
        const std::int64_t length = draw.between(0, 3);
        spans.push_back({rows, length});
        rows += length;
    }
    rows = std::max<std::int64_t>(rows, 1);
    Step step{.inputs = {draw.of({rows, heads * head_dim + draw.between(heads == 0 ? 1 : 0, 2)})},
              .options = {{"head_dim", head_dim}, {"columns", heads * head_dim}, {"base", draw.chance(0.5) ? 10000.0 : 7.0}}};
    if (draw.chance(0.3)) {
        step.constants["positions"] = draw.indices(rows, 50);
    } else {
        step.options["spans"] = spans;
        step.options["first_position"] = draw.between(0, 9);
    }
    return step;
}

Outputs apply(const Step& step, Inputs in) {
    const Tensor positions = step.constant("positions");
    ops::RotaryOptions options{.base = step.options.at("base"), .positions = positions};
    if (!positions.defined()) options.first_position = step.options.at("first_position");
    return {ops::rotary(in[0], positions.defined() ? Spans() : step.spans("spans", in[0].rows()), step.options.at("head_dim"),
                        step.options.at("columns"), options)};
}

constexpr std::string_view kTorch = R"py(
x, n, columns = inputs[0], options["head_dim"], options["columns"]
if "positions" in constants:
    positions, there = constants["positions"].to(x.dtype), torch.ones(len(x), 1, dtype=x.dtype)
else:
    positions, there = torch.zeros(len(x), dtype=x.dtype), torch.zeros(len(x), 1, dtype=x.dtype)
    for start, length in options["spans"]:
        positions[start:start + length] = options["first_position"] + torch.arange(length, dtype=x.dtype)
        there[start:start + length] = 1
angles = torch.outer(positions, options["base"] ** (-torch.arange(0, n, 2, dtype=x.dtype) / n))
cos, sin = torch.cat([angles.cos()] * 2, 1)[:, None], torch.cat([angles.sin()] * 2, 1)[:, None]
heads = x[:, :columns].reshape(len(x), -1, n) if columns else x.new_zeros(len(x), 0, n)
half = torch.cat([-heads[..., n // 2:], heads[..., :n // 2]], 2)
return [torch.cat([(heads * cos + half * sin).reshape(len(x), columns), x[:, columns:]], 1) * there]
)py";

// ---- what is timed: queries and keys of the projection of self-attention

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), d_model = on.d_model, head_dim = d_model / on.heads;
    const Spans spans = Spans::equal(on.sentences, on.length);
    const auto traffic = on.bytes(static_cast<double>(2 * rows * 3 * d_model));
    return {{.op = "rotary",
             .what = fmt::format("[{}, {}], {} columns in heads of {}", rows, 3 * d_model, 2 * d_model, head_dim),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, 3 * d_model}, on);
                 return [=] { return ops::rotary(fresh(x), spans, head_dim, 2 * d_model); };
             },
             .forward_bytes = traffic,
             .backward_bytes = traffic}};
}

// ---- what is explained

void explain_rotary(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1));
    const std::int64_t head_dim = 16;
    traced(s, "y",
           [&] { return rotary(x, Spans::equal(1, d[0]), {}, {.head_dim = head_dim, .columns = d[1] / head_dim * head_dim}); });
}

}  // namespace

OpCases table() {
    return {.name = "rotary",
            .place = 17,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"rotary", draw, apply, kTorch}},
            .benches = {{.cases = bench, .place = 65, .sizes = "translator tiny"}},
            .example_place = 29,
            .examples = {
                {"rotary", "rotary positions: heads of 16 columns turned by angles", "rows, cols", {6, 64}, explain_rotary}}};
}

}  // namespace heddle::rotary_cases
