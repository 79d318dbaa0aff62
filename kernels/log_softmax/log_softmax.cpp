#include "kernels/log_softmax/log_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// The references, for f64 and dual numbers.
template <class T>
void log_softmax_row(const T* x, T* y, std::int64_t cols) {
    using std::exp, std::isinf, std::log;
    using A = Accumulator<T>;
    A shift = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < cols; ++j) shift = std::max(shift, A(x[j]));
    if (isinf(shift) && shift < 0) shift = 0;  // all -inf: x - shift stays -inf instead of NaN
    A total = 0;
    for (std::int64_t j = 0; j < cols; ++j) total += exp(A(x[j]) - shift);
    const A log_total = total == 0 ? A(0) : log(total);
    for (std::int64_t j = 0; j < cols; ++j) y[j] = static_cast<T>(A(x[j]) - shift - log_total);
}

template <class T>
void log_softmax_backward_row(const T* dy, const T* y, T* dx, std::int64_t cols) {
    using std::exp;
    using A = Accumulator<T>;
    A total = 0, mass = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
        total += A(dy[j]);
        mass += exp(A(y[j]));
    }
    for (std::int64_t j = 0; j < cols; ++j) dx[j] = mass == 0 ? T{0} : static_cast<T>(A(dy[j]) - exp(A(y[j])) * total);
}

template <class T>
void log_softmax_rows(const T* x, T* y, std::int64_t begin, std::int64_t end, std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row) log_softmax_row(x + row * cols, y + row * cols, cols);
}

template <class T>
void log_softmax_backward_rows(const T* dy, const T* y, T* dx, std::int64_t begin, std::int64_t end, std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row)
        log_softmax_backward_row(dy + row * cols, y + row * cols, dx + row * cols, cols);
}

void log_softmax_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols) {
    by_level(v2::log_softmax_rows, v3::log_softmax_rows, v4::log_softmax_rows)(x, y, begin, end, cols);
}

void log_softmax_backward_rows(const float* dy, const float* y, float* dx, std::int64_t begin, std::int64_t end,
                               std::int64_t cols) {
    by_level(v2::log_softmax_backward_rows, v3::log_softmax_backward_rows, v4::log_softmax_backward_rows)(dy, y, dx, begin, end,
                                                                                                          cols);
}

}  // namespace

Tensor log_softmax_forward(const Tensor& x) {
    check_defined("log_softmax", "x", x);
    check(x.rank() >= 1, "log_softmax: x is a scalar, wanted at least one axis");
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        log_softmax_forward_cuda(x, y);
        return y;
    }
    const std::int64_t cols = x.cols();
    dispatch_real("log_softmax", x, [&]<class T>(TypeTag<T>) {
        parallel_for(x.rows(), grain_for(16 * cols), [&](std::int64_t begin, std::int64_t end) {
            log_softmax_rows(x.data<T>(), y.mutable_data<T>(), begin, end, cols);
        });
    });
    return y;
}

Tensor log_softmax_backward(const Tensor& dy, const Tensor& y) {
    check_defined("log_softmax_backward", "y", y);
    check_shape("log_softmax_backward", "dy", dy, y.shape());
    check_dtype("log_softmax_backward", "dy", dy, y.dtype());
    check_device("log_softmax_backward", {{"y", y}, {"dy", dy}});
    Tensor dx = Tensor::empty(y.shape(), y.dtype(), y.device());
    if (y.device() == Device::cuda) {
        log_softmax_backward_cuda(dy, y, dx);
        return dx;
    }
    const std::int64_t cols = y.cols();
    dispatch_real("log_softmax_backward", y, [&]<class T>(TypeTag<T>) {
        parallel_for(y.rows(), grain_for(16 * cols), [&](std::int64_t begin, std::int64_t end) {
            log_softmax_backward_rows(dy.data<T>(), y.data<T>(), dx.mutable_data<T>(), begin, end, cols);
        });
    });
    return dx;
}

}  // namespace heddle::kernels
