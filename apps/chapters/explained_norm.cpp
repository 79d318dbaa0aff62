// Four claimed benefits of normalisation, each measured with and without it on the same network: eight residual blocks
//
//     x + W2 relu(W1 n(x))        n = layer norm, or nothing
//
// that learn to classify 512 points in 16 dimensions; a random network assigns the 10 classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/chapters/chapter.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "autograd/tape.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace heddle::chapters {
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
    const Variable x(lab::normal({points, inputs}, 1, lab::key(options, what)));
    const Variable hidden =
        ops::tanh(ops::matmul(x, Variable(lab::normal({inputs, width}, 0.5, lab::key(options, "teacher 1")))));
    const Tensor scores = ops::matmul(hidden, Variable(lab::normal({width, classes}, 1, lab::key(options, "teacher 2")))).value();
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
    std::vector<double> losses;
    double unseen = 0;
    double seen() const { return std::isfinite(losses.back()) ? losses.back() : std::numeric_limits<double>::infinity(); }
};

Learned learn(const Setting& setting, const Options& options) {
    const Data data = draw(options, "points to learn");
    Network network(setting.normalise, setting.scale, options.seed);
    Learned learned;
    learned.losses = lab::train(network, {.steps = setting.steps, .lr = setting.lr}, [&](std::int64_t) {
        return ops::cross_entropy(network.forward(Variable(data.x)), data.classes);
    });
    learned.unseen = loss_on(network, draw(options, "unseen points"));
    return learned;
}

double gradient_norm(const nn::Linear& layer) {
    double squares = 0;
    for (const double value : layer.weight().grad().to_vector()) squares += value * value;
    return std::sqrt(squares);
}

// The first block's gradient before training as a function of depth, with weights twice as large as Xavier's.
Statement gradients(const Options& options) {
    const Data data = draw(options, "points to learn");
    Statement statement{"Normalisation keeps gradients stable over the depth.", {}, false};
    picture::LineChart chart{.title = "gradient of the first block at the start",
                             .x = {.label = "blocks", .logarithmic = true},
                             .y = {.label = "norm", .logarithmic = true},
                             .series = {}};
    double spread[2];
    for (const bool normalise : {true, false}) {
        picture::Series curve{.name = normalise ? "with layer norm" : "without", .x = {}, .y = {}};
        for (const std::int64_t depth : {2, 4, 8, 16, 32}) {
            const Network network(normalise, 2, options.seed, depth);
            backward(ops::cross_entropy(network.forward(Variable(data.x)), data.classes));
            curve.x.push_back(static_cast<double>(depth));
            curve.y.push_back(gradient_norm(network.blocks.front()->second));
        }
        spread[normalise ? 0 : 1] = std::ranges::max(curve.y) / std::ranges::min(curve.y);
        statement.numbers.push_back({"norm, 2 blocks, " + curve.name, curve.y.front()});
        statement.numbers.push_back({"norm, 32 blocks, " + curve.name, curve.y.back()});
        chart.series.push_back(std::move(curve));
    }
    statement.figures.push_back({svg(chart), "Weights twice as large as Xavier's."});
    statement.holds = spread[0] < spread[1];
    return statement;
}

// The difference between the networks is of the order of the differences between seeds, so medians over three seeds are compared.
std::vector<Learned> learn_three(const Setting& setting, const Options& options) {
    std::vector<Learned> all;
    for (std::uint64_t i = 0; i < 3; ++i) all.push_back(learn(setting, {.seed = options.seed + 1000 * i}));
    return all;
}

template <class Value>
double median_of(const std::vector<Learned>& all, const Value& value) {
    std::vector<double> values;
    for (const Learned& one : all) values.push_back(value(one));
    return lab::median(values);
}

Statement convergence(const Options& options) {
    picture::LineChart chart{.title = "training loss", .x = {.label = "step"}, .y = {.label = "loss"}, .series = {}};
    double reached[2];
    for (const bool normalise : {true, false}) {
        const std::vector<Learned> all = learn_three({.normalise = normalise}, options);
        chart.series.push_back(lab::curve(normalise ? "with layer norm" : "without", all.front().losses));
        reached[normalise ? 0 : 1] = median_of(all, [](const Learned& one) { return one.seen(); });
    }
    return {"Normalisation makes training converge faster.",
            {{"loss after 60 steps, median of 3, with", reached[0]}, {"without", reached[1]}},
            reached[0] < reached[1],
            {},
            {{svg(chart), "Eight residual blocks, the same rate; the first of three networks each."}}};
}

// Counts in how many of several settings the loss falls below 0.5 in 60 steps, and in how many it ends above that of guessing, ln
// 10. The network that fails in fewer settings is the less sensitive one.
template <class Settings>
Statement sensitivity(std::string claim, const std::string& of, const Settings& settings, const Options& options) {
    constexpr double learned = 0.5, guessing = 2.302585;
    Statement statement{std::move(claim), {}, false};
    double thrown_off[2] = {0, 0};
    picture::BarChart chart{
        .title = "loss after 60 steps by " + of, .y = {.label = "loss", .logarithmic = true}, .groups = {}, .bars = {}};
    for (const bool normalise : {true, false}) {
        picture::Bars bars{normalise ? "with layer norm" : "without", {}};
        double learns = 0, worse = 0;
        for (const auto& [name, setting] : settings) {
            Setting own = setting;
            own.normalise = normalise;
            const double loss = learn(own, options).seen();
            if (loss < learned) ++learns;
            if (!(loss <= guessing)) ++worse;
            bars.values.push_back(loss);
            if (normalise) chart.groups.push_back(name);
        }
        thrown_off[normalise ? 0 : 1] = worse;
        statement.numbers.push_back({fmt::format("of {} end worse than guessing, {}", settings.size(), bars.name), worse});
        statement.numbers.push_back({fmt::format("of {} learn, {}", settings.size(), bars.name), learns});
        statement.numbers.push_back({fmt::format("greatest loss, {}", bars.name), std::ranges::max(bars.values)});
        chart.bars.push_back(std::move(bars));
    }
    chart.levels = {{"guessing", guessing}};
    statement.figures.push_back({svg(chart), "The same network and data."});
    statement.holds = thrown_off[0] < thrown_off[1];
    return statement;
}

Statement regularisation(const Options& options) {
    const std::vector<Learned> with = learn_three({.normalise = true, .steps = 100}, options);
    const std::vector<Learned> without = learn_three({.normalise = false, .steps = 100}, options);
    const auto unseen = [](const Learned& one) { return one.unseen; };
    const auto seen = [](const Learned& one) { return one.seen(); };
    return {"Normalisation regularises: what was learned holds better on unseen points.",
            {{"loss on unseen points after 100 steps, median of 3, with", median_of(with, unseen)},
             {"without", median_of(without, unseen)},
             {"loss on the points learned from, with", median_of(with, seen)},
             {"without, learned", median_of(without, seen)}},
            median_of(with, unseen) < median_of(without, unseen)};
}

}  // namespace

void add_norm_statements(const Options& options, Report& report) {
    using Named = std::pair<std::string, Setting>;
    report.statements.push_back(gradients(options));
    report.statements.push_back(convergence(options));
    std::vector<Named> scales, rates;
    for (const double scale : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0})
        scales.push_back({fmt::format("{}", scale), {.scale = scale}});
    for (const double rate : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1}) rates.push_back({fmt::format("{}", rate), {.lr = rate}});
    report.statements.push_back(sensitivity("Normalisation makes training less sensitive to the scale of the initial weights.",
                                            "initial scale", scales, options));
    report.statements.push_back(sensitivity("Normalisation makes training less sensitive to the rate.", "rate", rates, options));
    report.statements.push_back(regularisation(options));
}

}  // namespace heddle::chapters
