// The cases of permute.
#include <fmt/format.h>
#include <array>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/permute/permute.h"

namespace heddle::permute_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor x = random_input({2, 3, 4}, 1);
    const auto turn = [](std::vector<int> axes) -> GradientFunction {
        return [axes](auto in) { return ops::permute(in[0], axes); };
    };
    return {
        {"permute", "three axes turned round", turn({2, 0, 1}), {x}},
        {"permute", "the last axis stays", turn({1, 0, -1}), {x}},
    };
}

// ---- calls of the kernels

std::vector<KernelCase> kernel_cases() {
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
                            {{5, 2, 3, 6}, {1, 0, 2, 3}},  // a step that is the square of the one behind it
                            {{130, 70, 9}, {2, 0, 1}}};
    std::vector<KernelCase> cases;
    for (const Order& order : orders)
        for (const Tensor& x : of_every_type(order.shape)) {
            const std::vector<int> axes = order.axes;
            cases.push_back(moving("of " + order.shape.str(), {x, permute_forward(x, axes)}, [axes](const Tensors& in) {
                return Tensors{permute_forward(in[0], axes), permute_backward(in[1], axes)};
            }));
            if (x.numel() > 50000) cases.back().runs = RunsOn::on_the_cpu;
        }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(1, 4);
    const int rank = draw.shape_of(x).rank();
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis) axes.insert(axes.begin() + draw.between(0, axis), axis);
    if (draw.chance(0.3)) axes.back() -= rank;  // counted from the end
    return Step{.inputs = {x}, .options = {{"axes", axes}}};
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.rows(), cols = on.d_model;
    return {row_case(on, "permute", fmt::format(" to [{}, {}]", cols, rows), 2, 2, [](const RowInputs& in) {
        return ops::permute(fresh(in.x), std::array{1, 0});
    })};
}

// ---- what is explained

void explain_permute(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1));
    traced(s, "y", [&] { return permute_forward(x, std::array{1, 0}); });
}

}  // namespace

OpCases table() {
    return {.name = "permute",
            .place = 4,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"permute", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::permute(in[0], s.option<std::vector<int>>("axes"))};
                           },
                           "return [inputs[0].permute(options['axes'])]"}},
            .benches = {{.cases = bench, .place = 190}, {.cases = at_row_shapes<bench>, .place = 190, .sizes = "rows"}},
            .example_place = 8,
            .examples = {{"permute", "a transposed copy", "rows, cols", {64, 64}, explain_permute}}};
}

}  // namespace heddle::permute_cases
