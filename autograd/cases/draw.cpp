#include "autograd/cases/draw.h"

#include <algorithm>
#include <cmath>

namespace heddle::cases {
namespace {

constexpr std::int64_t kMostElements = 48;  // of a value that a graph goes on with

double least(const Tensor& x) {
    return x.numel() == 0 ? 0 : *std::min_element(x.values<double>().begin(), x.values<double>().end());
}

}  // namespace

Tensor Step::constant(const std::string& name) const {
    const auto found = constants.find(name);
    return found == constants.end() ? Tensor() : found->second;
}

DropoutMask Step::dropout() const {
    if (!options.contains("dropout")) return {};
    const Json& given = options.at("dropout");
    return DropoutMask(given.at("probability").get<double>(), given.at("key").get<std::uint64_t>());
}

Spans Step::spans(const char* name, std::int64_t rows) const {
    std::vector<Span> spans;
    for (const Json& each : options.at(name)) spans.push_back({each.at(0), each.at(1)});
    return Spans(std::move(spans), rows);
}

ops::LossOptions Step::loss() const {
    return {.label_smoothing = option("label_smoothing", 0.0), .ignore = option("ignore", -1), .divisor = option("divisor", 0.0)};
}

double least_magnitude(const Tensor& x) {
    double result = 1e300;
    for (const double value : x.values<double>()) result = std::min(result, std::abs(value));
    return result;
}

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
    // Prefers results to leaves, and late results to early ones, so that graphs become deep and not only wide.
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

DropoutMask Draw::dropout_option(Step& step) {
    const double probability = uniform(0.1, 0.6);
    const std::uint64_t key = random_.next() >> 12;  // so that JSON readers that take numbers as f64 read it exactly
    step.options["dropout"] = {{"probability", probability}, {"key", key}};
    return DropoutMask(probability, key);
}

void Draw::dropout(Step& step, std::int64_t rows, std::int64_t cols) {
    const DropoutMask drawn = dropout_option(step);
    Tensor kept = Tensor::zeros({rows, cols}, DType::f64);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            if (drawn.keeps_row(r, c)) kept.mutable_data<double>()[r * cols + c] = drawn.scale();
    step.constants["kept"] = kept;
}

void Draw::loss(Step& step, std::int64_t rows, std::int64_t vocabulary) {
    Tensor targets = indices(rows, vocabulary);
    const bool in_vocabulary = chance(0.3);
    const auto ignore = static_cast<std::int32_t>(in_vocabulary ? between(0, vocabulary - 1) : -between(1, 9));
    for (std::int32_t& target : targets.mutable_values<std::int32_t>())
        if (chance(0.2)) target = ignore;
    step.constants["targets"] = targets;
    step.options["ignore"] = ignore;
    step.options["label_smoothing"] = chance(0.5) ? uniform(0.05, 0.5) : 0.0;
    step.options["divisor"] = chance(0.3) ? uniform(1, 20) : 0.0;
}

bool Draw::small(std::span<const Tensor> outputs) const {
    return alone_ ||
           std::all_of(outputs.begin(), outputs.end(), [](const Tensor& each) { return each.numel() <= kMostElements; });
}

}  // namespace heddle::cases
