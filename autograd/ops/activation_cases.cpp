// The cases of activation.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/activation/activation.h"

namespace heddle::activation_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    return {
        {"relu",
         "inputs away from the kink",
         [](auto in) { return ops::relu(in[0]); },
         {away_from_zero(random_input({4, 7}, 1), 0.2)}},
        {"gelu", "with the error function", [](auto in) { return ops::gelu(in[0]); }, {random_input({4, 7}, 2, 2)}},
        {"gelu", "tanh form", [](auto in) { return ops::gelu(in[0], true); }, {random_input({4, 7}, 3, 2)}},
        {"silu", "from about -6 to 6", [](auto in) { return ops::silu(in[0]); }, {random_input({4, 7}, 4, 3)}},
    };
}

// ---- calls of the kernels

using Unary = Tensor (*)(const Tensor&);

using Binary = Tensor (*)(const Tensor&, const Tensor&);

OpFunction of_one(Unary function) {
    return [function](const Tensors& in) { return Tensors{function(in[0])}; };
}

OpFunction of_two(Binary function) {
    return [function](const Tensors& in) { return Tensors{function(in[0], in[1])}; };
}

std::vector<KernelCase> kernel_cases() {
    struct Function {
        const char* name;
        Unary forward;
        Binary backward;  // of dy and what was saved
        bool saves_result;
    };
    const Function functions[] = {{"relu", relu_forward, relu_backward, true},
                                  {"gelu", [](const Tensor& x) { return gelu_forward(x, false); },
                                   [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, false); }, false},
                                  {"gelu_tanh", [](const Tensor& x) { return gelu_forward(x, true); },
                                   [](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x, true); }, false},
                                  {"silu", silu_forward, silu_backward, false}};
    std::vector<KernelCase> cases;
    for (const Function& function : functions)
        // Around one vector, and around one block of 256 threads.
        for (const Shape& shape : {Shape{0}, {1}, {7}, {31}, {32}, {33}, {5, 127}, {1025}, {3, 4, 700}, {200000}}) {
            const Tensor x = numbers(shape, 1, 0, 2), saved = function.saves_result ? function.forward(x) : x;
            KernelCase one{.what = std::string(function.name) + " of " + shape.str(),
                           .inputs = {x},
                           .run = of_one(function.forward),
                           // Polynomial and exponential of GELU's f32 form: some units in the last place of the largest result.
                           .allowed = {.f64 = 1e-13, .f32 = 2e-6},
                           .runs = shape.numel() > 10000 ? RunsOn::on_the_cpu : RunsOn::everywhere,
                           .by_row = shape.numel() > 0 ? 1 : 0,
                           .nan = NanSpreads::nowhere};
            cases.push_back(one);
            one.what += ", backward";
            one.inputs = {numbers(shape, 2), saved};
            one.run = of_two(function.backward);
            one.by_row *= 2;
            one.nan = NanSpreads::unknown;
            cases.push_back(one);
        }
    return cases;
}

// ---- random calls

std::optional<Step> draw(Draw& draw) { return Step{.inputs = {draw.any(0, 3)}}; }

std::optional<Step> draw_gelu(Draw& draw) {
    return Step{.inputs = {draw.any(0, 3)}, .options = {{"tanh_form", draw.chance(0.5)}}};
}

bool is_clear_of_the_kink(const Draw&, const Step&, const std::vector<Tensor>& in, std::span<const Tensor>) {
    return least_magnitude(in[0]) > 1e-3;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "relu", "", 2, 3, [](const RowInputs& in) { return ops::relu(fresh(in.x)); }),
            row_case(on, "gelu", "", 2, 3, [](const RowInputs& in) { return ops::gelu(fresh(in.x)); }),
            row_case(on, "gelu", ", tanh", 2, 3, [](const RowInputs& in) { return ops::gelu(fresh(in.x), true); }),
            row_case(on, "silu", "", 2, 3, [](const RowInputs& in) { return ops::silu(fresh(in.x)); })};
}

// ---- what is explained

void explain_relu(Session& s, Extents d) {
    map<[](const Tensor& x) { return relu_forward(x); }>(s, d);
}

void explain_gelu(Session& s, Extents d) {
    map<[](const Tensor& x) { return gelu_forward(x); }>(s, d);
}

void explain_gelu_dx(Session& s, Extents d) {
    const Tensor dy = s.input("dy", randn(d, 1)), x = s.input("x", randn(d, 2));
    traced(s, "dx", [&] { return gelu_backward(dy, x); });
}

}  // namespace

OpCases table() {
    return {.name = "activation",
            .place = 10,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"relu", draw, [](const Step&, Inputs in) -> Outputs { return {ops::relu(in[0])}; },
                           "return [F.relu(inputs[0])]", is_clear_of_the_kink},
                          {"gelu", draw_gelu,
                           [](const Step& s, Inputs in) -> Outputs { return {ops::gelu(in[0], s.option<bool>("tanh_form"))}; },
                           "return [F.gelu(inputs[0], approximate=tanh_or_none(options['tanh_form']))]"},
                          {"silu", draw, [](const Step&, Inputs in) -> Outputs { return {ops::silu(in[0])}; },
                           "return [F.silu(inputs[0])]"}},
            .benches = {{.cases = bench, .place = 160}, {.cases = at_row_shapes<bench>, .place = 160, .sizes = "rows"}},
            .example_place = 1,
            .examples = {{"relu", "max(x, 0): one element a thread", "rows, cols", {4, 64}, explain_relu},
                         {"gelu", "the exact GELU", "rows, cols", {4, 64}, explain_gelu},
                         {"gelu-backward", "the gradient of GELU", "rows, cols", {4, 64}, explain_gelu_dx}}};
}

}  // namespace heddle::activation_cases
