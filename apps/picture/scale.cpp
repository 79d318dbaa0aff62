#include "apps/picture/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/picture/text.h"
#include "core/format.h"

namespace heddle::picture {
namespace {

constexpr int wanted_ticks = 6;
constexpr double largest = 1e300;  // a difference of two such values is still finite

// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

double linear_step(const Range& range) { return round_step((range.high - range.low) / wanted_ticks); }

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9)); }

// All labels of an axis have the same number of decimals. Millions are written with M, larger and very small numbers with an
// exponent.
std::string label(double value, double step, double extent) {
    if (value == 0) return "0";
    const auto decimals = [&](double unit) { return std::clamp(-exponent_of(step / unit), 0, 15); };
    if (extent >= 1e9 || extent < 1e-4)
        return short_exponent(fmt::format("{:.{}e}", value, std::clamp(exponent_of(value) - exponent_of(step), 0, 15)));
    if (extent >= 1e6) return fmt::format("{:.{}f}M", value / 1e6, decimals(1e6));
    if (step >= 1) return whole_number(value);
    return fmt::format("{:.{}f}", value, decimals(1));
}

std::vector<Tick> linear_ticks(const Range& range) {
    const double step = linear_step(range);
    const double extent = std::max(std::abs(range.low), std::abs(range.high));
    std::vector<Tick> all;
    const double first = std::ceil(range.low / step - 1e-6);
    // Multiples of the step: summing steps would drift away from round numbers.
    for (double i = first; i <= range.high / step + 1e-6 && i < first + 100; ++i)
        all.push_back({i * step, label(i * step, step, extent)});
    return all;
}

std::string power_label(int factor, int exponent) {
    if (exponent < -3 || exponent > 4) return fmt::format("{}e{}", factor, exponent);
    return exponent < 0 ? fmt::format("{:.{}f}", factor * std::pow(10, exponent), -exponent)
                        : whole_number(factor * std::pow(10, exponent));
}

std::vector<Tick> logarithmic_ticks(const Range& range) {
    const int first = static_cast<int>(std::floor(std::log10(range.low)));
    const int last = static_cast<int>(std::ceil(std::log10(range.high)));
    const int stride = std::max(1, (last - first) / wanted_ticks);
    const auto with = [&](std::initializer_list<int> factors) {
        std::vector<Tick> all;
        for (int exponent = first; exponent <= last; exponent += stride)
            for (const int factor : factors) {
                const double value = factor * std::pow(10, exponent);
                if (value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9))
                    all.push_back({value, power_label(factor, exponent)});
            }
        return all;
    };
    std::vector<Tick> all = with({1});
    if (all.size() < 3 && stride == 1) all = with({1, 2, 5});
    return all.size() < 3 ? linear_ticks(range) : all;
}

void check_limit(const std::optional<double>& limit, const Axis& axis, const std::string& chart) {
    if (!limit) return;
    check(drawable(*limit, axis.logarithmic), "chart '{}': the {} axis '{}' cannot begin or end at {}", chart,
          axis.logarithmic ? "logarithmic" : "linear", axis.label, *limit);
}

// Widens the range around a single value, which avoids a division by zero.
Range widened(const Range& range, bool logarithmic) {
    if (logarithmic) return range.high / range.low > 1 + 1e-9 ? range : Range{range.low / 2, range.high * 2};
    const double extent = std::max(std::abs(range.low), std::abs(range.high));
    if (range.high - range.low > 1e-9 * extent) return range;
    const double room = extent > 0 ? extent / 2 : 1;
    return {range.low - room, range.high + room};
}

}  // namespace

bool drawable(double value, bool logarithmic) {
    return std::isfinite(value) && std::abs(value) <= largest && (!logarithmic || value > 0);
}

Range range_of(const Axis& axis, const std::vector<double>& values, bool rounded, const std::string& chart) {
    check_limit(axis.from, axis, chart);
    check_limit(axis.to, axis, chart);
    check(!axis.from || !axis.to || *axis.from < *axis.to, "chart '{}': the axis '{}' goes from {} to {}; from must be below to",
          chart, axis.label, axis.from.value_or(0), axis.to.value_or(0));
    Range range = axis.logarithmic ? Range{1, 10} : Range{0, 1};
    bool any = false;
    for (const double value : values) {
        if (!drawable(value, axis.logarithmic)) continue;
        range = any ? Range{std::min(range.low, value), std::max(range.high, value)} : Range{value, value};
        any = true;
    }
    if (axis.from) range = {*axis.from, std::max(*axis.from, range.high)};
    if (axis.to) range = {axis.from ? *axis.from : std::min(*axis.to, range.low), *axis.to};
    range = widened(range, axis.logarithmic);
    if (rounded) {
        if (axis.logarithmic) {
            range = {range.low / 1.25, range.high * 1.25};
        } else {
            const double step = linear_step(range);
            range = {std::floor(range.low / step + 1e-6) * step, std::ceil(range.high / step - 1e-6) * step};
        }
    }
    if (axis.from) range.low = *axis.from;
    if (axis.to) range.high = *axis.to;
    return range;
}

std::vector<Tick> ticks(const Range& range, bool logarithmic) {
    return logarithmic ? logarithmic_ticks(range) : linear_ticks(range);
}

double Scale::operator()(double value) const {
    const double share = logarithmic ? (std::log(value) - std::log(range.low)) / (std::log(range.high) - std::log(range.low))
                                     : (value - range.low) / (range.high - range.low);
    // Limits values far outside a clipped axis, because browsers limit coordinates.
    return start + (end - start) * std::clamp(share, -100.0, 100.0);
}

}  // namespace heddle::picture
