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
T gelu(T x, bool tanh_form) {
    using std::erfc;
    return tanh_form ? x * gate(x) : 0.5 * x * erfc(-x / std::numbers::sqrt2);
}

template <class T>
T gelu_slope(T x, bool tanh_form) {
    using std::erfc, std::exp;
    if (!tanh_form) return 0.5 * erfc(-x / std::numbers::sqrt2) + x * exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    const T s = gate(x);
    return s + x * s * (1 - s) * 2 * kSlope * (1 + 3 * kCubic * x * x);
}

template <class T>
T silu_slope(T x) {
    const T s = logistic_of_minus(T(-x));
    return s + x * s * (1 - s);
}

// The references, for f64 and dual numbers.
template <class T>
void gelu_values(const T* x, T* y, std::int64_t n, bool tanh_form) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = gelu(x[i], tanh_form);
}

template <class T>
void gelu_gradients(const T* dy, const T* x, T* dx, std::int64_t n, bool tanh_form) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gelu_slope(x[i], tanh_form);
}

template <class T>
void silu_values(const T* x, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * logistic_of_minus(T(-x[i]));
}

template <class T>
void silu_gradients(const T* dy, const T* x, T* dx, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * silu_slope(x[i]);
}

void gelu_values(const float* x, float* y, std::int64_t n, bool tanh_form) {
    by_level(v2::gelu_values, v3::gelu_values, v4::gelu_values)(x, y, n, tanh_form);
}

void gelu_gradients(const float* dy, const float* x, float* dx, std::int64_t n, bool tanh_form) {
    by_level(v2::gelu_gradients, v3::gelu_gradients, v4::gelu_gradients)(dy, x, dx, n, tanh_form);
}

void silu_values(const float* x, float* y, std::int64_t n) {
    by_level(v2::silu_values, v3::silu_values, v4::silu_values)(x, y, n);
}

void silu_gradients(const float* dy, const float* x, float* dx, std::int64_t n) {
    by_level(v2::silu_gradients, v3::silu_gradients, v4::silu_gradients)(dy, x, dx, n);
}

void check_pair(const char* op, const Tensor& dy, const char* argument, const Tensor& other) {
    check_defined(op, "dy", dy);
    check_shape(op, argument, other, dy.shape());
    check_dtype(op, argument, other, dy.dtype());
    check_device(op, {{"dy", dy}, {argument, other}});
}

}  // namespace

Tensor relu_forward(const Tensor& x) {
    check_defined("relu", "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        relu_forward_cuda(x, y);
        return y;
    }
    dispatch_real("relu", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = from[i] < 0 ? T{0} : from[i];
        });
    });
    return y;
}

Tensor relu_backward(const Tensor& dy, const Tensor& y) {
    check_pair("relu_backward", dy, "y", y);
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {
        relu_backward_cuda(dy, y, dx);
        return dx;
    }
    dispatch_real("relu_backward", dy, [&]<class T>(TypeTag<T>) {
        const T* gradient = dy.data<T>();
        const T* at = y.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(dy.numel(), grain_for(1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T passed = gradient[i];  // read whether it is wanted or not: only so the compiler makes vectors
                to[i] = at[i] <= 0 ? T{0} : passed;
            }
        });
    });
    return dx;
}

Tensor gelu_forward(const Tensor& x, bool tanh_form) {
    check_defined("gelu", "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        gelu_forward_cuda(x, tanh_form, y);
        return y;
    }
    dispatch_real("gelu", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(8), [&](std::int64_t begin, std::int64_t end) {
            gelu_values(from + begin, to + begin, end - begin, tanh_form);
        });
    });
    return y;
}

Tensor gelu_backward(const Tensor& dy, const Tensor& x, bool tanh_form) {
    check_pair("gelu_backward", dy, "x", x);
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {
        gelu_backward_cuda(dy, x, tanh_form, dx);
        return dx;
    }
    dispatch_real("gelu_backward", dy, [&]<class T>(TypeTag<T>) {
        const T* gradient = dy.data<T>();
        const T* at = x.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(dy.numel(), grain_for(8), [&](std::int64_t begin, std::int64_t end) {
            gelu_gradients(gradient + begin, at + begin, to + begin, end - begin, tanh_form);
        });
    });
    return dx;
}

Tensor silu_forward(const Tensor& x) {
    check_defined("silu", "x", x);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        silu_forward_cuda(x, y);
        return y;
    }
    dispatch_real("silu", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.numel(), grain_for(8),
                     [&](std::int64_t begin, std::int64_t end) { silu_values(from + begin, to + begin, end - begin); });
    });
    return y;
}

Tensor silu_backward(const Tensor& dy, const Tensor& x) {
    check_pair("silu_backward", dy, "x", x);
    Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {
        silu_backward_cuda(dy, x, dx);
        return dx;
    }
    dispatch_real("silu_backward", dy, [&]<class T>(TypeTag<T>) {
        const T* gradient = dy.data<T>();
        const T* at = x.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(dy.numel(), grain_for(8), [&](std::int64_t begin, std::int64_t end) {
            silu_gradients(gradient + begin, at + begin, to + begin, end - begin);
        });
    });
    return dx;
}

Tensor activation_forward(const Tensor& x, Activation activation) {
    if (activation == Activation::relu) return relu_forward(x);
    return activation == Activation::silu ? silu_forward(x) : gelu_forward(x, activation == Activation::gelu_tanh);
}

Tensor activation_backward(const Tensor& dy, const Tensor& saved, Activation activation) {
    if (activation == Activation::relu) return relu_backward(dy, saved);
    return activation == Activation::silu ? silu_backward(dy, saved)
                                          : gelu_backward(dy, saved, activation == Activation::gelu_tanh);
}

}  // namespace heddle::kernels
