// From values to pixels: the range of an axis, its ticks at round numbers, the place of a value.
#pragma once

#include <string>
#include <vector>

#include "apps/picture/chart.h"

namespace heddle::picture {

struct Tick {
    double value = 0;
    std::string label;
};

struct Range {
    double low = 0;
    double high = 1;
};

/// Whether an axis can show the value: finite, positive on a logarithmic axis, and not so large that a range would overflow.
bool drawable(double value, bool logarithmic);

/// What an axis covers: its own limits where it has them, otherwise what `values` need. Never empty: a single value lies in the
/// middle, no value at all gives 0 to 1 (1 to 10). With `rounded` free ends move outwards: to the next tick, on a
/// logarithmic axis by a quarter. Error when `from` is not below
/// `to`, or when a limit cannot be drawn; `chart` is its title.
Range range_of(const Axis& axis, const std::vector<double>& values, bool rounded, const std::string& chart);

/// About six ticks within the range, at 1, 2 or 5 times a power of ten; on a logarithmic axis at powers of ten where it covers
/// enough of them. Their labels have as many digits as tell them apart.
std::vector<Tick> ticks(const Range& range, bool logarithmic);

/// Where values lie between two ends in pixels.
struct Scale {
    Range range;
    bool logarithmic = false;
    double start = 0;  ///< pixel of range.low
    double end = 1;    ///< pixel of range.high

    double operator()(double value) const;
};

}  // namespace heddle::picture
