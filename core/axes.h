// The axes of a reduction.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/shape.h"

namespace heddle {

/// The axes of a reduction: one, several, or all of them. Negative ones count from the end.
class Axes {
  public:
    Axes() = default;                                                                  ///< all
    Axes(int axis) : all_(false), list_{axis} {}                                       // NOLINT: sum(x, -1)
    Axes(std::initializer_list<int> axes) : all_(axes.size() == 0), list_(axes) {}     // NOLINT: sum(x, {0, 2})
    Axes(std::span<const int> axes) : all_(false), list_(axes.begin(), axes.end()) {}  // NOLINT

    bool all() const { return all_; }
    /// Empty when all are meant.
    const std::vector<int>& list() const { return list_; }

  private:
    bool all_ = true;
    std::vector<int> list_ = {};
};

/// The axes counted from the front, in the order in which they are named. Error that names `op` when the shape has no such axis,
/// or one is named twice.
std::vector<int> counted_axes(const char* op, const Shape& shape, const Axes& axes);

}  // namespace heddle
