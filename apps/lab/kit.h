// Helpers shared by the experiments: random tensors, splitting and joining heads with basic ops, and short training runs.
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

/// The random key for one item ("query") of an experiment.
std::uint64_t key(const Options& options, std::string_view what);

/// Uniform in [low, high).
Tensor uniform(const Shape& shape, double low, double high, std::uint64_t key, DType dtype = DType::f32);
/// Normal with mean 0.
Tensor normal(const Shape& shape, double deviation, std::uint64_t key, DType dtype = DType::f32);

/// Token ids, uniform in [0, vocabulary): i32 [count].
Tensor words(std::int64_t count, std::int64_t vocabulary, std::uint64_t key);

/// Tokens as text that can be scored: "w7 w12 ".
std::string line_of(std::span<const std::int32_t> tokens);

/// A line through values measured at 0, 1, 2, ..., such as the loss of each step.
picture::Series curve(std::string name, const std::vector<double>& values);
/// Moves the values of the first variant, the correct one, to the end. Each variant has `each` values.
template <typename T>
std::vector<T> mistakes_first(std::vector<T> values, std::size_t each = 1) {
    std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(each), values.end());
    return values;
}
/// The same for the first `count` series of a chart, or for the bars of each group. Series keep their colours: the correct
/// variant has the first one.
picture::LineChart mistakes_first(picture::LineChart chart, std::optional<std::size_t> count = {});
picture::BarChart mistakes_first(picture::BarChart chart);

/// A task with one right answer: reverse the source. Each tensor is i32 [sentences * length], one sentence after another.
struct Reversed {
    Tensor source;
    Tensor target_in;   ///< a start token (vocabulary - 1, not a word), then the target without its last word
    Tensor target_out;  ///< the expected output
};
Reversed reversed_sentences(std::int64_t sentences, std::int64_t length, std::int64_t vocabulary, std::uint64_t key);

/// For attention composed from basic ops: the [sentences, heads, time, width] results of the heads as rows
/// [sentences * time, heads * width], each position's heads side by side.
Variable join_heads(const Variable& x);

/// The median (of an even count: the mean of the middle two). Error if there are no values.
double median(std::vector<double> values);

/// The mean of the last `count` values: the level that a noisy curve has reached. Error if there are fewer.
double mean_of_last(std::span<const double> values, std::size_t count);

/// |after - before| / |before|: 0 exactly when nothing changed. Error if the lengths differ.
double relative_change(std::span<const double> before, std::span<const double> after);

/// max |a - b|; NaN if any difference is NaN. Error if the lengths differ.
double largest_difference(std::span<const double> a, std::span<const double> b);
/// The same for two tensors. Error if the shapes differ.
double largest_difference(const Tensor& a, const Tensor& b);

/// The norm of the gradients of all the module's parameters, taken as one vector. Parameters without a gradient are skipped.
double gradient_norm(const nn::Module& module);

/// Runs Adam for `steps` steps on the scalar `loss(step)` and returns the loss of each step. The rate rises linearly for `warmup`
/// steps and is constant afterwards. Leaves the module in training mode.
struct Training {
    std::int64_t steps = 100;
    double lr = 1e-3;
    std::int64_t warmup = 0;
    double clip = 0;
};
std::vector<double> train(nn::Module& module, const Training& training, const std::function<Variable(std::int64_t)>& loss);

}  // namespace heddle::lab
