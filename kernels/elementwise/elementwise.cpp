#include "kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/elementwise/detail/elementwise.h"

namespace heddle::kernels {
namespace {

// ---- broadcasting

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

// ---- the loops

namespace {

// y[i] = function(a[i * step_a], b[i * step_b]) for i < n; the steps are 0 or 1, and told apart so that the compiler vectorises.
template <class T, class Function>
void sweep(const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, T* y, std::int64_t n, Function function) {
    if (step_a == 1 && step_b == 1)
        for (std::int64_t i = 0; i < n; ++i) y[i] = function(a[i], b[i]);
    else if (step_a == 1)
        for (std::int64_t i = 0; i < n; ++i) y[i] = function(a[i], *b);
    else if (step_b == 1)
        for (std::int64_t i = 0; i < n; ++i) y[i] = function(*a, b[i]);
    else
        std::fill_n(y, n, n > 0 ? function(*a, *b) : T{});
}

// function(row, first column, one past the last) for pieces of a rows x cols result: few long rows are cut, many short ones
// are taken together.
template <class Function>
void for_pieces(std::int64_t rows, std::int64_t cols, Function function) {
    constexpr std::int64_t kPiece = 16384;
    if (rows == 1) return parallel_for(cols, kPiece, [&](std::int64_t begin, std::int64_t end) { function(0, begin, end); });
    parallel_for(rows, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, cols)),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) function(row, 0, cols);
                 });
}

template <class Function>
Tensor binary(const char* op, Binary kind, const Tensor& a, const Tensor& b, Function function) {
    check_defined(op, "a", a);
    check_dtype(op, "b", b, a.dtype());
    check_device(op, {{"a", a}, {"b", b}});
    const Shape shape = broadcast_shape(op, a.shape(), b.shape());
    const BroadcastWalk walk(shape, {a.shape(), b.shape()});
    Tensor y = Tensor::empty(shape, a.dtype(), a.device());
    if (y.device() == Device::cuda) {
        binary_cuda(kind, a, b, walk, y);
        return y;
    }
    dispatch_real(op, a, [&]<class T>(TypeTag<T>) {
        const T* from_a = a.data<T>();
        const T* from_b = b.data<T>();
        T* to = y.mutable_data<T>();
        for_pieces(walk.rows(), walk.cols(), [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
            const auto at = walk.begin_of(row);
            const std::int64_t step_a = walk.column_step(0), step_b = walk.column_step(1);
            sweep(from_a + at[0] + begin * step_a, step_a, from_b + at[1] + begin * step_b, step_b,
                  to + row * walk.cols() + begin, end - begin, function);
        });
    });
    return y;
}

template <class Function>
Tensor unary(const char* op, Unary kind, const Tensor& x, Function function, double factor = 1) {
    check_defined(op, "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        unary_cuda(kind, x, factor, y);
        return y;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(4), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = function(from[i]);
        });
    });
    return y;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
    return binary("add", Binary::add, a, b, [](auto x, auto y) { return x + y; });
}

Tensor sub(const Tensor& a, const Tensor& b) {
    return binary("sub", Binary::sub, a, b, [](auto x, auto y) { return x - y; });
}

Tensor mul(const Tensor& a, const Tensor& b) {
    return binary("mul", Binary::mul, a, b, [](auto x, auto y) { return x * y; });
}

Tensor div(const Tensor& a, const Tensor& b) {
    return binary("div", Binary::div, a, b, [](auto x, auto y) { return x / y; });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    check_dtype("where", "condition", condition, DType::u8);
    check_defined("where", "a", a);
    check_dtype("where", "b", b, a.dtype());
    check_device("where", {{"condition", condition}, {"a", a}, {"b", b}});
    const Shape shape = broadcast_shape("where", condition.shape(), broadcast_shape("where", a.shape(), b.shape()));
    const BroadcastWalk walk(shape, {condition.shape(), a.shape(), b.shape()});
    Tensor y = Tensor::empty(shape, a.dtype(), a.device());
    if (y.device() == Device::cuda) {
        where_cuda(condition, a, b, walk, y);
        return y;
    }
    dispatch_real("where", a, [&]<class T>(TypeTag<T>) {
        const std::uint8_t* choice = condition.data<std::uint8_t>();
        const T* from_a = a.data<T>();
        const T* from_b = b.data<T>();
        T* to = y.mutable_data<T>();
        for_pieces(walk.rows(), walk.cols(), [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
            const auto at = walk.begin_of(row);
            for (std::int64_t c = begin; c < end; ++c) {
                const bool take = choice[at[0] + c * walk.column_step(0)] != 0;
                to[row * walk.cols() + c] =
                    take ? from_a[at[1] + c * walk.column_step(1)] : from_b[at[2] + c * walk.column_step(2)];
            }
        });
    });
    return y;
}

Tensor neg(const Tensor& x) {
    return unary("neg", Unary::neg, x, [](auto at) { return -at; });
}

Tensor exp(const Tensor& x) {
    return unary("exp", Unary::exp, x, [](auto at) {
        using std::exp;
        return exp(at);
    });
}

Tensor log(const Tensor& x) {
    return unary("log", Unary::log, x, [](auto at) {
        using std::log;
        return log(at);
    });
}

Tensor sqrt(const Tensor& x) {
    return unary("sqrt", Unary::sqrt, x, [](auto at) {
        using std::sqrt;
        return sqrt(at);
    });
}

Tensor tanh(const Tensor& x) {
    return unary("tanh", Unary::tanh, x, [](auto at) {
        using std::tanh;
        return tanh(at);
    });
}

Tensor scale(const Tensor& x, double factor) {
    return unary(
        "scale", Unary::scale, x, [factor](auto at) { return static_cast<decltype(at)>(factor) * at; }, factor);
}

Tensor exp_backward(const Tensor& dy, const Tensor& y) {
    check_shape("exp_backward", "y", y, dy.shape());
    return mul(dy, y);
}

Tensor sqrt_backward(const Tensor& dy, const Tensor& y) {
    check_shape("sqrt_backward", "y", y, dy.shape());
    return binary("sqrt_backward", Binary::sqrt_backward, dy, y, [](auto gradient, auto root) { return gradient / (2 * root); });
}

Tensor tanh_backward(const Tensor& dy, const Tensor& y) {
    check_shape("tanh_backward", "y", y, dy.shape());
    return binary("tanh_backward", Binary::tanh_backward, dy, y, [](auto gradient, auto at) { return gradient * (1 - at * at); });
}

Tensor log_backward(const Tensor& dy, const Tensor& x) {
    check_shape("log_backward", "x", x, dy.shape());
    return div(dy, x);
}

Tensor where_backward(const Tensor& dy, const Tensor& condition, bool take) {
    const Tensor zero = Tensor::zeros({}, dy.dtype(), dy.device());
    return take ? where(condition, dy, zero) : where(condition, zero, dy);
}

void accumulate(Tensor& target, const Tensor& x) {
    check_defined("accumulate", "target", target);
    check_shape("accumulate", "x", x, target.shape());
    check_dtype("accumulate", "x", x, target.dtype());
    check_device("accumulate", {{"target", target}, {"x", x}});
    if (target.device() == Device::cuda) return accumulate_cuda(target, x);
    dispatch_real("accumulate", target, [&]<class T>(TypeTag<T>) {
        T* to = target.mutable_data<T>();
        const T* from = x.data<T>();
        parallel_for(target.numel(), grain_for(4), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
        });
    });
}

}  // namespace heddle::kernels
