#include "tests/cross_check/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace heddle::cross_check {
namespace {

constexpr double kLargestValue = 30;  // in graphs
constexpr std::int64_t kMostElements = 48;
constexpr std::int64_t kMostLeafElements = 80;

std::vector<Variable> inputs_of(const std::vector<Tensor>& values) {
    std::vector<Variable> inputs;
    for (const Tensor& value : values) inputs.push_back(value.defined() ? Variable(value) : Variable());
    return inputs;
}

// The block's or op's results; steps inside a block also read `leaves`.
std::vector<Tensor> values_of(const Step& step, const std::vector<Tensor>& inputs, std::span<const Tensor> leaves) {
    const NoGrad no_grad;
    if (step.body.empty()) {
        std::vector<Tensor> outputs;
        for (const Variable& output : run_op(step, inputs_of(inputs))) outputs.push_back(output.value());
        return outputs;
    }
    Graph block;
    block.steps = {step};
    for (std::size_t i = 0; i < inputs.size(); ++i) block.steps[0].inputs[i] = of_leaf(leaves.size() + i);
    std::vector<Variable> all = inputs_of({leaves.begin(), leaves.end()});
    for (const Tensor& input : inputs) all.emplace_back(input);
    return {run(block, all).back().value()};
}

double least(const Tensor& x) {
    return x.numel() == 0 ? 0 : *std::min_element(x.values<double>().begin(), x.values<double>().end());
}

double least_magnitude(const Tensor& x) {
    double result = 1e300;
    for (const double value : x.values<double>()) result = std::min(result, std::abs(value));
    return result;
}

// Whether the largest number of each row is larger than all others by a margin.
bool has_clear_maxima(const Tensor& x, int axis) {
    axis = axis < 0 ? axis + x.rank() : axis;
    std::int64_t inner = 1;
    for (int a = axis + 1; a < x.rank(); ++a) inner *= x.dim(a);
    const std::int64_t extent = x.dim(axis);
    for (std::int64_t start = 0; start < x.numel(); start += inner * extent)
        for (std::int64_t i = 0; i < inner; ++i) {
            double first = -1e300, second = -1e300;
            for (std::int64_t k = 0; k < extent; ++k) {
                const double value = x.data<double>()[start + k * inner + i];
                second = std::max(second, std::min(first, value));
                first = std::max(first, value);
            }
            if (first - second < 1e-3) return false;
        }
    return true;
}

// Nearly constant rows would magnify rounding errors by 1 / sqrt(eps).
bool rows_vary(const Tensor& x, double eps) {
    for (std::int64_t r = 0; r < x.rows(); ++r) {
        double sum = 0, squares = 0;
        for (std::int64_t c = 0; c < x.cols(); ++c) {
            const double value = x.data<double>()[r * x.cols() + c];
            sum += value;
            squares += value * value;
        }
        const auto n = static_cast<double>(x.cols());
        if (squares / n - sum * sum / (n * n) + eps < 0.05) return false;
    }
    return true;
}

// relu(x w1^T + b1) has a kink where a sum is zero.
bool hidden_is_clear_of_the_kink(const Step& step, const std::vector<Tensor>& in) {
    if (step.options.at("activation") != "relu") return true;
    const std::vector<Tensor> hidden = values_of({.op = "linear", .inputs = {}}, {in[0], in[1], in[2]}, {});
    return least_magnitude(hidden[0]) > 1e-3;
}

}  // namespace

std::int64_t Draw::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
}

Shape Draw::shape(int rank) {
    Shape result;
    for (int axis = 0; axis < rank; ++axis) result.append(between(1, alone_ ? 5 : 4));
    return result;
}

Number Draw::leaf(const Shape& shape) {
    leaves_.push_back(Tensor::empty(shape, DType::f64));
    fill_normal(leaves_.back(), 0, 1, random_.next());
    return of_leaf(leaves_.size() - 1);
}

const Tensor& Draw::value(Number number) const {
    return number < kNone ? leaves_[static_cast<std::size_t>(of_leaf(0) - number)] : values_[static_cast<std::size_t>(number)];
}

Number Draw::pick(const std::function<bool(const Tensor&)>& wanted) {
    std::vector<Number> found;
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (wanted(values_[i])) found.push_back(static_cast<Number>(i));
    const std::size_t results = found.size();
    for (std::size_t i = 0; i < leaves_.size(); ++i)
        if (wanted(leaves_[i])) found.push_back(of_leaf(i));
    if (found.empty()) return kNone;
    // Results rather than leaves, and among them rather late ones: graphs become deep, not only wide.
    if (results > 0 && chance(0.7)) return found[std::max(random_.below(results), random_.below(results))];
    return found[random_.below(found.size())];
}

Number Draw::of(const Shape& wanted) {
    const Number found = !alone_ && chance(0.7) ? pick([&](const Tensor& each) { return each.shape() == wanted; }) : kNone;
    return found == kNone ? leaf(wanted) : found;
}

std::vector<Number> Draw::with_row(Number x) { return {x, of({shape_of(x).cols()})}; }

Number Draw::any(int lowest_rank, int highest_rank) {
    const auto fits = [&](const Tensor& each) { return each.rank() >= lowest_rank && each.rank() <= highest_rank; };
    const Number found = !alone_ && chance(0.9) ? pick(fits) : kNone;
    return found == kNone ? leaf(shape(static_cast<int>(between(lowest_rank, highest_rank)))) : found;
}

Number Draw::positive(const Shape& wanted) {
    const auto fits = [&](const Tensor& each) { return each.shape() == wanted && least(each) >= 0.2; };
    const Number found = !alone_ && chance(0.7) ? pick(fits) : kNone;
    if (found != kNone) return found;
    const Number made = leaf(wanted);
    for (double& each : leaves_.back().mutable_values<double>()) each = 0.3 + each * each / 2;
    return made;
}

Tensor Draw::mask(const Shape& wanted, double ones) {
    Tensor result = Tensor::zeros(wanted, DType::u8);
    for (std::uint8_t& each : result.mutable_values<std::uint8_t>()) each = chance(ones) ? 1 : 0;
    return result;
}

Tensor Draw::indices(std::int64_t count, std::int64_t bound) {
    Tensor result = Tensor::zeros({count}, DType::i32);
    for (std::int32_t& each : result.mutable_values<std::int32_t>()) each = static_cast<std::int32_t>(between(0, bound - 1));
    return result;
}

Dropout Draw::dropout_option(Step& step) {
    const double probability = uniform(0.1, 0.6);
    const std::uint64_t key = random_.next() >> 12;  // exact in JSON readers that take numbers as f64
    step.options["dropout"] = {{"probability", probability}, {"key", key}};
    return Dropout(probability, key);
}

void Draw::dropout(Step& step, std::int64_t rows, std::int64_t cols) {
    const Dropout drawn = dropout_option(step);
    Tensor kept = Tensor::zeros({rows, cols}, DType::f64);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            if (drawn.keeps_row(r, c)) kept.mutable_data<double>()[r * cols + c] = drawn.scale();
    step.constants["kept"] = kept;
}

bool Draw::suits(const Step& step, const std::vector<Tensor>& in, const std::vector<Tensor>& outputs) const {
    for (const Tensor& output : outputs)
        for (const double value : output.values<double>())
            if (!std::isfinite(value) || (!alone_ && std::abs(value) > kLargestValue)) return false;
    if (step.op == "relu") return least_magnitude(in[0]) > 1e-3;
    if (step.op == "feed_forward") return hidden_is_clear_of_the_kink(step, in);
    if (step.op == "max") return has_clear_maxima(in[0], step.options.at("axis"));
    if (step.op == "layer_norm" && !rows_vary(in[0], step.options.at("eps"))) return false;
    if (step.op == "residual_layer_norm" && !rows_vary(outputs[0], step.options.at("eps"))) return false;
    return alone_ ||
           std::all_of(outputs.begin(), outputs.end(), [](const Tensor& each) { return each.numel() <= kMostElements; });
}

bool Draw::append(Step step) {
    std::vector<Tensor> inputs;
    for (const Number number : step.inputs) inputs.push_back(number == kNone ? Tensor() : value(number));
    std::int64_t leaf_elements = 0;
    for (const Tensor& each : leaves_) leaf_elements += each.numel();
    if (!alone_ && leaf_elements > kMostLeafElements) return false;
    const std::vector<Tensor> outputs = values_of(step, inputs, leaves_);
    if (!suits(step, inputs, outputs)) return false;
    values_.insert(values_.end(), outputs.begin(), outputs.end());
    steps_.push_back(std::move(step));
    return true;
}

bool Draw::add(const std::string& op) {
    const auto found = drawn_ops().find(op);
    check(found != drawn_ops().end(), "cross_check: no configurations are known for {}; add them to tests/cross_check/draw_*.cpp",
          op);
    const std::size_t leaves = leaves_.size();
    if (std::optional<Step> step = found->second(*this)) {
        step->op = op;
        if (append(std::move(*step))) return true;
    }
    leaves_.resize(leaves);
    return false;
}

bool Draw::add_block(const std::string& kind, int most_steps) {
    Step block{.op = kind, .inputs = {}};
    const std::size_t leaves = leaves_.size();
    for (std::int64_t count = between(1, 3); count > 0; --count) block.inputs.push_back(any(0, 3));
    std::vector<Tensor> inputs;
    for (const Number number : block.inputs) inputs.push_back(value(number));
    std::swap(values_, inputs);
    std::swap(steps_, block.body);
    const auto wanted = static_cast<std::size_t>(between(1, most_steps));
    for (int tries = 0; tries < 40 && steps_.size() < wanted; ++tries) {
        if (most_steps > 2 && chance(0.1)) {
            add_block(chance(0.5) ? "checkpoint" : "no_grad", 2);
            continue;
        }
        auto op = drawn_ops().begin();
        std::advance(op, between(0, std::ssize(drawn_ops()) - 1));
        add(op->first);
    }
    std::swap(values_, inputs);
    std::swap(steps_, block.body);
    if (!block.body.empty() && append(std::move(block))) return true;
    leaves_.resize(leaves);
    return false;
}

Graph Draw::take() {
    Graph graph;
    graph.leaves = std::move(leaves_);
    graph.needs.assign(graph.leaves.size(), true);
    graph.steps = std::move(steps_);
    return graph;
}

const std::map<std::string, DrawOp>& drawn_ops() {
    static const std::map<std::string, DrawOp> all = [] {
        std::map<std::string, DrawOp> result = drawn_elementwise();
        result.merge(drawn_shapes());
        result.merge(drawn_layers());
        return result;
    }();
    return all;
}

}  // namespace heddle::cross_check
