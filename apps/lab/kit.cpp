#include "apps/lab/kit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "nn/flat.h"
#include "optim/optimizer.h"

namespace heddle::lab {
namespace {

// Moves the first of `count` series or bars behind the others.
template <typename T>
void rotate_colored(std::vector<T>& all, std::size_t count) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].color = i;
    if (count > 0) std::rotate(all.begin(), all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::uint64_t key(const Options& options, std::string_view what) {
    return stable_hash("lab " + std::to_string(options.seed) + " " + std::string(what));
}

Tensor uniform(const Shape& shape, double low, double high, std::uint64_t key, DType dtype) {
    Tensor result = Tensor::empty(shape, dtype);
    fill_uniform(result, low, high, key);
    return result;
}

Tensor normal(const Shape& shape, double deviation, std::uint64_t key, DType dtype) {
    Tensor result = Tensor::empty(shape, dtype);
    fill_normal(result, 0, deviation, key);
    return result;
}

Tensor words(std::int64_t count, std::int64_t vocabulary, std::uint64_t key) {
    Tensor tokens = Tensor::empty({count}, DType::i32);
    Sequence sequence(key);
    for (std::int32_t& token : tokens.mutable_values<std::int32_t>())
        token = static_cast<std::int32_t>(sequence.below(static_cast<std::uint64_t>(vocabulary)));
    return tokens;
}

std::string line_of(std::span<const std::int32_t> tokens) {
    std::string line;
    for (const std::int32_t token : tokens) line += "w" + std::to_string(token) + " ";
    return line;
}

picture::Series curve(std::string name, const std::vector<double>& values) {
    picture::Series series{.name = std::move(name), .x = {}, .y = values};
    for (std::size_t i = 0; i < values.size(); ++i) series.x.push_back(static_cast<double>(i));
    return series;
}

picture::LineChart mistakes_first(picture::LineChart chart, std::optional<std::size_t> count) {
    rotate_colored(chart.series, count.value_or(chart.series.size()));
    return chart;
}

picture::BarChart mistakes_first(picture::BarChart chart) {
    rotate_colored(chart.bars, chart.bars.size());
    return chart;
}

Reversed reversed_sentences(std::int64_t sentences, std::int64_t length, std::int64_t vocabulary, std::uint64_t key) {
    const Shape shape = {sentences * length};
    Reversed made{words(sentences * length, vocabulary - 1, key), Tensor::empty(shape, DType::i32),
                  Tensor::empty(shape, DType::i32)};
    const std::span<std::int32_t> source = made.source.mutable_values<std::int32_t>(),
                                  out = made.target_out.mutable_values<std::int32_t>();
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto time = static_cast<std::size_t>(length), place = i % time;
        out[i] = source[i - place + time - 1 - place];
        made.target_in.mutable_data<std::int32_t>()[i] = place == 0 ? static_cast<std::int32_t>(vocabulary - 1) : out[i - 1];
    }
    return made;
}

Variable join_heads(const Variable& x) {
    return ops::reshape(ops::permute(x, std::array{0, 2, 1, 3}), {x.dim(0) * x.dim(2), x.dim(1) * x.dim(3)});
}

double median(std::vector<double> values) {
    if (values.empty()) fail("lab: the median of no values was asked for");
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double mean_of_last(std::span<const double> values, std::size_t count) {
    if (count == 0 || values.size() < count) fail("lab: the mean of more values was asked for than there are");
    double sum = 0;
    for (const double value : values.last(count)) sum += value;
    return sum / static_cast<double>(count);
}

double relative_change(std::span<const double> before, std::span<const double> after) {
    if (before.size() != after.size()) fail("lab: the change between arrays of different lengths was asked for");
    double change = 0, size = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        change += (after[i] - before[i]) * (after[i] - before[i]);
        size += before[i] * before[i];
    }
    return std::sqrt(change / size);
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
    if (a.size() != b.size()) fail("lab: the difference of arrays of different lengths was asked for");
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(a[i] - b[i]);
        if (std::isnan(difference)) return difference;  // std::max would lose it
        largest = std::max(largest, difference);
    }
    return largest;
}

double largest_difference(const Tensor& a, const Tensor& b) {
    check(a.shape() == b.shape(), "lab: the difference of tensors {} and {} was asked for; it needs one shape", a.shape(),
          b.shape());
    return largest_difference(a.to_vector(), b.to_vector());
}

double gradient_norm(const nn::Module& module) {
    double squares = 0;
    for (const nn::Parameter& parameter : module.parameters())
        if (parameter.variable.grad().defined())
            for (const double value : parameter.variable.grad().to_vector()) squares += value * value;
    return std::sqrt(squares);
}

std::vector<double> train(nn::Module& module, const Training& training, const std::function<Variable(std::int64_t)>& loss) {
    const nn::FlatParameters parameters = nn::flatten(module);
    optim::Optimizer optimizer(parameters.values, parameters.gradients);
    module.train();
    std::vector<double> losses;
    for (std::int64_t step = 0; step < training.steps; ++step) {
        generator().start(static_cast<std::uint64_t>(step), 0);
        const Variable value = loss(step);
        losses.push_back(value.value().item());
        optimizer.zero_gradients();
        backward(value);
        const double rise =
            training.warmup == 0 ? 1 : std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(training.warmup));
        optimizer.step({.lr = training.lr * rise, .clip = training.clip});
    }
    return losses;
}

}  // namespace heddle::lab
