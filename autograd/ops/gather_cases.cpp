// The cases of gather.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/gather/gather.h"

namespace heddle::gather_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor indices = Tensor::from(std::vector<std::int32_t>{1, 0, 1, 1}, {4});
    const GradientFunction function = [indices](auto in) { return ops::gather(in[0], beside(in[0], indices)); };
    return {{"gather", "repeated rows", function, {random_input({2, 3, 4}, 1)}}};
}

// ---- calls of the kernels

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

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
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
                         .offset = KernelCase::no_offset});
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

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(1, 3);
    return Step{.inputs = {x}, .constants = {{"indices", draw.indices(draw.between(1, 5), draw.shape_of(x)[0])}}};
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), cols = on.d_model;
    const auto hidden = static_cast<double>(rows * cols);
    return {{.op = "gather",
             .what = fmt::format("[{}, {}] rows", rows, cols),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, cols}, on);
                 const Tensor indices = random_tokens(rows, rows, on);
                 return [=] { return ops::gather(fresh(x), indices); };
             },
             .forward_bytes = on.bytes(2 * hidden),
             .backward_bytes = on.bytes(3 * hidden)}};
}

// ---- what is explained

void explain_gather(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), indices = s.input("indices", some_indices(2 * d[0], d[0]));
    traced(s, "y", [&] { return gather_forward(x, indices); });
}

void explain_gather_dx(Session& s, Extents d) {
    const std::array<std::int64_t, 2> taken = {2 * d[0], d[1]};
    const Tensor dy = s.input("dy", randn(taken, 1)), indices = s.input("indices", some_indices(taken[0], d[0]));
    Tensor dx = s.input("dx", Tensor::zeros(Shape(d)));
    s.trace([&] { gather_backward(dy, indices, dx); });
}

}  // namespace

OpCases table() {
    return {.name = "gather",
            .place = 7,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"gather", draw,
                           [](const Step& s, Inputs in) -> Outputs { return {ops::gather(in[0], s.constant("indices"))}; },
                           "return [inputs[0].index_select(0, constants['indices'].long())]"}},
            .benches = {{.cases = bench, .place = 220}},
            .example_place = 25,
            .examples = {{"gather", "rows by number", "rows, cols", {8, 64}, explain_gather},
                         {"gather-backward",
                          "the gradient of gather: rows that were taken twice are summed",
                          "rows, cols",
                          {8, 64},
                          explain_gather_dx}}};
}

}  // namespace heddle::gather_cases
