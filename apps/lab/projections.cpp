// Attention with a ReLU on queries, keys and values, and attention without an output projection.
//
//     wrong    q, k, v = relu(x W)         scores are never negative, and the negative half of every value is lost
//     wrong    y = [head 1, .., head H]    each column of y belongs to one head
//     right    y = [head 1, .., head H] W_O,  q, k, v = x W                    (Vaswani et al. 2017, section 3.2.2)
//
// The task needs signed values and the output projection: position i must output x[i - 1] - x[i + 1]. Attention weights are
// positive, so no head can subtract; each of two heads attends to one neighbour, and the output projection computes the
// difference. The mean square error is 2 for an output of 0, and 1 for one that knows one of the two neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "apps/lab/kit.h"
#include "nn/linear.h"

namespace heddle::lab::projections {
namespace {

constexpr std::int64_t length = 8;
constexpr std::int64_t content = 8;               // content columns of x, normally distributed
constexpr std::int64_t width = content + length;  // the others encode the position
constexpr std::int64_t heads = 2, batch = 32;
constexpr Training training = {.steps = 400, .lr = 1e-2};

enum class Build : std::uint8_t { projected, relu, no_output };

struct Net : nn::Module {
    Net(std::uint64_t seed, Build how) : Module(seed), build(how) {
        if (build != Build::no_output) output = std::make_unique<nn::Linear>(*this, "output", width, width);
    }
    struct Attended {
        Variable answer;   // [rows, content]
        Variable scores;   // [sentences, heads, time, time]
        Variable weights;  // the same
    };
    Attended forward(const Variable& x) const {
        const std::int64_t sentences = x.rows() / length;
        Variable projected = projection.forward(x);
        if (build == Build::relu) projected = ops::relu(projected);
        std::array<Variable, 3> parts;  // query, key, value
        for (std::size_t i = 0; i < 3; ++i) {
            const auto begin = static_cast<std::int64_t>(i) * width;
            parts[i] = cut_heads(ops::slice(projected, 1, begin, begin + width), sentences, heads);
        }
        const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
        const Variable scores = ops::scale(ops::matmul(parts[0], parts[1], false, true), scale);
        const Variable weights = ops::softmax(scores);
        const Variable joined = join_heads(ops::matmul(weights, parts[2]));
        return {ops::slice(output ? output->forward(joined) : joined, 1, 0, content), scores, weights};
    }
    Build build;
    nn::Linear projection{*this, "projection", width, {"query", "key", "value"}, width};
    std::unique_ptr<nn::Linear> output;
};

struct Batch {
    Variable x;       // [batch * length, width]
    Variable answer;  // [batch * length, content]
};

// Neighbours beyond the ends of a sentence are zero.
Batch make_batch(std::uint64_t key) {
    const Tensor values = normal({batch * length, content}, 1, key);
    Tensor x = Tensor::zeros({batch * length, width}, DType::f32), answer = Tensor::zeros(values.shape(), DType::f32);
    for (std::int64_t row = 0; row < batch * length; ++row) {
        const std::int64_t place = row % length;
        x.mutable_data<float>()[row * width + content + place] = 1;
        for (std::int64_t c = 0; c < content; ++c) {
            const float* value = values.data<float>() + c;
            x.mutable_data<float>()[row * width + c] = value[row * content];
            float& to = answer.mutable_data<float>()[row * content + c];
            if (place > 0) to += value[(row - 1) * content];
            if (place + 1 < length) to -= value[(row + 1) * content];
        }
    }
    return {Variable(x), Variable(answer)};
}

// Mean square error over the positions that have both neighbours.
Variable error(const Variable& answer, const Variable& wanted) {
    const Shape shape = {batch, length, content};
    const auto inner = [&](const Variable& of) { return ops::slice(ops::reshape(of, shape), 1, 1, length - 1); };
    const Variable difference = ops::sub(inner(answer), inner(wanted));
    return ops::scale(ops::sum(ops::mul(difference, difference)), 1.0 / static_cast<double>(difference.value().numel()));
}

double share_of_negative(const Tensor& scores) {
    double negative = 0;
    for (const double score : scores.to_vector()) negative += score < 0 ? 1 : 0;
    return negative / static_cast<double>(scores.numel());
}

Result measure(const Options& options) {
    Result result{.variants = {"projected", "ReLU on q, k, v", "no output projection"},
                  .findings = {{"error after 400 steps"}, {"share of scores below zero"}}};
    picture::LineChart losses{.title = "learning x[i - 1] - x[i + 1] with two heads",
                              .x = {.label = "step"},
                              .y = {.label = "mean squared error", .from = 0},
                              .levels = {{"guessing 0", 2}, {"knowing one neighbour", 1}}};
    constexpr const char* captions[] = {"One head attends to the left and one to the right.",
                                        "No score is negative, and neither is any value.",
                                        "The output columns belong to head 1, which attends to one side."};
    std::vector<picture::Figure> maps;
    for (const Build build : {Build::projected, Build::relu, Build::no_output}) {
        const std::string& name = result.variants[static_cast<std::size_t>(build)];
        Net net(key(options, "model"), build);
        const std::vector<double> errors = train(net, training, [&](std::int64_t step) {
            const Batch one = make_batch(key(options, fmt::format("batch {}", step)));
            return error(net.forward(one.x).answer, one.answer);
        });
        const NoGrad no_grad;
        const Net::Attended attended = net.forward(make_batch(key(options, "last batch")).x);
        result.add(std::array{mean_of_last(errors, 10), share_of_negative(attended.scores.value())});
        losses.series.push_back(curve(name, errors));
        const std::vector<double> weights = attended.weights.value().to_vector();  // the first sentence's heads come first
        maps.push_back({svg(picture::HeatMap{.title = "both heads: " + name,
                                             .rows = heads * length,
                                             .cols = length,
                                             .values = {weights.begin(), weights.begin() + heads * length * length},
                                             .row_title = "query, head 1 above head 2",
                                             .col_title = "key",
                                             .from = 0,
                                             .to = 1}),
                        captions[static_cast<std::size_t>(build)]});
    }
    std::rotate(maps.begin(), maps.begin() + 1, maps.end());  // the correct variant comes last
    result.figures.push_back({svg(mistakes_first(losses)), "The same task, data and width."});
    result.figures.insert(result.figures.end(), maps.begin(), maps.end());
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "projections",
        .group = "Attention",
        .title = "ReLU on queries, keys and values, or no output projection",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "With a ReLU on the projections no score is negative, so no key can score below an irrelevant one, and half of every "
            "value is lost. Without an output projection each column of the result belongs to one head, whose weights are "
            "positive and sum to one: the results of two heads are never added or subtracted. Linear projections keep the sign, "
            "and W_O lets every head write to every column.",
        .wrong = R"(
const Variable q = ops::relu(query.forward(x));
const Variable k = ops::relu(key.forward(x));
const Variable v = ops::relu(value.forward(x));
// and the heads' outputs are the result
return ops::attention(q, k, v, spans, spans, {.heads = H});
)",
        .right = R"(
const Variable q = query.forward(x);
const Variable k = key.forward(x);
const Variable v = value.forward(x);
// W_O mixes the heads
return output.forward(
    ops::attention(q, k, v, spans, spans, {.heads = H}));
)",
        .run = measure};
}

}  // namespace heddle::lab::projections
