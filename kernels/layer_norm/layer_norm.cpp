#include "kernels/layer_norm/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/layer_norm/detail/layer_norm_rows.h"

namespace heddle::kernels {

// ---- the reference

namespace reference {

namespace {

template <class A>
struct Moments {
    A mean, variance;
};

// Mean and variance of the row times `factor`, in two passes; or 0 and the mean square.
template <class T>
Moments<Accumulator<T>> moments(const T* x, std::int64_t cols, double factor, bool centred) {
    using A = Accumulator<T>;
    const auto n = static_cast<double>(cols);
    A total = 0;
    for (std::int64_t j = 0; centred && j < cols; ++j) total += factor * A(x[j]);
    const A mean = total / n;
    A squares = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
        const A deviation = factor * A(x[j]) - mean;
        squares += deviation * deviation;
    }
    return {mean, squares / n};
}

}  // namespace

template <class T>
RowStatistics<Accumulator<T>> row_statistics(const T* x, std::int64_t cols, double eps, bool centred) {
    using std::isfinite;
    using std::sqrt;
    using A = Accumulator<T>;
    const auto [mean, variance] = moments(x, cols, 1, centred);
    if (isfinite(variance)) return {mean, 1 / sqrt(variance + eps)};
    // The squares of a row far above 1e150 overflow, perhaps its sum, too; an infinite variance would turn it into beta. A power
    // of two changes no digit of the row, and eps matters only if the true variance is 0.
    constexpr double factor = 0x1p-540;
    const auto [small_mean, small_variance] = moments(x, cols, factor, centred);
    return {small_mean / factor, 1 / std::max(sqrt(small_variance) / factor, A(std::sqrt(eps)))};  // a NaN stays
}

template <class T>
void layer_norm_rows(const LayerNormArrays<T>& a, std::int64_t begin, std::int64_t end) {
    using A = Accumulator<T>;
    const T scale = static_cast<T>(a.dropout.scale());
    for (std::int64_t row = begin; row < end; ++row) {
        const T* x = a.x + row * a.cols;
        if (a.sublayer) {
            const T* sublayer = a.sublayer + row * a.cols;
            T* sum = a.sum + row * a.cols;
            for (std::int64_t j = 0; j < a.cols; ++j) {
                const T dropped = sublayer[j] * (a.dropout.keeps_row(row, j) ? scale : T{0});  // a NaN stays
                sum[j] = x[j] + dropped;
            }
            x = sum;
        }
        const auto [mean, rstd] = row_statistics(x, a.cols, a.eps, a.mean != nullptr);
        T* y = a.y + row * a.cols;
        for (std::int64_t j = 0; j < a.cols; ++j) {
            y[j] = static_cast<T>((A(x[j]) - mean) * rstd) * a.gamma[j];
            if (a.beta) y[j] += a.beta[j];
        }
        if (a.mean) a.mean[row] = static_cast<T>(mean);
        a.rstd[row] = static_cast<T>(rstd);
    }
}

template <class T>
void layer_norm_backward_rows(const LayerNormBackwardArrays<T>& a, std::int64_t begin, std::int64_t end, T* d_affine) {
    const auto n = static_cast<double>(a.cols);
    const T scale = static_cast<T>(a.dropout.scale());
    for (std::int64_t row = begin; row < end; ++row) {
        const T* dy = a.dy + row * a.cols;
        const T* x = a.x + row * a.cols;
        const T mean = a.mean ? a.mean[row] : T{0};
        const T rstd = a.rstd[row];
        Accumulator<T> sum_g = 0, sum_g_xhat = 0;
        for (std::int64_t j = 0; j < a.cols; ++j) {
            const T xhat = (x[j] - mean) * rstd;
            const T g = a.gamma[j] * dy[j];
            sum_g += Accumulator<T>(g);
            sum_g_xhat += Accumulator<T>(g * xhat);
            if (d_affine) {
                d_affine[j] += dy[j] * xhat;
                d_affine[a.cols + j] += dy[j];
            }
        }
        if (!a.dx) continue;
        const T mean_g = a.mean ? static_cast<T>(sum_g / n) : T{0};
        const T mean_g_xhat = static_cast<T>(sum_g_xhat / n);
        for (std::int64_t j = 0; j < a.cols; ++j) {
            const std::int64_t at = row * a.cols + j;
            const T xhat = (x[j] - mean) * rstd;
            T total = rstd * (a.gamma[j] * dy[j] - mean_g - xhat * mean_g_xhat);
            if (a.d_sum) total += a.d_sum[at];
            a.dx[at] = total;
            if (a.d_sublayer) a.d_sublayer[at] = total * (a.dropout.keeps_row(row, j) ? scale : T{0});
        }
    }
}

template RowStatistics<double> row_statistics(const float*, std::int64_t, double, bool);
template void layer_norm_rows(const LayerNormArrays<float>&, std::int64_t, std::int64_t);
template void layer_norm_rows(const LayerNormArrays<double>&, std::int64_t, std::int64_t);
template void layer_norm_backward_rows(const LayerNormBackwardArrays<float>&, std::int64_t, std::int64_t, float*);
template void layer_norm_backward_rows(const LayerNormBackwardArrays<double>&, std::int64_t, std::int64_t, double*);

}  // namespace reference

namespace {

// One chunk of rows gives one partial sum of dgamma and dbeta; fixed, because its size decides the order of the additions.
constexpr std::int64_t kRowsPerChunk = 64;

void forward_rows(const LayerNormArrays<float>& a, std::int64_t begin, std::int64_t end) {
    by_level(v2::layer_norm_rows, v3::layer_norm_rows, v4::layer_norm_rows)(a, begin, end);
}
template <class T>
void forward_rows(const LayerNormArrays<T>& a, std::int64_t begin, std::int64_t end) {
    reference::layer_norm_rows(a, begin, end);
}
void backward_rows(const LayerNormBackwardArrays<float>& a, std::int64_t begin, std::int64_t end, float* d_affine) {
    by_level(v2::layer_norm_backward_rows, v3::layer_norm_backward_rows, v4::layer_norm_backward_rows)(a, begin, end, d_affine);
}
template <class T>
void backward_rows(const LayerNormBackwardArrays<T>& a, std::int64_t begin, std::int64_t end, T* d_affine) {
    reference::layer_norm_backward_rows(a, begin, end, d_affine);
}

template <class T>
const T* data_or_null(const Tensor& tensor) {
    return tensor.defined() ? tensor.data<T>() : nullptr;
}
template <class T>
T* mutable_data_or_null(Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data<T>() : nullptr;
}

void check_like(const char* op, const char* argument, const Tensor& tensor, const Tensor& x, const Shape& wanted) {
    check_shape(op, argument, tensor, wanted);
    check_dtype(op, argument, tensor, x.dtype());
}

void check_input(const char* op, const char* argument, const Tensor& x) {
    check_defined(op, argument, x);
    check(x.rank() >= 1 && x.cols() >= 1, "{}: {} has shape {}, wanted at least one column in the last axis", op, argument,
          x.shape());
}

DType statistics_dtype(const Tensor& x) { return x.dtype() == DType::bf16 ? DType::f32 : x.dtype(); }

enum class Norm { layer, rms };

LayerNormResult forward(const char* op, Norm norm, const Tensor& x, const Tensor& sublayer, const Tensor& gamma,
                        const Tensor& beta, double eps, const Dropout& dropout) {
    check_input(op, "x", x);
    if (sublayer.defined()) check_like(op, "sublayer", sublayer, x, x.shape());
    check_like(op, "gamma", gamma, x, {x.cols()});
    if (norm == Norm::layer) check_like(op, "beta", beta, x, {x.cols()});
    check_device(op, {{"x", x}, {"sublayer", sublayer}, {"gamma", gamma}, {"beta", beta}});
    check(eps > 0, "{}: eps is {}, wanted a positive number", op, eps);
    LayerNormResult result;
    if (sublayer.defined()) result.sum = Tensor::empty(x.shape(), x.dtype(), x.device());
    result.y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (norm == Norm::layer) result.mean = Tensor::empty({x.rows()}, statistics_dtype(x), x.device());
    result.rstd = Tensor::empty({x.rows()}, statistics_dtype(x), x.device());
    if (x.device() == Device::cuda) {
        layer_norm_forward_cuda(x, sublayer, gamma, beta, eps, dropout, result);
        return result;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        const LayerNormArrays<T> arrays{.x = x.data<T>(),
                                        .sublayer = data_or_null<T>(sublayer),
                                        .gamma = gamma.data<T>(),
                                        .beta = data_or_null<T>(beta),
                                        .sum = mutable_data_or_null<T>(result.sum),
                                        .y = result.y.mutable_data<T>(),
                                        .mean = mutable_data_or_null<T>(result.mean),
                                        .rstd = result.rstd.mutable_data<T>(),
                                        .cols = x.cols(),
                                        .eps = eps,
                                        .dropout = dropout};
        parallel_for(x.rows(), grain_for(2 * x.cols()),
                     [&](std::int64_t begin, std::int64_t end) { forward_rows(arrays, begin, end); });
    });
    return result;
}

// target += the sum over the chunks of partial [chunks, 2, cols], part 0 or 1 of each, in order.
template <class T>
void add_chunks(Tensor& target, const Tensor& partial, int part) {
    if (!target.defined()) return;
    const std::int64_t cols = target.numel();
    std::vector<Accumulator<T>> totals(static_cast<std::size_t>(cols), Accumulator<T>(0));
    for (std::int64_t chunk = 0; chunk < partial.dim(0); ++chunk) {
        const T* values = partial.data<T>() + (2 * chunk + part) * cols;
        for (std::int64_t j = 0; j < cols; ++j) totals[static_cast<std::size_t>(j)] += Accumulator<T>(values[j]);
    }
    T* to = target.mutable_data<T>();
    for (std::int64_t j = 0; j < cols; ++j) to[j] += static_cast<T>(totals[static_cast<std::size_t>(j)]);
}

// Sums over the rows may be kept in f32 beside bf16 rows.
void check_affine_gradient(const char* op, const char* argument, const Tensor& gradient, const Tensor& x) {
    if (!gradient.defined()) return;
    check_shape(op, argument, gradient, {x.cols()});
    check_dtype(op, argument, gradient, gradient.dtype() == DType::f32 ? statistics_dtype(x) : x.dtype());
}

void check_backward(const char* op, Norm norm, const char* x_name, const LayerNormBackwardTensors& t) {
    check_input(op, x_name, t.x);
    check_like(op, "gamma", t.gamma, t.x, {t.x.cols()});
    for (const auto& [argument, values] : {std::pair{"mean", &t.mean}, std::pair{"rstd", &t.rstd}}) {
        if (norm == Norm::rms && values == &t.mean) continue;
        check_shape(op, argument, *values, {t.x.rows()});
        check_dtype(op, argument, *values, statistics_dtype(t.x));
    }
    check_affine_gradient(op, "dgamma", t.dgamma, t.x);
    check_affine_gradient(op, "dbeta", t.dbeta, t.x);
}

void backward(const char* op, LayerNormBackwardTensors& t, const Dropout& dropout) {
    check_device(op, {{"x", t.x},
                      {"dy", t.dy},
                      {"d_sum", t.d_sum},
                      {"gamma", t.gamma},
                      {"mean", t.mean},
                      {"rstd", t.rstd},
                      {"dgamma", t.dgamma},
                      {"dbeta", t.dbeta}});
    if (t.x.device() == Device::cuda) return layer_norm_backward_cuda(t, dropout);
    const std::int64_t rows = t.x.rows(), cols = t.x.cols();
    const std::int64_t chunks = (rows + kRowsPerChunk - 1) / kRowsPerChunk;
    const bool affine = t.dgamma.defined() || t.dbeta.defined();
    dispatch_real(op, t.x, [&]<class T>(TypeTag<T>) {
        const LayerNormBackwardArrays<T> arrays{.dy = t.dy.data<T>(),
                                                .d_sum = data_or_null<T>(t.d_sum),
                                                .x = t.x.data<T>(),
                                                .gamma = t.gamma.data<T>(),
                                                .mean = data_or_null<T>(t.mean),
                                                .rstd = t.rstd.data<T>(),
                                                .dx = mutable_data_or_null<T>(t.dx),
                                                .d_sublayer = mutable_data_or_null<T>(t.d_sublayer),
                                                .cols = cols,
                                                .dropout = dropout};
        Tensor partial = affine ? Tensor::zeros({chunks, 2, cols}, t.x.dtype()) : Tensor();
        parallel_for(chunks, grain_for(4 * kRowsPerChunk * cols), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t chunk = begin; chunk < end; ++chunk)
                backward_rows(arrays, chunk * kRowsPerChunk, std::min(rows, (chunk + 1) * kRowsPerChunk),
                              affine ? partial.mutable_data<T>() + 2 * chunk * cols : nullptr);
        });
        if (!affine) return;
        add_chunks<T>(t.dgamma, partial, 0);
        add_chunks<T>(t.dbeta, partial, 1);
    });
}

Tensor backward(const char* op, Norm norm, const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                const Tensor& rstd, bool need_dx, Tensor dgamma, Tensor dbeta, const Tensor& sum) {
    check_defined(op, "x", x);
    const Tensor dx = sum.defined() ? sum : need_dx ? Tensor::empty(x.shape(), x.dtype(), x.device()) : Tensor();
    LayerNormBackwardTensors tensors{dy, sum, x, gamma, mean, rstd, dx, {}, std::move(dgamma), std::move(dbeta)};
    check_backward(op, norm, "x", tensors);
    if (sum.defined()) check_like(op, "the sum", sum, x, x.shape());
    check_like(op, "dy", dy, x, x.shape());
    backward(op, tensors, {});
    return dx;
}

ResidualLayerNormGradients residual_backward(const char* op, Norm norm, const Tensor& d_sum, const Tensor& d_normalised,
                                             const Tensor& sum, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                             const Dropout& dropout, bool need_sublayer, Tensor dgamma, Tensor dbeta) {
    check_defined(op, "sum", sum);
    const bool masked = need_sublayer && dropout.active();
    const Tensor dx = Tensor::empty(sum.shape(), sum.dtype(), sum.device());
    const Tensor d_sublayer = masked ? Tensor::empty(sum.shape(), sum.dtype(), sum.device()) : Tensor();
    LayerNormBackwardTensors tensors{d_normalised,      d_sum,           sum, gamma, mean, rstd, dx, d_sublayer,
                                     std::move(dgamma), std::move(dbeta)};
    check_backward(op, norm, "sum", tensors);
    check_like(op, "d_normalised", d_normalised, sum, sum.shape());
    if (d_sum.defined()) check_like(op, "d_sum", d_sum, sum, sum.shape());
    backward(op, tensors, dropout);
    return {dx, need_sublayer && !masked ? dx : d_sublayer};
}

}  // namespace

// ---- the ops

LayerNormResult layer_norm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
    return forward("layer_norm", Norm::layer, x, {}, gamma, beta, eps, {});
}

LayerNormResult rms_norm_forward(const Tensor& x, const Tensor& gamma, double eps) {
    return forward("rms_norm", Norm::rms, x, {}, gamma, {}, eps, {});
}

LayerNormResult residual_layer_norm_forward(const Tensor& x, const Tensor& sublayer, const Tensor& gamma, const Tensor& beta,
                                            double eps, const Dropout& dropout) {
    check_defined("residual_layer_norm", "sublayer", sublayer);
    return forward("residual_layer_norm", Norm::layer, x, sublayer, gamma, beta, eps, dropout);
}

LayerNormResult residual_rms_norm_forward(const Tensor& x, const Tensor& sublayer, const Tensor& gamma, double eps,
                                          const Dropout& dropout) {
    check_defined("residual_rms_norm", "sublayer", sublayer);
    return forward("residual_rms_norm", Norm::rms, x, sublayer, gamma, {}, eps, dropout);
}

Tensor layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                           bool need_dx, Tensor dgamma, Tensor dbeta, const Tensor& sum) {
    return backward("layer_norm_backward", Norm::layer, dy, x, gamma, mean, rstd, need_dx, std::move(dgamma), std::move(dbeta),
                    sum);
}

Tensor rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& rstd, bool need_dx, Tensor dgamma,
                         const Tensor& sum) {
    return backward("rms_norm_backward", Norm::rms, dy, x, gamma, {}, rstd, need_dx, std::move(dgamma), {}, sum);
}

ResidualLayerNormGradients residual_layer_norm_backward(const Tensor& d_sum, const Tensor& d_normalised, const Tensor& sum,
                                                        const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                                        const Dropout& dropout, bool need_sublayer, Tensor dgamma, Tensor dbeta) {
    return residual_backward("residual_layer_norm_backward", Norm::layer, d_sum, d_normalised, sum, gamma, mean, rstd, dropout,
                             need_sublayer, std::move(dgamma), std::move(dbeta));
}

ResidualLayerNormGradients residual_rms_norm_backward(const Tensor& d_sum, const Tensor& d_normalised, const Tensor& sum,
                                                      const Tensor& gamma, const Tensor& rstd, const Dropout& dropout,
                                                      bool need_sublayer, Tensor dgamma) {
    return residual_backward("residual_rms_norm_backward", Norm::rms, d_sum, d_normalised, sum, gamma, {}, rstd, dropout,
                             need_sublayer, std::move(dgamma), {});
}

}  // namespace heddle::kernels
