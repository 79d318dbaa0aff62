// Deep residual networks with and without layer norm: which of the claims about normalisation show. Eight residual blocks
//
//     wrong    x + W2 relu(W1 x)
//     right    x + W2 relu(W1 norm(x))
//
// learn to classify 512 points in 16 dimensions; a random network assigns the 10 classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/lab/kit.h"
#include "autograd/tape.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace heddle::lab::without_norm {
namespace {

constexpr std::int64_t inputs = 16, classes = 10, width = 32, points = 512;

struct Block : nn::Module {
    Block(nn::Module& parent, const std::string& name) : nn::Module(parent, name) {}
    nn::LayerNorm norm{*this, "norm", width};
    nn::Linear first{*this, "first", width, 2 * width};
    nn::Linear second{*this, "second", 2 * width, width};
};

struct Network : nn::Module {
    // `scale`: factor of the initial weights of all blocks.
    Network(bool normalise, double scale, std::uint64_t seed, std::int64_t depth = 8) : nn::Module(seed), normalised(normalise) {
        for (std::int64_t i = 0; i < depth; ++i) {
            blocks.push_back(std::make_unique<Block>(*this, fmt::format("blocks.{}", i)));
            for (const nn::Linear* layer : {&blocks.back()->first, &blocks.back()->second}) {
                Tensor weights = layer->weight().value();
                for (float& weight : weights.mutable_values<float>()) weight *= static_cast<float>(scale);
            }
        }
    }
    Variable forward(const Variable& x) const {
        Variable y = enter.forward(x);
        for (const auto& block : blocks) {
            const Variable in = normalised ? block->norm.forward(y) : y;
            y = ops::add(y, block->second.forward(ops::relu(block->first.forward(in))));
        }
        return leave.forward(normalised ? last.forward(y) : y);
    }

    bool normalised;
    nn::Linear enter{*this, "enter", inputs, width};
    std::vector<std::unique_ptr<Block>> blocks;
    nn::LayerNorm last{*this, "last", width};
    nn::Linear leave{*this, "leave", width, classes};
};

struct Data {
    Tensor x;        // [points, inputs]
    Tensor classes;  // i32 [points]
};

// The class of a point is a random network's largest output.
Data draw(const Options& options, std::string_view what) {
    const Variable x(normal({points, inputs}, 1, key(options, what)));
    const Variable hidden = ops::tanh(ops::matmul(x, Variable(normal({inputs, width}, 0.5, key(options, "teacher 1")))));
    const Tensor scores = ops::matmul(hidden, Variable(normal({width, classes}, 1, key(options, "teacher 2")))).value();
    Tensor chosen = Tensor::empty({points}, DType::i32);
    for (std::int64_t row = 0; row < points; ++row) {
        const float* const at = scores.data<float>() + row * classes;
        chosen.mutable_data<std::int32_t>()[row] = static_cast<std::int32_t>(std::max_element(at, at + classes) - at);
    }
    return {x.value(), chosen};
}

double loss_on(const Network& network, const Data& data) {
    const NoGrad none;
    return ops::cross_entropy(network.forward(Variable(data.x)), data.classes).value().item();
}

struct Setting {
    bool normalise = true;
    double scale = 1;
    double lr = 3e-3;
    std::int64_t steps = 60;
};

struct Learned {
    double seen = 0, unseen = 0;  // losses
};

Learned learn(const Setting& setting, const Options& options) {
    const Data data = draw(options, "points to learn");
    Network network(setting.normalise, setting.scale, options.seed);
    train(network, {.steps = setting.steps, .lr = setting.lr},
          [&](std::int64_t) { return ops::cross_entropy(network.forward(Variable(data.x)), data.classes); });
    return {loss_on(network, data), loss_on(network, draw(options, "unseen points"))};
}

// The differences between the networks are of the order of those between seeds: medians over three.
Learned median_of_three(const Setting& setting, const Options& options) {
    std::vector<double> seen, unseen;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const Learned one = learn(setting, {.seed = options.seed + 1000 * i});
        seen.push_back(one.seen), unseen.push_back(one.unseen);
    }
    return {median(seen), median(unseen)};
}

// The norm of the first block's gradient before training, with weights twice as large as Xavier's.
double first_gradient(bool normalise, std::int64_t depth, const Options& options) {
    const Data data = draw(options, "points to learn");
    const Network network(normalise, 2, options.seed, depth);
    backward(ops::cross_entropy(network.forward(Variable(data.x)), data.classes));
    return gradient_norm(*network.blocks.front());
}

Result measure(const Options& options) {
    constexpr double scales[] = {0.125, 0.25, 0.5, 1, 2, 4, 8}, rates[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};
    const double guessing = std::log(classes);
    Result result{.variants = {"with norm", "without"},
                  .findings = {{"of 7 scales of the initial weights, end worse than guessing"},
                               {"of 7 rates, end worse than guessing"},
                               {"gradient of the first block, 2 blocks"},
                               {"gradient of the first block, 32 blocks"},
                               {"loss after 60 steps, median of 3"},
                               {"loss on unseen points after 100 steps, median of 3"}}};
    picture::BarChart charts[] = {{.title = "loss after 60 steps by initial scale", .y = {.label = "loss", .logarithmic = true}},
                                  {.title = "loss after 60 steps by rate", .y = {.label = "loss", .logarithmic = true}}};
    for (const double scale : scales) charts[0].groups.push_back(fmt::format("{}", scale));
    for (const double rate : rates) charts[1].groups.push_back(fmt::format("{}", rate));
    for (const bool normalise : {true, false}) {
        const auto worse = [&](std::size_t chart, const auto& values, double Setting::*which) {
            picture::Bars bars{result.variants[normalise ? 0 : 1]};
            for (const double value : values) {
                Setting setting{.normalise = normalise};
                setting.*which = value;
                bars.values.push_back(learn(setting, options).seen);
            }
            charts[chart].bars.push_back(bars);
            return static_cast<double>(std::ranges::count_if(bars.values, [&](double loss) { return !(loss <= guessing); }));
        };
        const double values[] = {worse(0, scales, &Setting::scale),
                                 worse(1, rates, &Setting::lr),
                                 first_gradient(normalise, 2, options),
                                 first_gradient(normalise, 32, options),
                                 median_of_three({.normalise = normalise}, options).seen,
                                 median_of_three({.normalise = normalise, .steps = 100}, options).unseen};
        result.add(values);
    }
    for (picture::BarChart& chart : charts) {
        chart.levels = {{"guessing", guessing}};
        result.figures.push_back({svg(mistakes_first(chart)), "The same network and data."});
    }
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "without-norm",
        .group = "Norm, dropout and training",
        .title = "residual blocks without a norm, because a small network trains without one",
        .caught_by = "LayerNorm.GradientOfAConstantRowIsBoundedByTheRootOfEps",
        .why =
            "Of the benefits that are claimed for normalisation, one does not show here: with a good rate and good initial "
            "weights the network without norms converges faster. Without norms each block multiplies the size of its input, so "
            "gradients grow with the depth, and at other rates or initial scales the loss ends above that of guessing. A norm "
            "before each block makes the block's input the same size at any depth, and what was learned holds better on unseen "
            "points.",
        .wrong = R"(
const Variable change = outer.forward(ops::relu(inner.forward(x)));
const Variable y = ops::add(x, change);
)",
        .right = R"(
const Variable in = norm.forward(x);
const Variable change = outer.forward(ops::relu(inner.forward(in)));
const Variable y = ops::add(x, change);
)",
        .run = measure};
}

}  // namespace heddle::lab::without_norm
