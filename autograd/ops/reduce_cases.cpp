// The cases of reduce.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/reduce.h"

namespace heddle::reduce_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

using TapeReduction = Variable (*)(const Variable& x, const Axes& axes, bool keep);

const std::pair<const char*, Axes> kAxes[] = {
    {"all axes", {}}, {"the last axis alone", -1}, {"two axes side by side", {0, 1}}, {"two axes with one between them", {2, 0}}};

// Between 0.5 and 2 or so, for products.
Tensor near_one(const Shape& shape, std::uint64_t seed) {
    Tensor x = random_input(shape, seed);
    for (double& value : x.mutable_values<double>()) value = 1 + value / 4;
    return x;
}

std::vector<GradientCase> proofs() {
    // A permutation of well separated numbers: the maximum has a kink where two of them meet.
    Tensor distinct = Tensor::empty({3, 4, 5}, DType::f64);
    for (std::int64_t i = 0; i < 60; ++i) distinct.mutable_data<double>()[i] = 0.1 * static_cast<double>(i * 37 % 60) - 3;
    const Tensor x = random_input({3, 4, 5}, 1);
    const auto keep_of = [](int axis) {
        return axis == 1 ? "the middle axis, kept" : axis == 0 ? "the first axis" : "the last axis";
    };
    std::vector<GradientCase> cases;
    for (const int axis : {0, 1, -1}) {
        const bool keep = axis == 1;
        cases.push_back({"sum", keep_of(axis), [=](auto in) { return ops::sum(in[0], axis, keep); }, {x}});
        cases.push_back({"mean", keep_of(axis), [=](auto in) { return ops::mean(in[0], axis, keep); }, {x}});
        cases.push_back({"max", keep_of(axis), [=](auto in) { return ops::max(in[0], axis, keep); }, {distinct}});
    }
    cases.push_back({"sum", "all elements", [](auto in) { return ops::sum(in[0]); }, {x}});
    for (const auto& [what, axes] : kAxes)
        for (const bool keep : {false, true}) {
            const std::string how = std::string(what) + (keep ? ", kept" : "");
            const std::tuple<const char*, TapeReduction, Tensor> all[] = {
                {"sum", [](auto& v, auto& a, bool k) { return ops::sum(v, a, k); }, x},
                {"mean", [](auto& v, auto& a, bool k) { return ops::mean(v, a, k); }, x},
                {"max", [](auto& v, auto& a, bool k) { return ops::max(v, a, k); }, distinct},
                {"min", [](auto& v, auto& a, bool k) { return ops::min(v, a, k); }, distinct},
                {"prod", [](auto& v, auto& a, bool k) { return ops::prod(v, a, k); }, near_one({3, 4, 5}, 2)},
                {"var", [](auto& v, auto& a, bool k) { return ops::var(v, a, k); }, x},
                {"stddev", [](auto& v, auto& a, bool k) { return ops::stddev(v, a, k, 0); }, x},
                {"norm", [](auto& v, auto& a, bool k) { return ops::norm(v, a, k); }, x},
                {"logsumexp", [](auto& v, auto& a, bool k) { return ops::logsumexp(v, a, k); }, random_input({3, 4, 5}, 1, 3)}};
            for (const auto& [op, function, input] : all)
                cases.push_back(
                    {op, how, [=, chosen = axes, call = function](auto in) { return call(in[0], chosen, keep); }, {input}});
        }
    for (const double p : {1.0, 3.0, kInfinity})
        cases.push_back({"norm",
                         fmt::format("p = {}", p),
                         [p](auto in) { return ops::norm(in[0], -1, false, p); },
                         {random_input({3, 5}, 4)}});
    Tensor zeros = near_one({3, 4}, 3);  // none, one and two factors of a product are 0
    zeros.mutable_data<double>()[5] = zeros.mutable_data<double>()[8] = zeros.mutable_data<double>()[11] = 0;
    cases.push_back({"prod", "zeros among the factors", [](auto in) { return ops::prod(in[0], -1); }, {zeros}});
    for (const int axis : {0, 1, -1})
        cases.push_back({"cumsum", "axis " + std::to_string(axis), [axis](auto in) { return ops::cumsum(in[0], axis); }, {x}});
    return cases;
}

// ---- calls of the kernels

std::vector<KernelCase> kernel_cases() {
    // Rows for a warp and for a block, whole vectors and not; columns for one tile and for several; axes that are cut into
    // chunks, both ways.
    const Shape shapes[] = {{1},        {33, 31},   {3, 32},      {2, 1025},  {9, 1, 16}, {2, 3, 4},
                            {2, 33, 5}, {3, 9, 40}, {5, 0, 3},    {0, 4},     {1, 5000},  {2, 8208},
                            {200, 3},   {700, 3},   {1, 150, 24}, {4, 65, 2}, {2, 3, 8},  {515, 300}};
    // Sums of numbers of either sign: the error belongs to the sum of their magnitudes.
    const Allowed allowed{.f64 = 1e-12, .f32 = 1e-5};
    std::vector<KernelCase> cases;
    for (const Shape& shape : shapes)
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::string what = shape.str() + " over axis " + std::to_string(axis);
            const auto offset = shape.numel() > 2000 ? KernelCase::no_offset : KernelCase::all_offset;
            const Tensor x = numbers(shape, 1, 0.5);
            const RunsOn runs = shape.numel() > 100000 ? RunsOn::on_the_cpu : RunsOn::everywhere;
            cases.push_back({.what = "sum of " + what,
                             .inputs = {x},
                             .run =
                                 [axis, empty = shape[axis] == 0](const Tensors& in) {
                                     Tensors results = {sum_forward(in[0], axis)};
                                     if (!empty) results.push_back(mean_forward(in[0], axis, true));
                                     return results;
                                 },
                             .allowed = allowed,
                             .offset = offset,
                             .runs = runs});
            if (shape[axis] == 0) continue;
            cases.push_back({.what = "extrema of " + what,
                             .inputs = {x},
                             .run =
                                 [axis](const Tensors& in) {
                                     const Extremum max = max_forward(in[0], axis), min = min_forward(in[0], axis);
                                     return Tensors{max.y, max.indices, min.y, min.indices};
                                 },
                             .exact = true,
                             .offset = offset,
                             .runs = runs});
            const Extremum max = max_forward(x, axis);
            if (shape.numel() > 2000) continue;
            cases.push_back({.what = "backward to " + what,
                             .inputs = {numbers(max.y.shape(), 2), max.indices},
                             .run =
                                 [axis, shape](const Tensors& in) {
                                     return Tensors{sum_backward(in[0], shape, axis), mean_backward(in[0], shape, axis),
                                                    max_backward(in[0], in[1], shape, axis)};
                                 },
                             .offset = KernelCase::no_offset});
        }
    for (const Shape& shape : {Shape{1}, {0, 3}, {33, 31}, {2, 3, 8}, {9, 1, 16}, {4, 65, 2}, {3, 127}})
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::string what = shape.str() + " over axis " + std::to_string(axis);
            const Tensor x = numbers(shape, 1, 1, 0.1), y = prod_forward(x, axis);
            cases.push_back({.what = "products of " + what,
                             .inputs = {x},
                             .run = [axis](const Tensors& in) { return Tensors{prod_forward(in[0], axis)}; },
                             .allowed = allowed});
            cases.push_back({.what = "products of " + what + ", backward",
                             .inputs = {numbers(y.shape(), 2), x},
                             .run = [axis](const Tensors& in) { return Tensors{prod_backward(in[0], in[1], axis)}; },
                             .allowed = allowed});
            cases.push_back({.what = "running sums of " + what,
                             .inputs = {x},
                             .run =
                                 [axis](const Tensors& in) {
                                     return Tensors{cumsum(in[0], axis, false), cumsum(in[0], axis, true)};
                                 },
                             .allowed = allowed});
        }
    for (const std::int64_t n : {0, 1, 127, 1025, 9001})
        cases.push_back({.what = "sum of all " + std::to_string(n),
                         .inputs = {numbers({n}, 1, 1)},
                         .run = [](const Tensors& in) { return Tensors{sum_all_forward(in[0])}; },
                         .allowed = allowed});
    cases.push_back({.what = "sum of all, backward", .inputs = {numbers({}, 2)}, .run = [](const Tensors& in) {
                         return Tensors{sum_all_backward(in[0], {3, 11})};
                     }});
    for (const Shape& shape : {Shape{8}, {5, 1}, {2, 1, 8}, {}, {2, 5, 8}})
        cases.push_back({.what = "sum to " + shape.str(),
                         .inputs = {numbers({2, 5, 8}, 3, 1)},
                         .run = [shape](const Tensors& in) { return Tensors{sum_to(in[0], shape)}; },
                         .allowed = allowed,
                         .plain =
                             [shape](const Tensors& in) {
                                 const Tensor half = sum_to(in[0], shape.rank() == 0 ? Shape{2, 1, 1} : shape);
                                 return Tensors{sum_to(through_bf16(half), shape)};
                             },
                         .offset = KernelCase::no_offset});
    return cases;
}

// ---- random calls

std::optional<Step> draw_axis(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int rank = draw.shape_of(x).rank();
    return Step{.inputs = {x}, .options = {{"axis", draw.between(-rank, rank - 1)}, {"keep", draw.chance(0.5)}}};
}

// Over one axis, several or all, as the option "axes" lists them.
std::optional<Step> draw_axes(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int rank = draw.shape_of(x).rank();
    Json axes = Json::array();
    for (int axis = 0; axis < rank; ++axis)
        if (draw.chance(0.6)) axes.push_back(draw.chance(0.5) ? axis : axis - rank);
    if (axes.empty()) axes.push_back(rank - 1);
    return Step{.inputs = {x}, .options = {{"axes", axes}, {"keep", draw.chance(0.5)}}};
}

Axes axes_of(const Step& step) {
    const auto list = step.option<std::vector<int>>("axes");
    return std::span<const int>(list);
}

// The elements of each reduced line differ, and no sum of squares is near to 0.
bool lines_vary(const Draw&, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    double n = 1;
    for (const int axis : step.option<std::vector<int>>("axes")) n *= static_cast<double>(in[0].dim(axis));
    return n > 1 && least_magnitude(outputs[0]) > 1e-2;
}

std::optional<Step> draw_cumsum(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int rank = draw.shape_of(x).rank();
    return Step{.inputs = {x}, .options = {{"axis", draw.between(-rank, rank - 1)}}};
}

template <Variable (*function)(const Variable&, const Axes&, bool, Where)>
Outputs apply_over(const Step& step, Inputs in) {
    return {function(in[0], axes_of(step), step.option<bool>("keep"), Where::current())};
}

template <auto function>
Outputs apply_along(const Step& step, Inputs in) {
    return {function(in[0], step.option<int>("axis"), step.option<bool>("keep"))};
}

std::optional<Step> draw_sum(Draw& draw) { return draw.chance(0.25) ? Step{.inputs = {draw.any(0, 3)}} : draw_axis(draw); }

// Whether the largest number of each row is larger than all others by a margin.
bool has_clear_maxima(const Tensor& x, int axis) {
    axis = axis < 0 ? axis + x.rank() : axis;
    std::int64_t inner = 1;
    for (int a = axis + 1; a < x.rank(); ++a) inner *= x.dim(a);
    const std::int64_t extent = x.dim(axis);
    for (std::int64_t start = 0; start < x.numel(); start += inner * extent)
        for (std::int64_t i = 0; i < inner; ++i) {
            double first = -1e300, second = -1e300;
            for (std::int64_t k = 0; k < extent; ++k) {
                const double value = x.data<double>()[start + k * inner + i];
                second = std::max(second, std::min(first, value));
                first = std::max(first, value);
            }
            if (first - second < 1e-3) return false;
        }
    return true;
}

bool max_suits(const Draw&, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor>) {
    return has_clear_maxima(in[0], step.options.at("axis"));
}

Outputs apply_sum(const Step& step, Inputs in) {
    if (!step.options.contains("axis")) return {ops::sum(in[0])};
    return {ops::sum(in[0], step.option<int>("axis"), step.option<bool>("keep"))};
}

bool min_suits(const Draw&, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor>) {
    return has_clear_maxima(neg(in[0]), step.options.at("axis"));
}

constexpr std::string_view kTorchMin = R"py(
least = inputs[0].detach().amin(options["axis"], keepdim=True)
place = (inputs[0].detach() == least).to(torch.uint8).argmax(options["axis"], keepdim=True)
y = inputs[0].gather(options["axis"], place)
return [y if options["keep"] else y.squeeze(options["axis"])]
)py";

// The first of several equal maxima.
constexpr std::string_view kTorchMax = R"py(
largest = inputs[0].detach().amax(options["axis"], keepdim=True)
place = (inputs[0].detach() == largest).to(torch.uint8).argmax(options["axis"], keepdim=True)
y = inputs[0].gather(options["axis"], place)
return [y if options["keep"] else y.squeeze(options["axis"])]
)py";

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "sum", " over columns", 1, 1, [](const RowInputs& in) { return ops::sum(fresh(in.x), -1); }),
            row_case(on, "max", " over columns", 1, 1, [](const RowInputs& in) { return ops::max(fresh(in.x), -1); })};
}

std::vector<BenchCase> bench_rows(const BenchSetting& on) {
    return {row_case(on, "sum", " over columns", 1, 1, [](const RowInputs& in) { return ops::sum(fresh(in.x), -1); }),
            row_case(on, "sum", " over rows", 1, 1, [](const RowInputs& in) { return ops::sum(fresh(in.x), 0); }),
            row_case(on, "sum", " of all", 1, 1, [](const RowInputs& in) { return ops::sum(fresh(in.x)); }),
            row_case(on, "mean", " over columns", 1, 1, [](const RowInputs& in) { return ops::mean(fresh(in.x), -1); }),
            row_case(on, "max", " over columns", 1, 1, [](const RowInputs& in) { return ops::max(fresh(in.x), -1); }),
            row_case(on, "max", " over rows", 1, 1, [](const RowInputs& in) { return ops::max(fresh(in.x), 0); })};
}

// ---- what is explained

void explain_sum_rows(Session& s, Extents d) {
    map<[](const Tensor& x) { return sum_forward(x, -1); }>(s, d);
}

void explain_sum_columns(Session& s, Extents d) {
    map<[](const Tensor& x) { return sum_forward(x, 0); }>(s, d);
}

void explain_max_rows(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1));
    Extremum result;
    s.trace([&] { result = max_forward(x, -1); });
    s.name("y", result.y);
    s.name("indices", result.indices);
}

}  // namespace

OpCases table() {
    return {
        .name = "reduce",
        .place = 2,
        .proofs = proofs,
        .kernels = kernel_cases,
        .functions =
            {{"sum", draw_sum, apply_sum,
              "return [inputs[0].sum(options['axis'], keepdim=options['keep']) if 'axis' in options else inputs[0].sum()]"},
             {"mean", draw_axis, apply_along<[](auto& x, int axis, bool keep) { return ops::mean(x, axis, keep); }>,
              "return [inputs[0].mean(options['axis'], keepdim=options['keep'])]"},
             {"max", draw_axis, apply_along<[](auto& x, int axis, bool keep) { return ops::max(x, axis, keep); }>, kTorchMax,
              max_suits},
             {"min", draw_axis, apply_along<[](auto& x, int axis, bool keep) { return ops::min(x, axis, keep); }>, kTorchMin,
              min_suits},
             {"sum_over", draw_axes, apply_over<ops::sum>, "return [inputs[0].sum(options['axes'], keepdim=options['keep'])]"},
             {"mean_over", draw_axes, apply_over<ops::mean>, "return [inputs[0].mean(options['axes'], keepdim=options['keep'])]"},
             {"prod", draw_axis, apply_along<[](auto& x, int axis, bool keep) { return ops::prod(x, axis, keep); }>,
              "return [inputs[0].prod(options['axis'], keepdim=options['keep'])]"},
             {"logsumexp", draw_axes, apply_over<ops::logsumexp>,
              "return [inputs[0].logsumexp(options['axes'], keepdim=options['keep'])]"},
             {"var", draw_axes,
              [](const Step& s, Inputs in) -> Outputs { return {ops::var(in[0], axes_of(s), s.option<bool>("keep"), 0)}; },
              "return [inputs[0].var(options['axes'], correction=0, keepdim=options['keep'])]"},
             {"stddev", draw_axes,
              [](const Step& s, Inputs in) -> Outputs { return {ops::stddev(in[0], axes_of(s), s.option<bool>("keep"), 0)}; },
              "return [inputs[0].std(options['axes'], correction=0, keepdim=options['keep'])]", lines_vary},
             {"norm", draw_axes,
              [](const Step& s, Inputs in) -> Outputs { return {ops::norm(in[0], axes_of(s), s.option<bool>("keep"))}; },
              "return [torch.linalg.vector_norm(inputs[0], 2, options['axes'], options['keep'])]", lines_vary},
             {"cumsum", draw_cumsum,
              [](const Step& s, Inputs in) -> Outputs { return {ops::cumsum(in[0], s.option<int>("axis"))}; },
              "return [inputs[0].cumsum(options['axis'])]"}},
        .benches = {{.cases = bench, .place = 180}, {.cases = at_row_shapes<bench_rows>, .place = 180, .sizes = "rows"}},
        .example_place = 11,
        .examples = {{"sum-rows", "the sum of each row", "rows, cols", {4, 64}, explain_sum_rows},
                     {"sum-columns", "the sum of each column", "rows, cols", {16, 64}, explain_sum_columns},
                     {"max-rows", "the maximum of each row, and where it is", "rows, cols", {4, 64}, explain_max_rows}}};
}

}  // namespace heddle::reduce_cases
