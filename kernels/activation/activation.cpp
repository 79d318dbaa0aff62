#include "kernels/activation/activation.h"

#include <cmath>
#include <numbers>
#include <type_traits>

#include "core/check.h"
#include "core/dual.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// sqrt(2 / pi), and the paper's factor of the cube.
const double kSlope = std::sqrt(2 / std::numbers::pi);
constexpr double kCubic = 0.044715;

// The logistic function of -exponent, 1 / (1 + exp(exponent)).
template <class T>
T logistic_of_minus(T exponent) {
    using std::exp;
    // If the exponential overflows, the derivative of this quotient would be infinity over infinity.
    if constexpr (std::is_same_v<T, Dual>)
        if (exponent > 0) {
            const Dual e = exp(-exponent);
            return e / (1 + e);
        }
    return 1 / (1 + exp(exponent));
}

// (1 + tanh u) / 2 as 1 / (1 + exp(-2 u)): the sum would lose its digits where tanh comes near to -1.
template <class T>
T gate(T x) {
    return logistic_of_minus(T(-2 * kSlope * (x + kCubic * x * x * x)));
}

template <class T>
T smooth(T x, Activation f) {
    using std::erfc;
    if (f == Activation::silu) return x * logistic_of_minus(T(-x));
    return f == Activation::gelu_tanh ? x * gate(x) : 0.5 * x * erfc(-x / std::numbers::sqrt2);
}

template <class T>
T smooth_slope(T x, Activation f) {
    using std::erfc, std::exp;
    if (f == Activation::gelu)
        return 0.5 * erfc(-x / std::numbers::sqrt2) + x * exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    if (f == Activation::silu) {
        const T s = logistic_of_minus(T(-x));
        return s + x * s * (1 - s);
    }
    const T s = gate(x);
    return s + x * s * (1 - s) * 2 * kSlope * (1 + 3 * kCubic * x * x);
}

// The references, for f64 and dual numbers.
template <class T>
void smooth_values(const T* x, T* y, std::int64_t n, Activation f) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = smooth(x[i], f);
}

template <class T>
void smooth_gradients(const T* dy, const T* x, T* dx, std::int64_t n, Activation f) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * smooth_slope(x[i], f);
}

void smooth_values(const float* x, float* y, std::int64_t n, Activation f) {
    by_level(v2::smooth_values, v3::smooth_values, v4::smooth_values)(x, y, n, f);
}

void smooth_gradients(const float* dy, const float* x, float* dx, std::int64_t n, Activation f) {
    by_level(v2::smooth_gradients, v3::smooth_gradients, v4::smooth_gradients)(dy, x, dx, n, f);
}

template <class T>
void relu_values(const T* x, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? T{0} : x[i];
}

template <class T>
void relu_gradients(const T* dy, const T* y, T* dx, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const T passed = dy[i];  // read whether it is wanted or not: only so the compiler makes vectors
        dx[i] = y[i] <= 0 ? T{0} : passed;
    }
}

}  // namespace

Tensor activation_forward(const Tensor& x, Activation f) {
    const bool relu = f == Activation::relu;
    const char* const op = relu ? "relu" : f == Activation::silu ? "silu" : "gelu";
    check_defined(op, "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        activation_forward_cuda(op, f, x, y);
        return y;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(relu ? 1 : 8), [&](std::int64_t begin, std::int64_t end) {
            if (relu)
                relu_values(from + begin, to + begin, end - begin);
            else
                smooth_values(from + begin, to + begin, end - begin, f);
        });
    });
    return y;
}

Tensor activation_backward(const Tensor& dy, const Tensor& saved, Activation f) {
    const bool relu = f == Activation::relu;
    const char* const op = relu ? "relu_backward" : f == Activation::silu ? "silu_backward" : "gelu_backward";
    const char* const argument = relu ? "y" : "x";
    check_defined(op, "dy", dy);
    check_shape(op, argument, saved, dy.shape());
    check_dtype(op, argument, saved, dy.dtype());
    check_device(op, {{"dy", dy}, {argument, saved}});
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {
        activation_backward_cuda(op, f, dy, saved, dx);
        return dx;
    }
    dispatch_real(op, dy, [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = saved.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(dy.numel(), grain_for(relu ? 1 : 8), [&](std::int64_t begin, std::int64_t end) {
            if (relu)
                relu_gradients(gradient + begin, from + begin, to + begin, end - begin);
            else
                smooth_gradients(gradient + begin, from + begin, to + begin, end - begin, f);
        });
    });
    return dx;
}

Tensor relu_forward(const Tensor& x) { return activation_forward(x, Activation::relu); }
Tensor relu_backward(const Tensor& dy, const Tensor& y) { return activation_backward(dy, y, Activation::relu); }
Tensor gelu_forward(const Tensor& x, bool tanh_form) {
    return activation_forward(x, tanh_form ? Activation::gelu_tanh : Activation::gelu);
}
Tensor gelu_backward(const Tensor& dy, const Tensor& x, bool tanh_form) {
    return activation_backward(dy, x, tanh_form ? Activation::gelu_tanh : Activation::gelu);
}
Tensor silu_forward(const Tensor& x) { return activation_forward(x, Activation::silu); }
Tensor silu_backward(const Tensor& dy, const Tensor& x) { return activation_backward(dy, x, Activation::silu); }

}  // namespace heddle::kernels
