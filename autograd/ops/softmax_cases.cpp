// The cases of softmax.
#include <algorithm>
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/softmax/softmax.h"

namespace heddle::softmax_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

GradientFunction masked(const Tensor& mask) {
    return [mask](std::span<const Variable> in) { return ops::softmax(in[0], beside(in[0], mask)); };
}

// Inputs: x and the bias.
GradientFunction biased(double scale, const Tensor& mask) {
    return [=](std::span<const Variable> in) {
        return ops::softmax(in[0], beside(in[0], mask), {}, {.scale = scale, .bias = in[1]});
    };
}

std::vector<GradientCase> proofs() {
    const Tensor per_row = Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0}, {3, 4});
    const Tensor whole = Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1}, {2, 2, 3});
    const Tensor lengths = Tensor::from(std::vector<std::int32_t>{2, 4}, {2});
    const GradientFunction reaching = [lengths](std::span<const Variable> in) {
        return ops::softmax(in[0], {}, {.lengths = beside(in[0], lengths), .causal = true});
    };
    return {
        {"softmax", "key lengths and causal", reaching, {random_input({2, 3, 4}, 17)}},
        {"softmax", "plain", masked({}), {random_input({3, 7}, 11, 2)}},
        {"softmax", "three axes, the mask of the last two; a masked row", masked(per_row), {random_input({2, 3, 4}, 12)}},
        {"softmax", "a mask of the whole shape; a masked row", masked(whole), {random_input({2, 2, 3}, 13)}},
        {"softmax",
         "scale -1.3",
         [](std::span<const Variable> in) { return ops::softmax(in[0], {}, {}, {.scale = -1.3}); },
         {random_input({3, 7}, 15)}},
        {"softmax",
         "scale and a bias of the whole shape, a masked row",
         biased(0.7, whole),
         {random_input({2, 2, 3}, 16), random_input({2, 2, 3}, 18)}},
        {"softmax",
         "a bias of the last two axes, a masked row",
         biased(1, per_row),
         {random_input({2, 3, 4}, 19), random_input({3, 4}, 20)}},
        {"softmax", "scale and a bias of the last axis", biased(2, {}), {random_input({2, 3, 4}, 21), random_input({4}, 22)}},
        {"softmax", "the first axis", [](auto in) { return ops::softmax(in[0], 0); }, {random_input({3, 4, 2}, 23)}},
        {"softmax", "one column", masked({}), {random_input({4, 1}, 14)}, {.zero_by_symmetry = {0}}},
    };
}

// ---- calls of the kernels

// Narrow and wide rows, in vectors and one by one.
const std::int64_t kWidths[] = {1, 2, 24, 31, 32, 33, 127, 256, 257, 264, 1024, 1025, 1032, 2056};

// Over the places that attend, one flag for each element of x.
Tensor plain_softmax(const Tensor& x, const std::vector<bool>& attends) {
    const std::vector<double> values = x.to_vector();
    Tensor y = Tensor::zeros(x.shape(), DType::f64);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const auto begin = static_cast<std::size_t>(row * x.cols()), end = begin + static_cast<std::size_t>(x.cols());
        double largest = -kInfinity, total = 0;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) largest = std::max(largest, values[i]);
        if (largest == -kInfinity) continue;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) total += std::exp(values[i] - largest);
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) y.mutable_data<double>()[i] = std::exp(values[i] - largest) / total;
    }
    return y;
}

// inputs: x, mask, lengths; x [2, 3, cols].
std::vector<bool> attending(const Tensors& inputs, bool causal) {
    const Tensor &x = inputs[0], &mask = inputs[1], &lengths = inputs[2];
    const std::int64_t cols = x.cols();
    std::vector<bool> attends;
    for (std::int64_t i = 0; i < x.numel(); ++i)
        attends.push_back((!mask.defined() || mask.data<std::uint8_t>()[i % mask.numel()] != 0) &&
                          (!causal || i % cols <= i / cols % 3 + cols - 3) &&
                          (!lengths.defined() || i % cols < lengths.data<std::int32_t>()[i / (3 * cols)]));
    return attends;
}

KernelCase softmax_case(const std::string& what, const Tensors& inputs, bool causal, const Allowed& allowed) {
    return {.what = what,
            .inputs = inputs,
            .run =
                [causal](const Tensors& in) {
                    return Tensors{softmax_forward(in[0], in[1], {in[2], causal})};
                },
            .allowed = allowed,
            .same_zeros = true,
            .offset = KernelCase::each_offset};
}

// inputs: x, mask, the bias.
KernelCase scored_softmax_case(const std::string& what, const Tensors& inputs, double scale, const Allowed& allowed) {
    return {.what = what,
            .inputs = inputs,
            .run =
                [scale](const Tensors& in) {
                    return Tensors{softmax_forward(in[0], in[1], {}, {scale, in[2]})};
                },
            .allowed = allowed,
            .formula =
                [scale](const Tensors& in) {
                    Tensor scores = in[0].clone();
                    for (std::int64_t i = 0; i < scores.numel(); ++i)
                        scores.mutable_data<double>()[i] =
                            scale * in[0].data<double>()[i] + in[2].data<double>()[i % in[2].numel()];
                    return Tensors{plain_softmax(scores, attending({in[0], in[1], {}}, false))};
                },
            .same_zeros = true};
}

KernelCase softmax_gradient(const std::string& what, const Tensor& x, const Tensor& mask, const Allowed& allowed,
                            double scale = 1) {
    return {.what = what + ", backward",
            .inputs = {numbers(x.shape(), 6), softmax_forward(x, mask)},
            .run = [scale](const Tensors& in) { return Tensors{softmax_backward(in[0], in[1], scale)}; },
            .allowed = allowed,
            .offset = KernelCase::each_offset,
            .by_row = x.rank() == 2 ? 2 : 0};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    const Allowed forward{.f64 = 1e-13, .f32 = 2e-6}, backward{.f64 = 1e-13, .f32 = 3e-6}, wide{.f64 = 1e-12, .f32 = 1e-5};
    for (const std::int64_t cols : kWidths) {
        const std::string what = std::to_string(cols) + " columns";
        const Shape shape{2, 3, cols};
        const Tensor x = numbers(shape, 5, 0, 3),
                     lengths = Tensor::from(
                         std::vector<std::int32_t>{static_cast<std::int32_t>(cols), static_cast<std::int32_t>(cols / 2)}, {2});
        for (const Tensor& mask : {Tensor(), random_mask(shape, 7), random_mask({3, cols}, 8)}) {
            for (const bool reaching : {false, true}) {
                if (reaching && mask.shape() == shape) continue;
                KernelCase one = softmax_case(what, {x, mask, reaching ? lengths : Tensor()}, reaching, forward);
                one.on_cpu = Allowed{cols > 1025 ? 1e-13 : 1e-14, cols > 1025 ? 2e-6 : 1e-6};
                one.formula = [reaching](const Tensors& in) { return Tensors{plain_softmax(in[0], attending(in, reaching))}; };
                cases.push_back(one);
            }
            cases.push_back(softmax_gradient(what, x, mask, backward));
        }
    }
    for (const std::int64_t cols : {1, 24, 33, 257, 1024, 1025, 1032, 2056}) {
        const std::string what = std::to_string(cols) + " columns, scale and bias";
        const Tensor x = numbers({2, 3, cols}, 5, 0, 3), mask = random_mask({3, cols}, 8);
        for (const Shape& shape : {Shape({2, 3, cols}), Shape({3, cols}), Shape({cols})}) {
            Tensor bias = numbers(shape, 9, 0, 2);
            if (cols > 2) bias.mutable_data<double>()[1] = -kInfinity;
            cases.push_back(
                scored_softmax_case(what + " of " + shape.str(), {x, shape.rank() == 2 ? mask : Tensor(), bias}, 0.37, forward));
        }
        cases.push_back(softmax_gradient(what, x, mask, backward, -0.37));
    }
    // Among many rows, and alone.
    KernelCase rows = softmax_case("700 rows", {numbers({700, 65}, 3, 0, 3), random_mask({700, 65}, 9), {}}, false, forward);
    rows.by_row = 2;
    rows.runs = RunsOn::on_the_cpu;
    cases.push_back(rows);
    cases.push_back(softmax_gradient("700 rows", rows.inputs[0], {}, backward));
    cases.back().runs = RunsOn::on_the_cpu;
    for (const std::int64_t cols : {8, 1032}) {
        KernelCase with_nan = softmax_case("with a NaN", {numbers({3, cols}, 1), {}, {}}, false, forward);
        with_nan.nan = NanSpreads::over_its_row;
        cases.push_back(with_nan);
    }
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
        cases.push_back(softmax_case("of " + shape.str(), {numbers(shape, 1), {}, {}}, false, forward));
        cases.push_back(softmax_gradient("of " + shape.str(), numbers(shape, 1), {}, backward));
    }
    for (const std::int64_t cols : {32768, 65535}) {  // they are read again
        const Tensor x = numbers({2, cols}, 5, 0, 3), mask = random_mask({2, cols}, 8);
        cases.push_back(softmax_case(std::to_string(cols) + " columns", {x, mask, {}}, false, wide));
        cases.back().runs = RunsOn::unwatched;
        cases.push_back(softmax_gradient(cases.back().what, x, mask, wide));
        cases.back().runs = RunsOn::unwatched;
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    const Shape shape = draw.shape_of(step.inputs[0]);
    if (draw.chance(0.5)) step.options["scale"] = draw.uniform(-1.5, 1.5);
    if (draw.chance(0.4)) {  // of the last axes, one or more
        Shape last;
        for (int axis = static_cast<int>(draw.between(0, shape.rank() - 1)); axis < shape.rank(); ++axis)
            last.append(shape[axis]);
        step.inputs.push_back(draw.of(last));
    }
    if (draw.chance(0.5) && shape.rank() >= 2) {
        const bool whole = shape.rank() == 2 || draw.chance(0.5);
        step.constants["mask"] = draw.mask(whole ? shape : Shape{shape[-2], shape[-1]}, 0.7);
    }
    if (draw.chance(0.3) && shape.rank() >= 2) {
        step.constants["lengths"] = draw.indices(shape[0], shape[-1] + 1);
    }
    if (shape.rank() >= 2) step.options["causal"] = draw.chance(0.3);
    return step;
}

Outputs apply(const Step& step, Inputs in) {
    return {ops::softmax(in[0], step.constant("mask"),
                         {.lengths = step.constant("lengths"), .causal = step.option("causal", false)},
                         {.scale = step.option("scale", 1.0), .bias = in.size() > 1 ? in[1] : Variable()})};
}

constexpr std::string_view kTorch = R"py(
x = inputs[0] * options.get("scale", 1.0)
if len(inputs) > 1: x = x + inputs[1]
allowed = torch.ones(x.shape, dtype=torch.bool)
if "mask" in constants: allowed = allowed & constants["mask"].bool()
if options.get("causal"): allowed = allowed & causal(*x.shape[-2:])
if "lengths" in constants:
    lengths = constants["lengths"].long().reshape(-1, *[1] * (x.dim() - 1))
    allowed = allowed & (torch.arange(x.shape[-1]) < lengths)
return [F.softmax(x, -1) if allowed.all() else softmax_where(x, allowed)]
)py";

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "softmax", "", 2, 3, [](const RowInputs& in) { return ops::softmax(fresh(in.x)); })};
}

std::vector<BenchCase> bench_wide(const BenchSetting& on) { return bench(wide_rows(on)); }

// ---- what is explained

void explain_softmax(Session& s, Extents d) {
    map<[](const Tensor& x) { return softmax_forward(x); }>(s, d);
}

void explain_softmax_dx(Session& s, Extents d) {
    const Tensor dy = s.input("dy", randn(d, 1)), y = s.input("y", softmax_forward(randn(d, 2)));
    traced(s, "dx", [&] { return softmax_backward(dy, y); });
}

}  // namespace

OpCases table() {
    return {.name = "softmax",
            .place = 14,
            .proofs = proofs,
            .kernels = kernel_cases,
            .large = true,
            .functions = {{"softmax", draw, apply, kTorch}},
            .benches = {{.cases = bench, .place = 110},
                        {.cases = at_row_shapes<bench>, .place = 110, .sizes = "rows"},
                        {.cases = bench_wide, .place = 310, .sizes = "large"}},
            .example_place = 16,
            .examples = {{"softmax", "softmax of each row", "rows, cols", {4, 64}, explain_softmax},
                         {"softmax-backward", "the gradient of softmax", "rows, cols", {4, 64}, explain_softmax_dx}}};
}

}  // namespace heddle::softmax_cases
