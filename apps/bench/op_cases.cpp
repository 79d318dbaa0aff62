#include "apps/bench/op_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/adam/adam.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/top_k/top_k.h"

namespace heddle::app {
namespace {

using OpRun = std::function<Variable()>;

/// The extents of a batch and a model.
struct Sizes {
    std::int64_t sentences, length, d_model, heads, d_ff, vocabulary;
    std::int64_t some_rows;   // of [some_rows, vocabulary] logits
    std::int64_t parameters;  // of the optimizer's arrays
    std::int64_t rows() const { return sentences * length; }
};

constexpr Sizes translator = {200, 14, 128, 4, 512, 6000, 256, 2'157'056};
constexpr Sizes tiny = {4, 5, 32, 2, 64, 50, 8, 1000};

// Tensors of 512 MB of this dtype: [rows, 1024], logits [some_rows, 32768], flat arrays.
Sizes large_sizes(DType dtype) {
    const std::int64_t elements = (std::int64_t{512} << 20) / size_of(dtype);
    return {elements / 1024 / 64, 64, 1024, 16, 4096, 32768, elements / 32768, elements};
}

// Normal numbers, repeated after some millions: they need not be new ones, and making them takes longer than the measurement.
Tensor numbers(const Shape& shape, const OpSetting& on) {
    constexpr std::int64_t period = 4'000'037;
    const std::int64_t count = shape.numel(), made = std::min(count, period);
    Tensor values = Tensor::empty({made}, DType::f32);
    fill_normal(values, 0, 0.1, 7 + static_cast<std::uint64_t>(count));
    const Tensor pattern = values.to(on.dtype).to(on.device);
    if (made == count) return pattern.reshape(shape);
    const Tensor all = Tensor::empty({count}, on.dtype, on.device);
    for (std::int64_t at = 0; at < count; at += made) {
        const std::int64_t end = std::min(count, at + made);
        Tensor part = all.slice(at, end);
        part.copy_(pattern.slice(0, end - at));
    }
    return all.reshape(shape);
}
Variable random(const Shape& shape, const OpSetting& on, bool requires_grad = true) {
    return Variable(numbers(shape, on), requires_grad);
}

// The same values as a leaf without a gradient: as in training, backward hands the gradient of an activation over and adds
// nothing to it. (Weights stay: theirs is added to what they hold.)
Variable fresh(const Variable& leaf) { return Variable(leaf.value(), true); }

Tensor random_tokens(std::int64_t count, std::int64_t bound, const OpSetting& on) {
    Sequence numbers(11);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(numbers.below(static_cast<std::uint64_t>(bound)));
    return Tensor::from(ids, {count}).to(on.device);
}

Dropout dropout() { return {0.2, 3}; }

// The traffic of an op that reads and writes so many elements.
double elements(double count, const OpSetting& on) { return static_cast<double>(size_of(on.dtype)) * count; }

OpCase linear_case(const OpSetting& on, std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(in * out);
    const auto traffic = elements(static_cast<double>(rows * in + in * out + rows * out), on);
    return {.op = "linear",
            .what = fmt::format("[{}, {}] x [{}, {}]^T", rows, in, out, in),
            .prepare = [=]() -> OpRun {
                const Variable x = random({rows, in}, on), weight = random({out, in}, on), bias = random({out}, on);
                return [=] { return ops::linear(fresh(x), weight, bias); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "2 rows in out forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase matmul_case(const OpSetting& on, const Sizes& at) {
    const std::int64_t sentences = at.sentences, length = at.length, d_model = at.d_model;
    const auto operations = static_cast<double>(2 * sentences * length * length * d_model);
    const auto traffic = elements(static_cast<double>(2 * at.rows() * d_model + sentences * length * length), on);
    return {.op = "matmul",
            .what = fmt::format("{} x [{}, {}] x [{}, {}]^T", sentences, length, d_model, length, d_model),
            .prepare = [=]() -> OpRun {
                const Variable a = random({sentences, length, d_model}, on), b = random({sentences, length, d_model}, on);
                return [=] { return ops::matmul(fresh(a), fresh(b), false, true); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "2 batch m n k forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

// Self attention over packed sentences; `what` names them.
OpCase attention_case(const OpSetting& on, const std::string& what, const std::vector<std::int64_t>& lengths,
                      std::int64_t d_model, std::int64_t heads, bool causal, const Dropout& dropped) {
    double pairs = 0;
    std::int64_t rows = 0;
    for (const std::int64_t length : lengths) {
        const auto n = static_cast<double>(length);
        pairs += causal ? n * (n + 1) / 2 : n * n;
        rows += length;
    }
    const auto width = static_cast<double>(d_model), hidden = static_cast<double>(rows * d_model);
    return {.op = "attention",
            .what = what + (causal ? ", causal" : ""),
            .prepare = [=]() -> OpRun {
                const Variable qkv = random({rows, 3 * d_model}, on);
                const Spans where = Spans::packed(lengths);
                ops::AttentionOptions options;
                options.heads = heads;
                options.causal = causal;
                options.dropout = dropped;
                return [=] {
                    const Variable projection = fresh(qkv);
                    return ops::attention({projection, 0, d_model}, {projection, d_model, d_model},
                                          {projection, 2 * d_model, d_model}, where, where, options);
                };
            },
            .forward_operations = 4 * pairs* width,
            .backward_operations = 10 * pairs* width,
            .formula = "4 d_model for each query and key that meet forward, 10 backward",
            .forward_bytes = elements(4 * hidden, on),
            .backward_bytes = elements(8 * hidden, on)};
}

OpCase feed_forward_case(const OpSetting& on, const Sizes& at) {
    const std::int64_t rows = at.rows(), d_model = at.d_model, d_ff = at.d_ff;
    const auto operations = static_cast<double>(4 * rows * d_model * d_ff);
    const auto traffic = elements(static_cast<double>(2 * rows * d_model + rows * d_ff + 2 * d_model * d_ff), on);
    return {.op = "feed_forward",
            .what = fmt::format("[{}, {}], inner {}, relu, dropout", rows, d_model, d_ff),
            .prepare = [=]() -> OpRun {
                const Variable x = random({rows, d_model}, on), w1 = random({d_ff, d_model}, on), b1 = random({d_ff}, on);
                const Variable w2 = random({d_model, d_ff}, on), b2 = random({d_model}, on);
                return [=] { return ops::feed_forward(fresh(x), w1, b1, w2, b2, ops::Activation::relu, dropout()); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "4 rows d_model d_ff forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase linear_cross_entropy_case(const OpSetting& on, std::int64_t rows, std::int64_t d_model, std::int64_t vocabulary) {
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(d_model * vocabulary);
    const auto traffic = elements(static_cast<double>(rows * d_model + vocabulary * d_model), on);
    return {.op = "linear_cross_entropy",
            .what = fmt::format("[{}, {}] x [{}, {}]^T; forward makes the gradients", rows, d_model, vocabulary, d_model),
            .prepare = [=]() -> OpRun {
                const Variable x = random({rows, d_model}, on), weight = random({vocabulary, d_model}, on);
                const Tensor targets = random_tokens(rows, vocabulary, on);
                return [=] { return ops::linear_cross_entropy(fresh(x), weight, {}, targets, {.label_smoothing = 0.1}); };
            },
            .forward_operations = 3 * operations,
            .backward_operations = 0,
            .formula = "6 rows d_model vocabulary, all forward",
            .forward_bytes = 2 * traffic,
            .backward_bytes = 2 * traffic};
}

OpCase cross_entropy_case(const OpSetting& on, const Sizes& at) {
    const std::int64_t some_rows = at.some_rows, vocabulary = at.vocabulary;
    const double traffic = elements(static_cast<double>(some_rows * vocabulary), on);
    return {.op = "cross_entropy",
            .what = fmt::format("[{}, {}]", some_rows, vocabulary),
            .prepare = [=]() -> OpRun {
                const Variable logits = random({some_rows, vocabulary}, on);
                const Tensor targets = random_tokens(some_rows, vocabulary, on);
                return [=] { return ops::cross_entropy(fresh(logits), targets, {.label_smoothing = 0.1}); };
            },
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

OpCase embedding_case(const OpSetting& on, const Sizes& at) {
    const std::int64_t rows = at.rows(), d_model = at.d_model, vocabulary = at.vocabulary;
    const Spans spans = Spans::packed(std::vector<std::int64_t>(static_cast<std::size_t>(at.sentences), at.length));
    const auto hidden = static_cast<double>(rows * d_model);
    return {.op = "embedding",
            .what = fmt::format("[{}, {}], {} tokens, positions, dropout", vocabulary, d_model, rows),
            .prepare = [=]() -> OpRun {
                const Variable table = random({vocabulary, d_model}, on);
                const Tensor tokens = random_tokens(rows, vocabulary, on);
                ops::EmbeddingOptions options;
                options.scale = 11.3;
                options.positions = random({at.length, d_model}, on, false);
                options.dropout = dropout();
                return [=] { return ops::embedding(table, tokens, spans, options); };
            },
            .forward_bytes = elements(2 * hidden, on),
            .backward_bytes = elements(3 * hidden, on)};
}

/// The inputs of the plain cases: two [rows, cols] tensors and two [cols] ones.
struct Inputs {
    Variable x, y, gamma, beta;
};

// An op from one or two [rows, cols] tensors to such a tensor; traffic in units of that tensor.
void add_plain(std::vector<OpCase>& cases, const OpSetting& on, std::int64_t rows, std::int64_t cols, const char* op,
               const std::string& what, const std::function<Variable(const Inputs&)>& run, double forward, double backward) {
    const auto hidden = static_cast<double>(rows * cols);
    cases.push_back(
        {.op = op,
         .what = fmt::format("[{}, {}]{}", rows, cols, what),
         .prepare = [=]() -> OpRun {
             const Inputs in = {random({rows, cols}, on), random({rows, cols}, on), random({cols}, on), random({cols}, on)};
             return [=] { return run(in); };
         },
         .forward_bytes = elements(forward * hidden, on),
         .backward_bytes = elements(backward * hidden, on)});
}

void add_normalising(std::vector<OpCase>& cases, const OpSetting& on, std::int64_t rows, std::int64_t cols) {
    const auto add = [&](const char* op, const char* what, const auto& run, double forward, double backward) {
        add_plain(cases, on, rows, cols, op, what, run, forward, backward);
    };
    add(
        "layer_norm", "", [](const Inputs& in) { return ops::layer_norm(fresh(in.x), in.gamma, in.beta); }, 2, 3);
    add(
        "softmax", "", [](const Inputs& in) { return ops::softmax(fresh(in.x)); }, 2, 3);
    add(
        "log_softmax", "", [](const Inputs& in) { return ops::log_softmax(fresh(in.x)); }, 2, 3);
}

void add_plain_cases(std::vector<OpCase>& cases, const OpSetting& on, const Sizes& at) {
    const std::int64_t rows = at.rows(), cols = at.d_model;
    const auto add = [&](const char* op, const std::string& what, const auto& run, double forward, double backward) {
        add_plain(cases, on, rows, cols, op, what, run, forward, backward);
    };
    add_normalising(cases, on, rows, cols);
    add(
        "residual_layer_norm", ", dropout",
        [](const Inputs& in) {
            return ops::residual_layer_norm(fresh(in.x), fresh(in.y), in.gamma, in.beta, 1e-5, dropout()).normalised;
        },
        4, 4);
    add(
        "residual", ", dropout", [](const Inputs& in) { return ops::residual(fresh(in.x), fresh(in.y), dropout()); }, 3, 2);
    add(
        "dropout", "", [](const Inputs& in) { return ops::dropout(fresh(in.x), dropout()); }, 2, 2);
    add(
        "relu", "", [](const Inputs& in) { return ops::relu(fresh(in.x)); }, 2, 3);
    add(
        "gelu", "", [](const Inputs& in) { return ops::gelu(fresh(in.x)); }, 2, 3);
    add(
        "gelu", ", tanh", [](const Inputs& in) { return ops::gelu(fresh(in.x), true); }, 2, 3);
    add(
        "add", "", [](const Inputs& in) { return ops::add(fresh(in.x), fresh(in.y)); }, 3, 2);
    add(
        "add", fmt::format(" + [{}]", cols), [](const Inputs& in) { return ops::add(fresh(in.x), in.gamma); }, 2, 1);
    add(
        "mul", "", [](const Inputs& in) { return ops::mul(fresh(in.x), fresh(in.y)); }, 3, 5);
    add(
        "exp", "", [](const Inputs& in) { return ops::exp(fresh(in.x)); }, 2, 3);
    add(
        "scale", "", [](const Inputs& in) { return ops::scale(fresh(in.x), 2); }, 2, 2);
    add(
        "sum", " over columns", [](const Inputs& in) { return ops::sum(fresh(in.x), -1); }, 1, 1);
    add(
        "max", " over columns", [](const Inputs& in) { return ops::max(fresh(in.x), -1); }, 1, 1);
    add(
        "permute", fmt::format(" to [{}, {}]", cols, rows),
        [](const Inputs& in) {
            const int axes[] = {1, 0};
            return ops::permute(fresh(in.x), axes);
        },
        2, 2);
    add(
        "slice", " half of the columns", [=](const Inputs& in) { return ops::slice(fresh(in.x), 1, 0, cols / 2); }, 1, 1.5);
    add(
        "concat", " twice",
        [](const Inputs& in) {
            const Variable parts[] = {fresh(in.x), fresh(in.y)};
            return ops::concat(parts, 1);
        },
        4, 4);
    const auto hidden = static_cast<double>(rows * cols);
    cases.push_back({.op = "gather",
                     .what = fmt::format("[{}, {}] rows", rows, cols),
                     .prepare = [=]() -> OpRun {
                         const Variable x = random({rows, cols}, on);
                         const Tensor indices = random_tokens(rows, rows, on);
                         return [=] { return ops::gather(fresh(x), indices); };
                     },
                     .forward_bytes = elements(2 * hidden, on),
                     .backward_bytes = elements(3 * hidden, on)});
}

// The optimizer's passes over all parameters. They have no backward, and no other dtype than f32.
void add_optimizer(std::vector<OpCase>& cases, const OpSetting& on, std::int64_t parameters) {
    if (on.dtype != DType::f32) return;
    const auto flat = [=] { return Tensor::full({parameters}, 0.01, DType::f32, on.device); };
    const Spans all = Spans::packed(std::vector<std::int64_t>{parameters});
    cases.push_back({.op = "gradient_norm",
                     .what = fmt::format("[{}]", parameters),
                     .prepare = [=]() -> OpRun {
                         return [=, gradients = flat()] {
                             kernels::measure_gradients(gradients, all, 1);
                             return Variable();
                         };
                     },
                     .forward_bytes = elements(static_cast<double>(parameters), on)});
    cases.push_back({.op = "adam",
                     .what = fmt::format("[{}]", parameters),
                     .prepare = [=]() -> OpRun {
                         return [=, values = flat(), gradients = flat(), first = flat(), second = flat()]() mutable {
                             kernels::adam_step(values, gradients, first, second, all, {.lr = 1e-4});
                             return Variable();
                         };
                     },
                     .forward_bytes = elements(7.0 * static_cast<double>(parameters), on)});
}

// The choice of the next token; without backward, too.
void add_top_k(std::vector<OpCase>& cases, const OpSetting& on, const Sizes& at) {
    const std::int64_t some_rows = at.some_rows, vocabulary = at.vocabulary;
    cases.push_back({.op = "top_k",
                     .what = fmt::format("[{}, {}], the best 10", some_rows, vocabulary),
                     .prepare = [=]() -> OpRun {
                         return [logits = numbers({some_rows, vocabulary}, on)] {
                             kernels::top_k_log_softmax(logits, 10);
                             return Variable();
                         };
                     },
                     .forward_bytes = elements(static_cast<double>(some_rows * vocabulary), on)});
}

std::vector<OpCase> model_cases(const OpSetting& on, const Sizes& at) {
    std::vector<OpCase> cases;
    cases.push_back(linear_case(on, at.rows(), at.d_model, 3 * at.d_model));
    cases.push_back(linear_case(on, at.rows(), at.d_model, at.d_model));
    cases.push_back(linear_case(on, at.rows(), at.d_model, at.d_ff));
    cases.push_back(linear_case(on, at.rows(), at.d_ff, at.d_model));
    cases.push_back(linear_case(on, at.rows(), 2 * at.d_model, 8 * at.d_model));
    cases.push_back(matmul_case(on, at));
    cases.push_back(feed_forward_case(on, at));
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(at.sentences), at.length);
    const std::string what = fmt::format("{} sentences of {}, {} heads", at.sentences, at.length, at.heads);
    for (const bool causal : {false, true})
        cases.push_back(attention_case(on, what, lengths, at.d_model, at.heads, causal, dropout()));
    cases.push_back(linear_cross_entropy_case(on, at.rows(), at.d_model, at.vocabulary));
    cases.push_back(cross_entropy_case(on, at));
    cases.push_back(embedding_case(on, at));
    add_plain_cases(cases, on, at);
    add_optimizer(cases, on, at.parameters);
    add_top_k(cases, on, at);
    return cases;
}

// What the packed attention is for: sentences as a corpus has them. Lengths 10, 47, 33, 19, .. : every length from 10 to 60 as
// often.
std::vector<OpCase> sentence_cases(const OpSetting& on) {
    std::vector<OpCase> cases;
    for (const std::int64_t d_model : {128, 512})
        for (const std::int64_t sentences : {64, 128, 256})
            for (const bool causal : {false, true}) {
                std::vector<std::int64_t> lengths;
                for (std::int64_t i = 0; i < sentences; ++i) lengths.push_back(10 + 37 * i % 51);
                const std::int64_t heads = d_model == 128 ? 4 : 8;
                const std::string what = fmt::format("{} sentences of 10-60, {} heads of {}", sentences, heads, d_model / heads);
                cases.push_back(attention_case(on, what, lengths, d_model, heads, causal, {}));
            }
    return cases;
}

std::vector<OpCase> large_cases(const OpSetting& on) {
    std::vector<OpCase> cases;
    constexpr std::int64_t tokens = 16384, d_model = 2048;
    for (const std::int64_t head : {64, 128})
        for (const std::int64_t length : {std::int64_t{2048}, tokens})
            for (const bool causal : {false, true}) {
                const std::vector<std::int64_t> lengths(static_cast<std::size_t>(tokens / length), length);
                const std::string what =
                    fmt::format("{} sentences of {}, {} heads of {}", lengths.size(), length, d_model / head, head);
                cases.push_back(attention_case(on, what, lengths, d_model, d_model / head, causal, {}));
            }
    cases.push_back(linear_case(on, tokens, d_model, d_model));
    cases.push_back(linear_case(on, tokens, d_model, 4 * d_model));
    cases.push_back(linear_cross_entropy_case(on, tokens, 1024, 32768));
    const Sizes at = large_sizes(on.dtype);
    cases.push_back(cross_entropy_case(on, at));
    cases.push_back(embedding_case(on, at));
    add_plain_cases(cases, on, at);
    add_normalising(cases, on, at.some_rows, at.vocabulary);  // wide rows
    add_optimizer(cases, on, at.parameters);
    add_top_k(cases, on, at);
    return cases;
}

}  // namespace

std::vector<OpCase> op_cases(const OpSetting& setting) {
    if (setting.sizes == "large") return large_cases(setting);
    if (setting.sizes == "sentences") return sentence_cases(setting);
    return model_cases(setting, setting.sizes == "tiny" ? tiny : translator);
}

}  // namespace heddle::app
