// From values to pixels: the range of an axis, its ticks at round numbers, the position of a value.
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

/// The range of an axis: its own limits if set, otherwise those of `values`. Never empty: a single value is in the middle, and no
/// value gives 0 to 1 (logarithmic: 1 to 10). With `rounded`, ends that are not set move outwards to the next tick, on a
/// logarithmic axis by a quarter. Error if `from` is not below `to`, or if a limit cannot be drawn; `chart` is its title.
Range range_of(const Axis& axis, const std::vector<double>& values, bool rounded, const std::string& chart);

/// About six ticks within the range, at 1, 2 or 5 times a power of ten; on a logarithmic axis at powers of ten where it covers
/// enough of them. Their labels have enough digits to differ.
std::vector<Tick> ticks(const Range& range, bool logarithmic);

/// Maps values to pixels between two ends.
struct Scale {
    Range range;
    bool logarithmic = false;
    double start = 0;  ///< pixel of range.low
    double end = 1;    ///< pixel of range.high

    double operator()(double value) const;
};

}  // namespace heddle::picture
