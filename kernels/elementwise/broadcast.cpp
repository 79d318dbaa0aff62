#include "kernels/elementwise/detail/broadcast.h"

#include "core/format.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::kernels {
namespace {

// The extent of the axis that stands `from_end` places before the end; 1 when there is none.
std::int64_t extent(const Shape& shape, int from_end) { return from_end < shape.rank() ? shape[shape.rank() - 1 - from_end] : 1; }

}  // namespace

Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t of_a = extent(a, rank - 1 - axis), of_b = extent(b, rank - 1 - axis);
        check(of_a == of_b || of_a == 1 || of_b == 1, "{}: shapes {} and {} do not broadcast: aligned at the end, {} meets {}",
              op, a, b, of_a, of_b);
        shape.append(of_a == 1 ? of_b : of_a);
    }
    return shape;
}

BroadcastWalk::BroadcastWalk(const Shape& shape, std::initializer_list<Shape> operands) {
    std::array<std::int64_t, kOperands> stride = {1, 1, 1};
    std::vector<Axis> inner_first;
    for (int from_end = 0; from_end < shape.rank(); ++from_end) {
        Axis axis{extent(shape, from_end), {}};
        std::size_t i = 0;
        for (const Shape& operand : operands) {
            const std::int64_t own = extent(operand, from_end);
            axis.steps[i] = own == 1 ? 0 : stride[i];
            stride[i++] *= own;
        }
        if (axis.extent == 1) continue;
        bool alike = !inner_first.empty();
        if (alike)
            for (std::size_t k = 0; k < kOperands; ++k)
                alike = alike && axis.steps[k] == inner_first.back().steps[k] * inner_first.back().extent;
        if (alike)
            inner_first.back().extent *= axis.extent;
        else
            inner_first.push_back(axis);
    }
    axes_.assign(inner_first.rbegin(), inner_first.rend());
    if (axes_.empty()) return;
    cols_ = axes_.back().extent;
    for (std::size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].extent;
}

std::array<std::int64_t, BroadcastWalk::kOperands> BroadcastWalk::begin_of(std::int64_t row) const {
    std::array<std::int64_t, kOperands> begin = {0, 0, 0};
    for (std::size_t i = axes_.size() < 2 ? 0 : axes_.size() - 1; i-- > 0;) {
        const std::int64_t at = row % axes_[i].extent;
        row /= axes_[i].extent;
        for (std::size_t k = 0; k < kOperands; ++k) begin[k] += at * axes_[i].steps[k];
    }
    return begin;
}

}  // namespace heddle::kernels
