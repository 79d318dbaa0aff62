#include "apps/bench/op_cases.h"

#include <fmt/format.h>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/adam/adam.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/top_k/top_k.h"

namespace heddle::app {
namespace {

constexpr std::int64_t sentences = 200, length = 14, rows = sentences * length;
constexpr std::int64_t d_model = 128, heads = 4, d_ff = 512, vocabulary = 6000, some_rows = 256;
constexpr double f32 = 4;

Variable random(const Shape& shape, bool requires_grad = true) {
    Tensor values = Tensor::empty(shape, DType::f32);
    fill_normal(values, 0, 0.1, 7 + static_cast<std::uint64_t>(shape.numel()));
    return Variable(values, requires_grad);
}

// The same values as a leaf without a gradient: as in training, backward hands the gradient of an activation over and adds
// nothing to it. (Weights stay: theirs is added to what they hold.)
Variable fresh(const Variable& leaf) { return Variable(leaf.value(), true); }

Tensor random_tokens(std::int64_t count, std::int64_t bound) {
    Sequence numbers(11);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(numbers.below(static_cast<std::uint64_t>(bound)));
    return Tensor::from(ids, {count});
}

Dropout dropout() { return {0.2, 3}; }
Spans spans() { return Spans::packed(std::vector<std::int64_t>(sentences, length)); }

// The traffic of an op that reads and writes so many elements.
double elements(double count) { return f32 * count; }
constexpr double hidden = static_cast<double>(rows * d_model);

OpCase linear_case(std::int64_t in, std::int64_t out) {
    const Variable x = random({rows, in}), weight = random({out, in}), bias = random({out});
    const auto operations = static_cast<double>(2 * rows * in * out);
    const auto traffic = elements(static_cast<double>(rows * in + in * out + rows * out));
    return {.op = "linear",
            .what = fmt::format("[{}, {}] x [{}, {}]^T", rows, in, out, in),
            .run = [=] { return ops::linear(fresh(x), weight, bias); },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase matmul_case() {
    const Variable a = random({sentences, length, d_model}), b = random({sentences, length, d_model});
    const auto operations = static_cast<double>(2 * sentences * length * length * d_model);
    const auto traffic = elements(2 * hidden + static_cast<double>(sentences * length * length));
    return {.op = "matmul",
            .what = fmt::format("{} x [{}, {}] x [{}, {}]^T", sentences, length, d_model, length, d_model),
            .run = [=] { return ops::matmul(fresh(a), fresh(b), false, true); },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase attention_case(bool causal) {
    const Variable qkv = random({rows, 3 * d_model});
    const Spans where = spans();
    ops::AttentionOptions options;
    options.heads = heads;
    options.causal = causal;
    options.dropout = dropout();
    const double pairs = static_cast<double>(sentences) * (causal ? length * (length + 1) / 2.0 : 1.0 * length * length);
    return {.op = "attention",
            .what = fmt::format("{} sentences of {}, {} heads{}", sentences, length, heads, causal ? ", causal" : ""),
            .run =
                [=] {
                    const Variable projection = fresh(qkv);
                    return ops::attention({projection, 0, d_model}, {projection, d_model, d_model},
                                          {projection, 2 * d_model, d_model}, where, where, options);
                },
            .forward_operations = 4 * pairs * d_model,
            .backward_operations = 10 * pairs * d_model,
            .forward_bytes = elements(4 * hidden),
            .backward_bytes = elements(8 * hidden)};
}

OpCase feed_forward_case() {
    const Variable x = random({rows, d_model}), w1 = random({d_ff, d_model}), b1 = random({d_ff});
    const Variable w2 = random({d_model, d_ff}), b2 = random({d_model});
    const auto operations = static_cast<double>(4 * rows * d_model * d_ff);
    const auto traffic = elements(2 * hidden + static_cast<double>(rows * d_ff + 2 * d_model * d_ff));
    return {.op = "feed_forward",
            .what = fmt::format("[{}, {}], inner {}, relu, dropout", rows, d_model, d_ff),
            .run = [=] { return ops::feed_forward(fresh(x), w1, b1, w2, b2, ops::Activation::relu, dropout()); },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase linear_cross_entropy_case() {
    const Variable x = random({rows, d_model}), weight = random({vocabulary, d_model});
    const Tensor targets = random_tokens(rows, vocabulary);
    const auto operations = static_cast<double>(2 * rows * d_model * vocabulary);
    const auto traffic = elements(hidden + static_cast<double>(vocabulary * d_model));
    return {.op = "linear_cross_entropy",
            .what = fmt::format("[{}, {}] x [{}, {}]^T; forward makes the gradients", rows, d_model, vocabulary, d_model),
            .run = [=] { return ops::linear_cross_entropy(fresh(x), weight, {}, targets, {.label_smoothing = 0.1}); },
            .forward_operations = 3 * operations,
            .backward_operations = 0,
            .forward_bytes = 2 * traffic,
            .backward_bytes = 2 * traffic};
}

OpCase cross_entropy_case() {
    const Variable logits = random({some_rows, vocabulary});
    const Tensor targets = random_tokens(some_rows, vocabulary);
    const double traffic = elements(static_cast<double>(some_rows * vocabulary));
    return {.op = "cross_entropy",
            .what = fmt::format("[{}, {}]", some_rows, vocabulary),
            .run = [=] { return ops::cross_entropy(fresh(logits), targets, {.label_smoothing = 0.1}); },
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase embedding_case() {
    const Variable table = random({vocabulary, d_model}), positions = random({length, d_model}, false);
    const Tensor tokens = random_tokens(rows, vocabulary);
    ops::EmbeddingOptions options;
    options.scale = 11.3;
    options.positions = positions;
    options.dropout = dropout();
    return {.op = "embedding",
            .what = fmt::format("[{}, {}], {} tokens, positions, dropout", vocabulary, d_model, rows),
            .run = [=] { return ops::embedding(table, tokens, spans(), options); },
            .forward_bytes = elements(2 * hidden),
            .backward_bytes = elements(3 * hidden)};
}

// An op from one or two [rows, d_model] tensors to such a tensor; traffic in units of that tensor.
OpCase plain_case(const char* op, const char* what, std::function<Variable()> run, double forward, double backward) {
    return {.op = op,
            .what = fmt::format("[{}, {}]{}", rows, d_model, what),
            .run = std::move(run),
            .forward_bytes = elements(forward * hidden),
            .backward_bytes = elements(backward * hidden)};
}

void add_rowwise(std::vector<OpCase>& cases) {
    const Variable x = random({rows, d_model}), y = random({rows, d_model}), gamma = random({d_model}), beta = random({d_model});
    cases.push_back(plain_case(
        "layer_norm", "", [=] { return ops::layer_norm(fresh(x), gamma, beta); }, 2, 3));
    cases.push_back(plain_case(
        "residual_layer_norm", ", dropout",
        [=] { return ops::residual_layer_norm(fresh(x), fresh(y), gamma, beta, 1e-5, dropout()).normalised; }, 4, 4));
    cases.push_back(plain_case(
        "softmax", "", [=] { return ops::softmax(fresh(x)); }, 2, 3));
    cases.push_back(plain_case(
        "log_softmax", "", [=] { return ops::log_softmax(fresh(x)); }, 2, 3));
    cases.push_back(plain_case(
        "residual", ", dropout", [=] { return ops::residual(fresh(x), fresh(y), dropout()); }, 3, 2));
    cases.push_back(plain_case(
        "dropout", "", [=] { return ops::dropout(fresh(x), dropout()); }, 2, 2));
    cases.push_back(plain_case(
        "relu", "", [=] { return ops::relu(fresh(x)); }, 2, 3));
    cases.push_back(plain_case(
        "gelu", "", [=] { return ops::gelu(fresh(x)); }, 2, 3));
    cases.push_back(plain_case(
        "gelu", ", tanh", [=] { return ops::gelu(fresh(x), true); }, 2, 3));
}

void add_composable(std::vector<OpCase>& cases) {
    const Variable x = random({rows, d_model}), y = random({rows, d_model}), row = random({d_model});
    const Tensor indices = random_tokens(rows, rows);
    cases.push_back(plain_case(
        "add", "", [=] { return ops::add(fresh(x), fresh(y)); }, 3, 2));
    cases.push_back(plain_case(
        "add", " + [128]", [=] { return ops::add(fresh(x), row); }, 2, 1));
    cases.push_back(plain_case(
        "mul", "", [=] { return ops::mul(fresh(x), fresh(y)); }, 3, 5));
    cases.push_back(plain_case(
        "exp", "", [=] { return ops::exp(fresh(x)); }, 2, 3));
    cases.push_back(plain_case(
        "scale", "", [=] { return ops::scale(fresh(x), 2); }, 2, 2));
    cases.push_back(plain_case(
        "sum", " over columns", [=] { return ops::sum(fresh(x), -1); }, 1, 1));
    cases.push_back(plain_case(
        "max", " over columns", [=] { return ops::max(fresh(x), -1); }, 1, 1));
    cases.push_back(plain_case(
        "permute", " to [128, 2800]",
        [=] {
            const int axes[] = {1, 0};
            return ops::permute(fresh(x), axes);
        },
        2, 2));
    cases.push_back(plain_case(
        "slice", " half of the columns", [=] { return ops::slice(fresh(x), 1, 0, d_model / 2); }, 1, 1.5));
    cases.push_back(plain_case(
        "concat", " twice",
        [=] {
            const Variable parts[] = {fresh(x), fresh(y)};
            return ops::concat(parts, 1);
        },
        4, 4));
    cases.push_back(plain_case(
        "gather", " rows", [=] { return ops::gather(fresh(x), indices); }, 2, 3));
}

// What has no backward: the optimizer's pass over the parameters of the standard translator, and the choice of the next token.
void add_without_backward(std::vector<OpCase>& cases) {
    constexpr std::int64_t parameters = 2'157'056;
    const auto flat = [] { return Tensor::full({parameters}, 0.01, DType::f32); };
    const Spans all = Spans::packed(std::vector<std::int64_t>{parameters});
    const Tensor gradients = flat();
    cases.push_back({.op = "gradient_norm",
                     .what = fmt::format("[{}]", parameters),
                     .run =
                         [=] {
                             kernels::gradient_norm(gradients);
                             return Variable();
                         },
                     .forward_bytes = elements(parameters)});
    cases.push_back({.op = "adam",
                     .what = fmt::format("[{}]", parameters),
                     .run =
                         [=, values = flat(), first = flat(), second = flat()]() mutable {
                             kernels::adam_step(values, gradients, first, second, all, {.lr = 1e-4});
                             return Variable();
                         },
                     .forward_bytes = elements(7.0 * parameters)});
    const Tensor logits = random({some_rows, vocabulary}).value();
    cases.push_back({.op = "top_k",
                     .what = fmt::format("[{}, {}], the best 10", some_rows, vocabulary),
                     .run =
                         [=] {
                             kernels::top_k_log_softmax(logits, 10);
                             return Variable();
                         },
                     .forward_bytes = elements(static_cast<double>(some_rows * vocabulary))});
}

}  // namespace

std::vector<OpCase> op_cases() {
    std::vector<OpCase> cases;
    cases.push_back(linear_case(d_model, 3 * d_model));
    cases.push_back(linear_case(d_model, d_model));
    cases.push_back(linear_case(d_model, d_ff));
    cases.push_back(linear_case(d_ff, d_model));
    cases.push_back(linear_case(256, 1024));
    cases.push_back(matmul_case());
    cases.push_back(feed_forward_case());
    cases.push_back(attention_case(false));
    cases.push_back(attention_case(true));
    cases.push_back(linear_cross_entropy_case());
    cases.push_back(cross_entropy_case());
    cases.push_back(embedding_case());
    add_rowwise(cases);
    add_composable(cases);
    add_without_backward(cases);
    return cases;
}

}  // namespace heddle::app
