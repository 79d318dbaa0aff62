#include "kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

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

const char* name(Binary function) {
    switch (function) {
        case Binary::add: return "add";
        case Binary::sub: return "sub";
        case Binary::mul: return "mul";
        case Binary::div: return "div";
        case Binary::pow: return "pow";
        case Binary::maximum: return "maximum";
        case Binary::minimum: return "minimum";
        case Binary::maximum_share: return "maximum_backward";
        case Binary::minimum_share: return "minimum_backward";
        default: return "pow_backward";
    }
}

const char* name(Unary function) { return word_of(function).data(); }  // each word is a whole literal

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

namespace {

// ---- the references, for f64 and dual numbers

template <class T>
T value(Binary function, T a, T b) {
    using std::isnan, std::log, std::pow;
    switch (function) {
        case Binary::add: return a + b;
        case Binary::sub: return a - b;
        case Binary::mul: return a * b;
        case Binary::div: return a / b;
        case Binary::pow: return pow(a, b);
        case Binary::pow_base: return b == 0 ? T{0} : b * pow(a, b - 1);
        case Binary::pow_exponent: return a == 0 && b >= 0 ? T{0} : pow(a, b) * log(a);
        case Binary::maximum: return a > b || isnan(a) ? a : b;
        case Binary::minimum: return a < b || isnan(a) ? a : b;
        case Binary::maximum_share: return a == b ? T{0.5} : a < b ? T{0} : T{1};
        case Binary::minimum_share: return a == b ? T{0.5} : a > b ? T{0} : T{1};
    }
    return a;
}

template <class T>
T sigmoid(T x) {
    using std::exp;
    if (!(x < 0)) return 1 / (1 + exp(-x));
    const T e = exp(x);  // e^-x would overflow
    return e / (1 + e);
}

template <class T>
T sign(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
}

template <class T>
T value(Unary function, const UnaryNumbers& numbers, T x) {
    using std::cos, std::erf, std::exp, std::expm1, std::log, std::log1p, std::pow, std::sin, std::sqrt, std::tanh;
    const T first = static_cast<T>(numbers.first), second = static_cast<T>(numbers.second);
    switch (function) {
        case Unary::neg: return -x;
        case Unary::exp: return exp(x);
        case Unary::expm1: return expm1(x);
        case Unary::log: return log(x);
        case Unary::log1p: return log1p(x);
        case Unary::sqrt: return sqrt(x);
        case Unary::rsqrt: return 1 / sqrt(x);
        case Unary::square: return x * x;
        case Unary::abs: return x < 0 ? -x : x == 0 ? T{0} : x;
        case Unary::sign: return sign(x);
        case Unary::sin: return sin(x);
        case Unary::cos: return cos(x);
        case Unary::tanh: return tanh(x);
        case Unary::sigmoid: return sigmoid(x);
        case Unary::softplus: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
        case Unary::erf: return erf(x);
        case Unary::scale: return first * x;
        case Unary::power: return pow(x, first);
        case Unary::clamp: return x < first ? first : x > second ? second : x;
    }
    return x;
}

// dx for dy and x or y, as saves() says.
template <class T>
T slope(Unary function, const UnaryNumbers& numbers, T dy, T saved) {
    using std::cos, std::exp, std::pow, std::sin;
    const T x = saved, y = saved, first = static_cast<T>(numbers.first), second = static_cast<T>(numbers.second);
    switch (function) {
        case Unary::neg: return -dy;
        case Unary::exp: return dy * y;
        case Unary::expm1: return dy * (y + 1);
        case Unary::log: return dy / x;
        case Unary::log1p: return dy / (1 + x);
        case Unary::sqrt: return dy / (2 * y);
        case Unary::rsqrt: return -0.5 * dy * (y * y * y);
        case Unary::square: return 2 * dy * x;
        case Unary::abs: return dy * sign(x);
        case Unary::sign: return T{0};
        case Unary::sin: return dy * cos(x);
        case Unary::cos: return -dy * sin(x);
        case Unary::tanh: return dy * (1 - y * y);
        case Unary::sigmoid: return dy * (y * (1 - y));
        case Unary::softplus: return dy * sigmoid(x);
        case Unary::erf: return dy * (2 * std::numbers::inv_sqrtpi * exp(-x * x));
        case Unary::scale: return first * dy;
        case Unary::power: return first == 0 ? T{0} : dy * (first * pow(x, first - 1));
        case Unary::clamp: return x >= first && x <= second ? dy : T{0};
    }
    return dy;
}

template <class T>
void unary_values(Unary function, const UnaryNumbers& numbers, const T* x, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = value(function, numbers, x[i]);
}
void unary_values(Unary function, const UnaryNumbers& numbers, const float* x, float* y, std::int64_t n) {
    by_level(v2::unary_values, v3::unary_values, v4::unary_values)(function, numbers, x, y, n);
}

template <class T>
void unary_gradients(Unary function, const UnaryNumbers& numbers, const T* dy, const T* saved, T* dx, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = slope(function, numbers, dy[i], saved[i]);
}
void unary_gradients(Unary function, const UnaryNumbers& numbers, const float* dy, const float* saved, float* dx,
                     std::int64_t n) {
    by_level(v2::unary_gradients, v3::unary_gradients, v4::unary_gradients)(function, numbers, dy, saved, dx, n);
}

// y[i] = function(a[i * step_a], b[i * step_b])
template <class T>
void binary_values(Binary function, const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = value(function, a[i * step_a], b[i * step_b]);
}
void binary_values(Binary function, const float* a, std::int64_t step_a, const float* b, std::int64_t step_b, float* y,
                   std::int64_t n) {
    by_level(v2::binary_values, v3::binary_values, v4::binary_values)(function, a, step_a, b, step_b, y, n);
}

template <class T>
void where_values(const std::uint8_t* condition, std::int64_t step, const T* a, std::int64_t step_a, const T* b,
                  std::int64_t step_b, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = condition[i * step] != 0 ? a[i * step_a] : b[i * step_b];
}
void where_values(const std::uint8_t* condition, std::int64_t step, const float* a, std::int64_t step_a, const float* b,
                  std::int64_t step_b, float* y, std::int64_t n) {
    by_level(v2::where_values, v3::where_values, v4::where_values)(condition, step, a, step_a, b, step_b, y, n);
}

// The work of an element: transcendental functions cost about ten times as much as a sum.
std::int64_t work_of(Binary function) {
    return function == Binary::pow || function == Binary::pow_base || function == Binary::pow_exponent ? 16 : 1;
}
std::int64_t work_of(Unary function) {
    switch (function) {
        case Unary::neg:
        case Unary::sqrt:
        case Unary::square:
        case Unary::abs:
        case Unary::sign:
        case Unary::scale:
        case Unary::clamp: return 1;
        case Unary::power: return 16;
        default: return 3;
    }
}

// ---- the loops

}  // namespace

Tensor binary(Binary function, const Tensor& a, const Tensor& b) {
    const char* op = name(function);
    check_defined(op, "a", a);
    check_dtype(op, "b", b, a.dtype());
    check_device(op, {{"a", a}, {"b", b}});
    const Shape shape = broadcast_shape(op, a.shape(), b.shape());
    const BroadcastWalk walk(shape, {a.shape(), b.shape()});
    Tensor y = Tensor::empty(shape, a.dtype(), a.device());
    if (y.device() == Device::cuda) {
        binary_cuda(function, a, b, walk, y);
        return y;
    }
    dispatch_real(op, a, [&]<class T>(TypeTag<T>) {
        const T* from_a = a.data<T>();
        const T* from_b = b.data<T>();
        T* to = y.mutable_data<T>();
        walk_pieces(walk, work_of(function), [&](const auto& at, std::int64_t first, std::int64_t n) {
            binary_values(function, from_a + at[0], walk.column_step(0), from_b + at[1], walk.column_step(1), to + first, n);
        });
    });
    return y;
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
        walk_pieces(walk, 1, [&](const auto& at, std::int64_t first, std::int64_t n) {
            where_values(choice + at[0], walk.column_step(0), from_a + at[1], walk.column_step(1), from_b + at[2],
                         walk.column_step(2), to + first, n);
        });
    });
    return y;
}

Tensor unary(Unary function, const Tensor& x, const UnaryNumbers& numbers) {
    const char* op = name(function);
    check_defined(op, "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        unary_cuda(function, numbers, x, y);
        return y;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(work_of(function)), [&](std::int64_t begin, std::int64_t end) {
            unary_values(function, numbers, from + begin, to + begin, end - begin);
        });
    });
    return y;
}

Saves saves(Unary function) {
    switch (function) {
        case Unary::neg:
        case Unary::sign:
        case Unary::scale: return Saves::nothing;
        case Unary::exp:
        case Unary::expm1:
        case Unary::sqrt:
        case Unary::rsqrt:
        case Unary::tanh:
        case Unary::sigmoid: return Saves::y;
        default: return Saves::x;
    }
}

Tensor unary_backward(Unary function, const Tensor& dy, const Tensor& saved, const UnaryNumbers& numbers) {
    const std::string op = std::string(name(function)) + "_backward";
    check_defined(op.c_str(), "dy", dy);
    const Tensor& other = saves(function) == Saves::nothing ? dy : saved;
    const char* argument = saves(function) == Saves::y ? "y" : "x";
    check_shape(op.c_str(), argument, other, dy.shape());
    check_dtype(op.c_str(), argument, other, dy.dtype());
    check_device(op.c_str(), {{"dy", dy}, {argument, other}});
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {
        unary_backward_cuda(function, numbers, dy, other, dx);
        return dx;
    }
    dispatch_real(op.c_str(), dy, [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = other.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(dy.numel(), grain_for(work_of(function)), [&](std::int64_t begin, std::int64_t end) {
            unary_gradients(function, numbers, gradient + begin, from + begin, to + begin, end - begin);
        });
    });
    return dx;
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
        parallel_for(target.numel(), grain_for(1), [&](std::int64_t begin, std::int64_t end) {
            binary_values(Binary::add, to + begin, 1, from + begin, 1, to + begin, end - begin);
        });
    });
}

}  // namespace heddle::kernels
