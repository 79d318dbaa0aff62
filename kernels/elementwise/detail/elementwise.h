// The iteration over the operands of a broadcast op, and the CUDA side.
#pragma once

#include <array>
#include <vector>

#include "core/parallel.h"
#include "core/shape.h"
#include "kernels/device/declare.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/level.h"

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

/// function(row, first column, one past the last) for pieces of a rows x cols result: few long rows are cut, many short ones
/// are taken together.
template <class Function>
void for_pieces(std::int64_t rows, std::int64_t cols, std::int64_t work, Function function) {
    if (rows == 1)
        return parallel_for(cols, grain_for(work), [&](std::int64_t begin, std::int64_t end) { function(0, begin, end); });
    parallel_for(rows, grain_for(work * cols + 16), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) function(row, 0, cols);
    });
}

/// Calls body(where each operand begins, first element of y, elements) for each piece of a row.
template <class Body>
void walk_pieces(const BroadcastWalk& walk, std::int64_t work, const Body& body) {
    for_pieces(walk.rows(), walk.cols(), work, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
        auto at = walk.begin_of(row);
        for (int k = 0; k < BroadcastWalk::kOperands; ++k) at[static_cast<std::size_t>(k)] += begin * walk.column_step(k);
        body(at, row * walk.cols() + begin, end - begin);
    });
}

// ---- the CUDA side (elementwise.cu): arguments are checked and results allocated by elementwise.cpp

/// y = function(a, b); `walk` walks over y's shape with the operands a and b.
HEDDLE_CUDA_FUNCTION(void binary_cuda(Binary function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y))
/// y = condition ? a : b; `walk` has the operands condition, a and b.
HEDDLE_CUDA_FUNCTION(void where_cuda(const Tensor& condition, const Tensor& a, const Tensor& b, const BroadcastWalk& walk,
                                     Tensor& y))
/// y = function(x)
HEDDLE_CUDA_FUNCTION(void unary_cuda(Unary function, const UnaryNumbers& numbers, const Tensor& x, Tensor& y))
/// dx = dy times the slope of function; `saved` is what saves() says, or dy.
HEDDLE_CUDA_FUNCTION(void unary_backward_cuda(Unary function, const UnaryNumbers& numbers, const Tensor& dy, const Tensor& saved,
                                              Tensor& dx))
/// y u8, as compare() and logical().
HEDDLE_CUDA_FUNCTION(void compare_cuda(Comparison comparison, const Tensor& a, const Tensor& b, const BroadcastWalk& walk,
                                       Tensor& y))
HEDDLE_CUDA_FUNCTION(void logical_cuda(Logical function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y))
/// target += x
HEDDLE_CUDA_FUNCTION(void accumulate_cuda(Tensor& target, const Tensor& x))

// ---- the vectorised CPU path (elementwise_fast.cpp): arrays of n numbers; y may be a or x

HEDDLE_DECLARE_LEVELS(void unary_values(Unary function, const UnaryNumbers& numbers, const float* x, float* y, std::int64_t n);
                      void unary_gradients(Unary function, const UnaryNumbers& numbers, const float* dy, const float* saved,
                                           float* dx, std::int64_t n);
                      /// y[i] = function(a[i * step_a], b[i * step_b]); steps are 0 or 1.
                      void binary_values(Binary function, const float* a, std::int64_t step_a, const float* b,
                                         std::int64_t step_b, float* y, std::int64_t n);
                      void where_values(const std::uint8_t* condition, std::int64_t step, const float* a, std::int64_t step_a,
                                        const float* b, std::int64_t step_b, float* y, std::int64_t n))

}  // namespace heddle::kernels
