#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// The reference: x, y [cols]; mask, bias [cols] or null. Columns from `end` on are ignored. Without a bias and with scale 1 a
// score is x itself, to the bit.
template <class T>
void softmax_row(const T* x, const std::uint8_t* mask, double scale_of_x, const T* bias, T* y, std::int64_t end,
                 std::int64_t cols) {
    using std::exp, std::isinf;
    const auto attends = [mask](std::int64_t j) { return mask == nullptr || mask[j] != 0; };
    const auto score = [=](std::int64_t j) {
        using A = Accumulator<T>;
        return static_cast<T>(scale_of_x * A(x[j]) + (bias == nullptr ? A(0) : A(bias[j])));
    };
    std::fill(y + end, y + cols, T{0});
    T shift = -std::numeric_limits<T>::infinity();
    for (std::int64_t j = 0; j < end; ++j)
        if (attends(j) && score(j) > shift) shift = score(j);
    if (isinf(shift) && shift < 0) shift = 0;  // nothing attends: every exponential below is 0, or a NaN that must be seen
    Accumulator<T> total = 0;
    for (std::int64_t j = 0; j < end; ++j) {
        y[j] = attends(j) ? exp(score(j) - shift) : T{0};
        total += Accumulator<T>(y[j]);
    }
    if (total == 0) return;
    const Accumulator<T> scale = 1 / total;
    for (std::int64_t j = 0; j < end; ++j)
        if (attends(j)) y[j] = static_cast<T>(Accumulator<T>(y[j]) * scale);
}

template <class T>
void softmax_backward_row(const T* dy, const T* y, double scale, T* dx, std::int64_t cols) {
    using A = Accumulator<T>;
    A along = 0;
    for (std::int64_t j = 0; j < cols; ++j) along += A(dy[j]) * A(y[j]);
    for (std::int64_t j = 0; j < cols; ++j) dx[j] = static_cast<T>(scale * (A(y[j]) * (A(dy[j]) - along)));
}

template <class T>
void forward_row(const T* x, const std::uint8_t* mask, double scale, const T* bias, T* y, std::int64_t end, std::int64_t cols) {
    softmax_row(x, mask, scale, bias, y, end, cols);
}

// What has no finite sum of exponentials is left to the reference.
void forward_row(const float* x, const std::uint8_t* mask, double scale, const float* bias, float* y, std::int64_t end,
                 std::int64_t cols) {
    if (!by_level(v2::softmax_row, v3::softmax_row, v4::softmax_row)(x, mask, static_cast<float>(scale), bias, y, end, cols))
        softmax_row(x, mask, scale, bias, y, end, cols);
}

template <class T>
void backward_rows(const T* dy, const T* y, double scale, T* dx, std::int64_t begin, std::int64_t end, std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row)
        softmax_backward_row(dy + row * cols, y + row * cols, scale, dx + row * cols, cols);
}

void backward_rows(const float* dy, const float* y, double scale, float* dx, std::int64_t begin, std::int64_t end,
                   std::int64_t cols) {
    by_level(v2::softmax_backward_rows, v3::softmax_backward_rows, v4::softmax_backward_rows)(dy, y, scale, dx, begin, end, cols);
}

// How many rows the mask has; row r of x takes row r modulo that number.
std::int64_t check_mask(const Tensor& x, const Tensor& mask) {
    if (!mask.defined()) return 1;
    check_dtype("softmax", "mask", mask, DType::u8);
    if (mask.shape() == x.shape()) return x.rows();
    check(x.rank() >= 2 && mask.shape() == Shape({x.dim(-2), x.dim(-1)}),
          "softmax: mask has shape {}, but x has shape {}; wanted the same shape or that of the last two axes", mask.shape(),
          x.shape());
    return x.dim(-2);
}

void check_bias(const Tensor& x, const Tensor& bias) {
    if (!bias.defined()) return;
    check_dtype("softmax", "bias", bias, x.dtype());
    bool fits = bias.rank() >= 1 && bias.rank() <= x.rank();
    for (int axis = 1; fits && axis <= bias.rank(); ++axis) fits = bias.dim(-axis) == x.dim(-axis);
    check(fits, "softmax: bias has shape {}, but x has shape {}; wanted the shape of its last axes", bias.shape(), x.shape());
}

void check_reach(const Tensor& x, const SoftmaxReach& reach) {
    check(x.rank() >= 2 || !(reach.causal || reach.lengths.defined()),
          "softmax: x has shape {}, wanted at least two axes for lengths or the causal rule", x.shape());
    if (!reach.lengths.defined()) return;
    check_dtype("softmax", "lengths", reach.lengths, DType::i32);
    check_shape("softmax", "lengths", reach.lengths, {x.dim(0)});
}

// How many columns of a row take part at most.
std::int64_t reach_of(const Tensor& x, const SoftmaxReach& reach, std::int64_t row) {
    std::int64_t end = x.cols();
    if (reach.lengths.defined())
        end = std::min<std::int64_t>(end, reach.lengths.data<std::int32_t>()[row / (x.rows() / x.dim(0))]);
    if (reach.causal) end = std::min(end, row % x.dim(-2) + x.cols() - x.dim(-2) + 1);
    return std::max<std::int64_t>(end, 0);
}

}  // namespace

Tensor softmax_forward(const Tensor& x, const Tensor& mask, const SoftmaxReach& reach, const SoftmaxScores& scores) {
    check_defined("softmax", "x", x);
    check(x.rank() >= 1, "softmax: x is a scalar, wanted at least one axis");
    const std::int64_t mask_rows = check_mask(x, mask);
    check_reach(x, reach);
    check_bias(x, scores.bias);
    check_device("softmax", {{"x", x}, {"mask", mask}, {"lengths", reach.lengths}, {"bias", scores.bias}});
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        softmax_forward_cuda(x, mask, reach, scores, y);
        return y;
    }
    const std::int64_t cols = x.cols();
    const std::uint8_t* allowed = mask.defined() ? mask.data<std::uint8_t>() : nullptr;
    dispatch_real("softmax", x, [&]<class T>(TypeTag<T>) {
        const T* bias = scores.bias.defined() ? scores.bias.data<T>() : nullptr;
        const std::int64_t bias_rows = bias == nullptr ? 1 : scores.bias.rows();
        parallel_for(x.rows(), grain_for(16 * cols), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                forward_row(x.data<T>() + row * cols, allowed ? allowed + row % mask_rows * cols : nullptr, scores.scale,
                            bias == nullptr ? nullptr : bias + row % bias_rows * cols, y.mutable_data<T>() + row * cols,
                            reach_of(x, reach, row), cols);
        });
    });
    return y;
}

Tensor softmax_backward(const Tensor& dy, const Tensor& y, double scale) {
    check_defined("softmax_backward", "y", y);
    check_shape("softmax_backward", "dy", dy, y.shape());
    check_dtype("softmax_backward", "dy", dy, y.dtype());
    check_device("softmax_backward", {{"y", y}, {"dy", dy}});
    Tensor dx = Tensor::empty(y.shape(), y.dtype(), y.device());
    if (y.device() == Device::cuda) {
        softmax_backward_cuda(dy, y, scale, dx);
        return dx;
    }
    const std::int64_t cols = y.cols();
    dispatch_real("softmax_backward", y, [&]<class T>(TypeTag<T>) {
        parallel_for(y.rows(), grain_for(4 * cols), [&](std::int64_t begin, std::int64_t end) {
            backward_rows(dy.data<T>(), y.data<T>(), scale, dx.mutable_data<T>(), begin, end, cols);
        });
    });
    return dx;
}

}  // namespace heddle::kernels
