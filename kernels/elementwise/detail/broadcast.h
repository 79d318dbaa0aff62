// The iteration over the operands of a broadcast op.
#pragma once

#include <array>
#include <vector>

#include "core/shape.h"

namespace heddle::kernels {

/// The result seen as rows x cols, and each operand's step in elements from one column to the next (0: repeated) and from one row
/// to another. Neighbouring axes that all operands step through alike are merged, so equal shapes give one row.
class BroadcastWalk {
  public:
    static constexpr int kOperands = 3;

    /// `shape` is the result's; each of up to three operands broadcasts to it.
    BroadcastWalk(const Shape& shape, std::initializer_list<Shape> operands);

    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    /// 1 or 0.
    std::int64_t column_step(int operand) const {
        return axes_.empty() ? 0 : axes_.back().steps[static_cast<std::size_t>(operand)];
    }
    /// Where each operand's part of `row` begins, in elements.
    std::array<std::int64_t, kOperands> begin_of(std::int64_t row) const;

    struct Axis {
        std::int64_t extent;
        std::array<std::int64_t, kOperands> steps;  ///< each operand's, in elements
    };
    /// The merged axes, outermost first; extents are above 1 (or 0). None when the result has one element.
    const std::vector<Axis>& axes() const { return axes_; }

  private:
    std::vector<Axis> axes_;
    std::int64_t rows_ = 1;
    std::int64_t cols_ = 1;
};

}  // namespace heddle::kernels
