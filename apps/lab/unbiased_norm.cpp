// Layer normalisation by the sample standard deviation with eps outside the root, as some write-ups have it.
//
//     wrong    gamma (x - mean) / (s + eps) + beta,   s = sqrt(sum (x - mean)^2 / (n - 1))
//     right    gamma (x - mean) / sqrt(v + eps) + beta,   v = sum (x - mean)^2 / n
//
// "outside" defines the root's gradient at zero as zero, like frameworks in which the standard deviation is one op; "composed"
// uses the root's own derivative there, 1 / (2 sqrt(0)).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"

namespace heddle::lab::unbiased_norm {
namespace {

constexpr std::int64_t width = 512;

enum class Norm { inside, outside, composed };

// The square root; where x is zero, its gradient is zero, too.
Variable careful_root(const Variable& x) {
    Tensor positive = Tensor::zeros(x.shape(), DType::u8);
    for (std::int64_t i = 0; i < x.value().numel(); ++i)
        positive.mutable_data<std::uint8_t>()[i] = x.value().data<double>()[i] > 0;
    const Variable one(Tensor::full(x.shape(), 1, DType::f64)), zero(Tensor::zeros(x.shape(), DType::f64));
    return ops::where(positive, ops::sqrt(ops::where(positive, x, one)), zero);
}

Variable normalise(const Variable& x, Norm norm, double eps) {
    const auto cols = static_cast<double>(x.cols());
    if (norm == Norm::inside)
        return ops::layer_norm(x, Variable(Tensor::full({x.cols()}, 1, DType::f64)),
                               Variable(Tensor::zeros({x.cols()}, DType::f64)), eps);
    const Variable centred = ops::sub(x, ops::mean(x, -1, true));
    const Variable variance = ops::scale(ops::sum(ops::mul(centred, centred), -1, true), 1 / (cols - 1));
    const Variable deviation = norm == Norm::outside ? careful_root(variance) : ops::sqrt(variance);
    return ops::div(centred, ops::add(deviation, Variable(Tensor::full({1}, eps, DType::f64))));
}

// The largest gradient of a row with mean 3 and this standard deviation; 0 means a constant row.
double gradient(const Options& options, double deviation, Norm norm, double eps) {
    Tensor row = normal({1, width}, deviation, key(options, "row"), DType::f64);
    for (double& value : row.mutable_values<double>()) value += 3;
    const Variable x(row, true);
    backward(normalise(x, norm, eps), normal({1, width}, 1, key(options, "cotangent"), DType::f64));
    double largest = 0;
    for (const double value : x.grad().to_vector()) {
        if (std::isnan(value)) return value;
        largest = std::max(largest, std::abs(value));
    }
    return largest;
}

// The variance of a normalised row of `cols` values.
double variance(const Options& options, std::int64_t cols, Norm norm, double eps) {
    const Variable x(normal({1, cols}, 1, key(options, "narrow row"), DType::f64));
    double sum = 0;
    for (const double value : normalise(x, norm, eps).value().to_vector()) sum += value * value;
    return sum / static_cast<double>(cols);
}

Result measure(const Options& options) {
    const auto all = [&](double deviation, double eps) {
        std::vector<double> values;
        for (const Norm norm : {Norm::inside, Norm::outside, Norm::composed})
            values.push_back(gradient(options, deviation, norm, eps));
        return values;
    };
    picture::LineChart chart{.title = "largest gradient of a row of 512",
                             .x = {.label = "deviation of the row", .logarithmic = true},
                             .y = {.label = "gradient", .logarithmic = true}};
    for (const double eps : {1e-6, 1e-8})
        for (const Norm norm : {Norm::outside, Norm::inside}) {
            picture::Series line{fmt::format("{}, eps {:.0e}", norm == Norm::inside ? "inside" : "outside", eps), {}, {}};
            line.color = chart.series.size() ^ 1;  // the correct variant has the first colour, though it comes second
            for (double exponent = -12; exponent <= 0; exponent += 0.25) {
                line.x.push_back(std::pow(10.0, exponent));
                line.y.push_back(gradient(options, line.x.back(), norm, eps));
            }
            chart.series.push_back(std::move(line));
        }
    return {.variants = {"inside", "outside", "composed"},
            .findings = {{"largest gradient of a constant row, eps 1e-6", all(0, 1e-6)},
                         {"largest gradient of a constant row, eps 1e-5", all(0, 1e-5)},
                         {"largest gradient of a constant row, eps 1e-8", all(0, 1e-8)},
                         {"largest gradient of a row of deviation 1, eps 1e-6", all(1, 1e-6)},
                         {"variance of a normalised row of 8",
                          {variance(options, 8, Norm::inside, 1e-6), variance(options, 8, Norm::outside, 1e-6),
                           variance(options, 8, Norm::composed, 1e-6)}}},
            .figures = {{svg(chart), "The two agree on ordinary rows and differ on nearly constant ones."}}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "unbiased-norm",
        .group = "Norm, dropout and training",
        .title = "layer norm by the unbiased standard deviation, with eps outside the root",
        .caught_by = "LayerNorm.GradientOfAConstantRowIsBoundedByTheRootOfEps",
        .why =
            "Outside the root, a constant row is divided by eps itself, 1e-6; inside, by its root, 1e-3. So the gradient of a "
            "constant row (padding, a dead unit) is larger by a factor of 1 / sqrt(eps), a thousand or more, and if the standard "
            "deviation is composed with a plain root, 1 / sqrt(0) times 0 makes it NaN. With the biased variance and eps inside, "
            "the gradient is at most |dy| / sqrt(eps), and rows have variance 1 at every width.",
        .wrong = R"(
const Variable centred = ops::sub(x, ops::mean(x, -1, true));
const Variable squares = ops::mul(centred, centred);
const Variable variance =
    ops::scale(ops::sum(squares, -1, true), 1.0 / (n - 1));
const Variable y =
    ops::div(centred, ops::add(ops::sqrt(variance), eps));
)",
        .right = R"(
const Variable centred = ops::sub(x, ops::mean(x, -1, true));
const Variable squares = ops::mul(centred, centred);
const Variable variance = ops::mean(squares, -1, true);  // over n
const Variable y =
    ops::div(centred, ops::sqrt(ops::add(variance, eps)));
)",
        .run = measure};
}

}  // namespace heddle::lab::unbiased_norm
