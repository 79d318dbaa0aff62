// Cases of the ops that multiply matrices: feed_forward, linear, linear_cross_entropy, matmul.
#include "kernels/activation/activation.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "kernels/matmul/matmul.h"
#include "tests/kernels/op_cases.h"

namespace heddle::kernels {
namespace {

// Sums of up to 200 products, each rounded once: some multiples of the last place.
constexpr Allowed kSums{.f64 = 1e-14, .f32 = 3e-6};

Shape with(const Shape& batch, std::int64_t rows, std::int64_t cols) {
    Shape shape = batch;
    shape.append(rows);
    shape.append(cols);
    return shape;
}

// inputs of a feed-forward network: x, dy, w1, b1, w2, b2, then what their gradients are added to.
Tensors feed_forward_run(const Tensors& in, Activation activation, const Dropout& dropout) {
    const FeedForwardWeights weights{in[2], in[3], in[4], in[5]};
    FeedForwardWeights gradients{in[6], in[7], in[8], in[9]};
    const auto [y, hidden] = feed_forward_forward(in[0], weights, activation, dropout, true);
    const Tensor dx = feed_forward_backward(in[1], in[0], hidden, weights, activation, dropout, {}, gradients);
    return {y, hidden, dx, gradients.w1, gradients.b1, gradients.w2, gradients.b2};
}

// The plain bf16 computation: in f32 with every written tensor rounded.
Tensors plain_feed_forward(const Tensors& in, Activation activation, const Dropout& dropout) {
    const bool relu = activation == Activation::relu, tanh = activation == Activation::gelu_tanh;
    const Tensor &x = in[0], &dy = in[1], &w1 = in[2], &w2 = in[4];
    Tensors gradients = clones({in[6], in[7], in[8], in[9]});
    const Tensor u = through_bf16(linear_forward(x, w1, in[3]));
    const Tensor act = relu ? relu_forward(u) : gelu_forward(u, tanh);
    const Tensor h = through_bf16(dropout_forward(act, dropout));
    const Tensor dh = dropout_forward(through_bf16(linear_backward_x(dy, w2)), dropout);
    const Tensor du = through_bf16(relu ? relu_backward(dh, h) : gelu_backward(dh, u, tanh));
    linear_backward_weight(du, x, gradients[0]);
    linear_backward_bias(du, gradients[1]);
    linear_backward_weight(dy, h, gradients[2]);
    linear_backward_bias(dy, gradients[3]);
    return {through_bf16(linear_forward(h, w2, in[5])),
            relu ? h : u,
            through_bf16(linear_backward_x(du, w1)),
            gradients[0],
            gradients[1],
            gradients[2],
            gradients[3]};
}

struct Network {
    std::int64_t rows, d_model, d_ff, out;
    bool biases = true;
    bool offset = false;
};

Tensors inputs_of(const Network& at) {
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::f64); };
    return {numbers({at.rows, at.d_model}, 1),
            numbers({at.rows, at.out}, 2),
            numbers({at.d_ff, at.d_model}, 3, 0, 0.5),
            at.biases ? numbers({at.d_ff}, 4) : Tensor(),
            numbers({at.out, at.d_ff}, 5, 0, 0.5),
            at.biases ? numbers({at.out}, 6) : Tensor(),
            zeros({at.d_ff, at.d_model}),
            zeros({at.d_ff}),
            zeros({at.out, at.d_ff}),
            zeros({at.out})};
}

// inputs: x, weight, bias, targets.
Tensors loss_run(const Tensors& in, const LossOptions& options) {
    const auto made = linear_cross_entropy(in[0], in[1], in[2], in[3], options, {true, true, in[2].defined()});
    return {made.loss, made.dx, made.dweight, made.dbias};
}

// The plain bf16 computation: f32 with logits, dlogits and every result rounded.
Tensors plain_loss(const Tensors& in, const LossOptions& options) {
    const Tensor logits = through_bf16(linear_forward(in[0], in[1], in[2]));
    const Tensor dloss = Tensor::full({}, 1, DType::f32);
    const Tensor dlogits = through_bf16(cross_entropy_backward(dloss, logits, in[3], options));
    Tensor dweight = Tensor::zeros(in[1].shape(), DType::f32), dbias = Tensor::zeros({in[1].dim(0)}, DType::f32);
    linear_backward_weight(dlogits, in[0], dweight);
    linear_backward_bias(dlogits, dbias);
    return {through_bf16(cross_entropy_forward(logits, in[3], options).loss), through_bf16(linear_backward_x(dlogits, in[1])),
            dweight, dbias};
}

struct Loss {
    std::int64_t rows, d_model, vocabulary;
    double smoothing = 0, divisor = 0;
    bool bias = true;
    double spread = 0.7;  // of weights and inputs
};

void add_loss(std::vector<OpCase>& cases, const Loss& at) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < at.rows; ++i) ids.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>(i * 7 % at.vocabulary));
    const LossOptions options{.label_smoothing = at.smoothing, .divisor = at.divisor};
    OpCase one{.what = std::to_string(at.rows) + " rows of " + std::to_string(at.d_model) + ", " + std::to_string(at.vocabulary) +
                       " words",
               .inputs = {numbers({at.rows, at.d_model}, 1, 0, at.spread), numbers({at.vocabulary, at.d_model}, 2, 0, at.spread),
                          at.bias ? numbers({at.vocabulary}, 3) : Tensor(), Tensor::from(ids, {at.rows})},
               .run = [options](const Tensors& in) { return loss_run(in, options); },
               .allowed = {.f64 = 1e-13, .f32 = 5e-6},
               .plain = [options](const Tensors& in) { return plain_loss(in, options); },
               .offset = OpCase::no_offset,
               .rounds_within = true};
    cases.push_back(one);
    one.what += ", statistics";  // in bf16 two logits may round to one
    one.run = [options](const Tensors& in) {
        const Tensor all = linear_cross_entropy(in[0], in[1], in[2], in[3], options, {false, false, false}).statistics;
        return Tensors{all.slice(0, 1), all.slice(1, 2), all.slice(2, 4)};
    };
    one.plain = {};
    one.results = DType::f64;
    one.in_bf16 = false;
    cases.push_back(one);
}

}  // namespace

std::vector<OpCase> matmul_cases() {
    struct Product {
        Shape batch;
        std::int64_t m, n, k;
        bool shared_b = false;
    };
    std::vector<OpCase> cases;
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
                                 .offset = at.m == 31 ? OpCase::each_offset : OpCase::no_offset});
            }
    cases.push_back({.what = "alone",
                     .inputs = {numbers({33, 70}, 1), numbers({70, 40}, 2)},
                     .run = [](const Tensors& in) { return Tensors{matmul_forward(in[0], in[1])}; },
                     .allowed = kSums,
                     .by_row = 1,
                     .nan = NanSpreads::over_its_row});
    return cases;
}

std::vector<OpCase> linear_cases() {
    struct Map {
        std::int64_t rows, in, out;
    };
    std::vector<OpCase> cases;
    for (const Map& at :
         {Map{1, 1, 1}, {33, 31, 32}, {127, 33, 17}, {300, 8, 1025}, {0, 3, 4}, {5, 0, 4}, {40, 5, 24}, {40, 5, 33}}) {
        const Tensor weight = numbers({at.out, at.in}, 2), bias = numbers({at.out}, 3);
        cases.push_back({.what = std::to_string(at.rows) + " rows, " + std::to_string(at.in) + " to " + std::to_string(at.out),
                         .inputs = {numbers({at.rows, at.in}, 1), numbers({at.rows, at.out}, 4), weight, bias, weight, bias},
                         .run =
                             [](const Tensors& in) {
                                 Tensor dweight = in[4], dbias = in[5];
                                 linear_backward_weight(in[1], in[0], dweight);
                                 linear_backward_bias(in[1], dbias);
                                 return Tensors{linear_forward(in[0], in[2], in[3]), linear_forward(in[0], in[2], {}),
                                                linear_backward_x(in[1], in[2]), dweight, dbias};
                             },
                         .allowed = kSums,
                         .sums = 2});
    }
    cases.push_back({.what = "a row's bits",
                     .inputs = {numbers({200, 31}, 1), numbers({33, 31}, 2), numbers({33}, 3)},
                     .run = [](const Tensors& in) { return Tensors{linear_forward(in[0], in[1], in[2])}; },
                     .allowed = kSums,
                     .by_row = 1,
                     .nan = NanSpreads::over_its_row});
    // More rows than 256 parts of 128: parts grow.
    cases.push_back({.what = "the bias's gradient of 65,536 rows",
                     .inputs = {numbers({65536, 3}, 1), Tensor::zeros({3}, DType::f64)},
                     .run =
                         [](const Tensors& in) {
                             Tensor dbias = in[1];
                             linear_backward_bias(in[0], dbias);
                             return Tensors{dbias};
                         },
                     .allowed = {.f64 = 1e-12, .f32 = 3e-5},
                     .offset = OpCase::no_offset,
                     .runs = Runs::unwatched});
    return cases;
}

std::vector<OpCase> feed_forward_cases() {
    std::vector<OpCase> cases;
    for (const Network& at : {Network{1, 8, 16, 8},
                              {33, 31, 33, 17},
                              {33, 31, 33, 17, false, true},
                              {40, 16, 64, 24},
                              {40, 16, 64, 24, false},
                              {0, 4, 8, 4},
                              {3, 0, 8, 4},
                              {5, 4, 1025, 3},
                              {20, 136, 72, 40},
                              {20, 40, 72, 136, false},
                              {9, 129, 33, 17, true, true},
                              {5, 520, 40, 528},
                              {3, 513, 33, 515},
                              {250, 32, 64, 32}})
        for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh})
            for (const double p : {0.0, 0.3}) {
                const Dropout dropout(p, 77);
                cases.push_back({.what = std::to_string(at.rows) + " rows, " + std::to_string(at.d_model) + " to " +
                                         std::to_string(at.d_ff) + " to " + std::to_string(at.out) + ", activation " +
                                         std::to_string(static_cast<int>(activation)) + ", dropout " + std::to_string(p),
                                 .inputs = inputs_of(at),
                                 .run = [=](const Tensors& in) { return feed_forward_run(in, activation, dropout); },
                                 .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                                 .plain = [=](const Tensors& in) { return plain_feed_forward(in, activation, dropout); },
                                 .offset = at.offset ? OpCase::all_offset : OpCase::no_offset,
                                 .runs = at.rows > 200 ? Runs::on_the_cpu : Runs::everywhere,
                                 .rounds_within = true,
                                 .sums = at.d_model == 31 ? 4 : 0});
            }
    for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
        // Nothing is kept: the GELU's tanh form in bf16 is then cuBLASLt's.
        const auto forward = [activation](const Tensors& in) {
            return Tensors{feed_forward_forward(in[0], {in[2], in[3], in[4], in[5]}, activation, {}, false).y};
        };
        for (const Network& at :
             {Network{33, 24, 40, 16}, {33, 24, 40, 16, false}, {33, 136, 40, 16}, {33, 136, 40, 16, false}, {5, 520, 16, 8}})
            cases.push_back({.what = "forward alone",
                             .inputs = inputs_of(at),
                             .run = forward,
                             .allowed = {.f64 = 1e-13, .f32 = 5e-6},
                             .offset = OpCase::no_offset,
                             .by_row = 1,
                             .nan = NanSpreads::over_its_row});
        cases.push_back(cases.back());
        cases.back().inputs = inputs_of({250, 32, 64, 32});
        cases.back().runs = Runs::on_the_cpu;
    }
    return cases;
}

std::vector<OpCase> linear_cross_entropy_cases() {
    std::vector<OpCase> cases;
    for (const Loss& at : {Loss{1, 5, 7},
                           {33, 8, 32, 0.1},
                           {31, 31, 33, 0.1, 40, false},
                           {40, 16, 127, 0.2},
                           {3, 4, 1025, 0.1},
                           {2, 8, 2064},
                           {4, 1, 3, 0, 0, true, 100},
                           {0, 4, 5, 0.1},
                           {150, 8, 40, 0.1}})
        add_loss(cases, at);
    for (const std::int64_t rows : {192, 193, 400, 500}) {  // around the chunks of rows
        add_loss(cases, {rows, 16, 70, 0.1});
        for (OpCase* one : {&cases[cases.size() - 1], &cases[cases.size() - 2]}) one->runs = Runs::on_the_cpu;
    }
    return cases;
}

}  // namespace heddle::kernels
