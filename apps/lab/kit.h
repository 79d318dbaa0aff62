// What several experiments need: random tensors, heads cut and joined by single ops, and training for a few steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lab/experiment.h"
#include "apps/picture/chart.h"
#include "autograd/ops.h"
#include "core/spans.h"
#include "nn/module.h"

namespace heddle::lab {

/// The random key of one thing ("query") in an experiment.
std::uint64_t key(const Options& options, std::string_view what);

/// Uniform in [low, high).
Tensor uniform(const Shape& shape, double low, double high, std::uint64_t key, DType dtype = DType::f32);
/// Normal with mean 0.
Tensor normal(const Shape& shape, double deviation, std::uint64_t key, DType dtype = DType::f32);

/// Token ids, uniform in [0, vocabulary): i32 [count].
Tensor words(std::int64_t count, std::int64_t vocabulary, std::uint64_t key);

/// Tokens as a score of texts reads them: "w7 w12 ".
std::string line_of(std::span<const std::int32_t> tokens);

/// A line through what was measured at 0, 1, 2, ..: a loss for each step.
picture::Series curve(std::string name, const std::vector<double>& values);
/// Mistakes first, the correct variant last: reorders values whose first variant is the correct one, `each` per variant.
template <typename T>
std::vector<T> mistakes_first(std::vector<T> values, std::size_t each = 1) {
    std::ranges::rotate(values, values.begin() + static_cast<std::ptrdiff_t>(each));
    return values;
}
/// The same of the first `count` series of a chart, or of the bars of each group. Colours are kept: the first one is that of the
/// correct variant.
picture::LineChart mistakes_first(picture::LineChart chart, std::optional<std::size_t> count = {});
picture::BarChart mistakes_first(picture::BarChart chart);

/// A task with one right answer: the source backwards. i32 [sentences * length] each, one sentence after the other.
struct Reversed {
    Tensor source;
    Tensor target_in;   ///< vocabulary - 1, which is no word, and the target without its last word
    Tensor target_out;  ///< what is to be said
};
Reversed reversed_sentences(std::int64_t sentences, std::int64_t length, std::int64_t vocabulary, std::uint64_t key);
/// `sentences` of `time` tokens each, one after another.
Spans equal_spans(std::int64_t sentences, std::int64_t time);

/// Attention from single ops, as write-ups compose it. x [sentences * time, heads * width] as [sentences, heads, time, width]: a
/// row is cut into heads first, and then heads and time change places.
Variable cut_heads(const Variable& x, std::int64_t sentences, std::int64_t heads);
/// The inverse.
Variable join_heads(const Variable& x);

/// The middle one (the mean of the two middle ones). Error without any.
double median(std::vector<double> values);

/// The mean of the last `count` values: where a noisy curve has come to. Error when there are fewer.
double mean_of_last(std::span<const double> values, std::size_t count);

/// |after - before| / |before|: 0 exactly when nothing moved. Error when they are not equally long.
double relative_change(std::span<const double> before, std::span<const double> after);

/// max |a - b|; NaN when a difference is. Error when they are not equally long.
double largest_difference(std::span<const double> a, std::span<const double> b);
/// The same of two tensors. Error when they are not of one shape.
double largest_difference(const Tensor& a, const Tensor& b);

/// The largest distance of a row's sum from 1; rows run along the last axis. NaN when a sum is.
double error_of_sums(const Tensor& weights);

/// Of all parameters of the module that have a gradient, as one vector.
double gradient_norm(const nn::Module& module);

/// Adam for `steps` steps on what `loss(step)` gives, a scalar; returns the loss of each step. The rate is constant after
/// `warmup` steps in which it rises linearly. The module is left in training mode.
struct Training {
    std::int64_t steps = 100;
    double lr = 1e-3;
    std::int64_t warmup = 0;
    double clip = 0;
};
std::vector<double> train(nn::Module& module, const Training& training, const std::function<Variable(std::int64_t)>& loss);

}  // namespace heddle::lab
