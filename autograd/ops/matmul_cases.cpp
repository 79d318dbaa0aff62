// The cases of matmul.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/matmul/matmul.h"

namespace heddle::matmul_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    std::vector<GradientCase> cases;
    const auto add = [&](const char* what, const Shape& a, const Shape& b, bool ta, bool tb) {
        cases.push_back({"matmul",
                         what,
                         [=](auto in) { return ops::matmul(in[0], in[1], ta, tb); },
                         {random_input(a, 1), random_input(b, 2)}});
    };
    add("plain", {3, 4}, {4, 5}, false, false);
    add("a transposed", {4, 3}, {4, 5}, true, false);
    add("b transposed", {3, 4}, {5, 4}, false, true);
    add("both transposed", {4, 3}, {5, 4}, true, true);
    add("batched", {2, 3, 4}, {2, 4, 5}, false, false);
    add("batched, both transposed", {2, 4, 3}, {2, 5, 4}, true, true);
    add("one b for the whole batch", {2, 3, 4}, {4, 5}, false, false);
    add("one b for the whole batch, transposed", {2, 3, 4}, {5, 4}, false, true);
    add("one a for the whole batch", {3, 4}, {2, 4, 5}, false, false);
    add("leading axes that broadcast, a transposed", {2, 1, 4, 3}, {3, 4, 5}, true, false);
    add("a vector and a batch", {4}, {2, 4, 5}, false, false);
    add("a batch and a vector", {2, 3, 4}, {4}, false, false);
    add("two vectors", {4}, {4}, true, true);
    return cases;
}

// ---- calls of the kernels

// Sums of up to 200 products, each rounded once: some multiples of the last place.
constexpr Allowed kSums{.f64 = 1e-14, .f32 = 3e-6};

Shape with(const Shape& batch, std::int64_t rows, std::int64_t cols) {
    Shape shape = batch;
    shape.append(rows);
    shape.append(cols);
    return shape;
}

std::vector<KernelCase> kernel_cases() {
    struct Product {
        Shape batch;
        std::int64_t m, n, k;
        bool shared_b = false;
    };
    std::vector<KernelCase> cases;
    for (const Product& at : {Product{{}, 1, 1, 1},
                              {{}, 31, 33, 32},
                              {{}, 33, 127, 31},
                              {{}, 127, 1, 33},
                              {{}, 5, 7, 0},
                              {{}, 0, 3, 4},
                              {{}, 3, 0, 4},
                              {{2}, 5, 6, 7},
                              {{2, 3}, 4, 33, 8},
                              {{3}, 5, 4, 0},
                              {{3}, 5, 6, 7, true},
                              {{2, 2}, 8, 9, 16, true},
                              {{0}, 2, 3, 4}})
        for (const bool ta : {false, true})
            for (const bool tb : {false, true}) {
                const Shape batch_b = at.shared_b ? Shape{} : at.batch;
                cases.push_back({.what = std::to_string(at.m) + "x" + std::to_string(at.n) + "x" + std::to_string(at.k) +
                                         (ta ? ", a transposed" : "") + (tb ? ", b transposed" : ""),
                                 .inputs = {numbers(ta ? with(at.batch, at.k, at.m) : with(at.batch, at.m, at.k), 1),
                                            numbers(tb ? with(batch_b, at.n, at.k) : with(batch_b, at.k, at.n), 2),
                                            numbers(with(at.batch, at.m, at.n), 3),
                                            numbers(tb ? with(batch_b, at.n, at.k) : with(batch_b, at.k, at.n), 4)},
                                 .run =
                                     [ta, tb](const Tensors& in) {
                                         Tensor db = in[3];
                                         matmul_backward_b(in[2], in[0], in[1], ta, tb, db);
                                         return Tensors{matmul_forward(in[0], in[1], ta, tb),
                                                        matmul_backward_a(in[2], in[0], in[1], ta, tb), db};
                                     },
                                 .allowed = kSums,
                                 .offset = at.m == 31 ? KernelCase::each_offset : KernelCase::no_offset});
            }
    cases.push_back({.what = "alone",
                     .inputs = {numbers({33, 70}, 1), numbers({70, 40}, 2)},
                     .run = [](const Tensors& in) { return Tensors{matmul_forward(in[0], in[1])}; },
                     .allowed = kSums,
                     .by_row = 1,
                     .nan = NanSpreads::over_its_row});
    return cases;
}

// ---- a random call

// b has a's leading axes, or none, or some that broadcast; either may be a vector.
std::optional<Step> draw(Draw& draw) {
    const Number a = draw.any(1, 4);
    const Shape shape = draw.shape_of(a);
    const bool vector = shape.rank() == 1, transpose_a = !vector && draw.chance(0.5), transpose_b = draw.chance(0.5);
    const std::int64_t inner = shape[transpose_a ? -2 : -1], cols = draw.between(1, 4);
    if (draw.chance(0.1))
        return Step{.inputs = {a, draw.of({inner})}, .options = {{"transpose_a", transpose_a}, {"transpose_b", false}}};
    Shape wanted;
    const bool shared = draw.chance(0.4);
    if (!shared && shape.rank() < 4 && draw.chance(0.2)) wanted.append(draw.between(1, 3));
    for (int axis = 0; !shared && axis + 2 < shape.rank(); ++axis)
        wanted.append(shape[axis] == 1 ? draw.between(1, 3) : draw.chance(0.2) ? 1 : shape[axis]);
    wanted.append(transpose_b ? cols : inner);
    wanted.append(transpose_b ? inner : cols);
    return Step{.inputs = {a, draw.of(wanted)}, .options = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}};
}

constexpr std::string_view kTorch = R"py(
a, b = inputs
return [(a.mT if options["transpose_a"] else a) @ (b.mT if options["transpose_b"] else b)]
)py";

// ---- what is timed

// a [sentences, length, d_model] times b transposed, of the same shape.
std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t sentences = on.sentences, length = on.length, d_model = on.d_model;
    const auto operations = static_cast<double>(2 * sentences * length * length * d_model);
    const auto traffic = on.bytes(static_cast<double>(2 * sentences * length * d_model + sentences * length * length));
    return {{.op = "matmul",
             .what = fmt::format("{} x [{}, {}] x [{}, {}]^T", sentences, length, d_model, length, d_model),
             .make_run = [=]() -> Run {
                 const Variable a = leaf({sentences, length, d_model}, on), b = leaf({sentences, length, d_model}, on);
                 return [=] { return ops::matmul(fresh(a), fresh(b), false, true); };
             },
             .forward_operations = operations,
             .backward_operations = 2 * operations,
             .formula = "2 batch m n k forward, twice that backward",
             .forward_bytes = traffic,
             .backward_bytes = 2 * traffic}};
}

}  // namespace

OpCases table() {
    return {.name = "matmul",
            .place = 8,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"matmul", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::matmul(in[0], in[1], s.option<bool>("transpose_a"), s.option<bool>("transpose_b"))};
                           },
                           kTorch}},
            .benches = {{.cases = bench, .place = 20, .sizes = "translator tiny"}}};
}

}  // namespace heddle::matmul_cases
