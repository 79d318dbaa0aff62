// The iteration over the operands of a broadcast op, and the CUDA side.
#pragma once

#include <array>
#include <vector>

#include "core/shape.h"
#include "kernels/device/declare.h"
#include "kernels/elementwise/elementwise.h"

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

// ---- the CUDA side (elementwise.cu): arguments are checked and results allocated by elementwise.cpp

/// The functions of two numbers a and b; of gradients a is dy, b the forward result.
enum class Binary { add, sub, mul, div, sqrt_backward, tanh_backward };
enum class Unary { neg, exp, log, sqrt, tanh, scale };

/// y = function(a, b); `walk` walks over y's shape with the operands a and b.
HEDDLE_CUDA_FUNCTION(void binary_cuda(Binary function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y))
/// y = condition ? a : b; `walk` has the operands condition, a and b.
HEDDLE_CUDA_FUNCTION(void where_cuda(const Tensor& condition, const Tensor& a, const Tensor& b, const BroadcastWalk& walk,
                                     Tensor& y))
/// y = function(x); `factor` is scale's.
HEDDLE_CUDA_FUNCTION(void unary_cuda(Unary function, const Tensor& x, double factor, Tensor& y))
/// target += x
HEDDLE_CUDA_FUNCTION(void accumulate_cuda(Tensor& target, const Tensor& x))

}  // namespace heddle::kernels
