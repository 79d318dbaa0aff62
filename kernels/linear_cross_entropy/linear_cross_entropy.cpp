#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/cross_entropy/cross_entropy_row.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/product.h"

namespace heddle::kernels {
namespace {

// Rows whose logits are in memory at a time: 4.6 MB for 6000 words in f32, a part of the last-level cache; fewer rows would visit
// dW more often.
constexpr std::int64_t kChunkRows = 192;

// Turns a chunk's logits into losses and, when wanted, dlogits. An ignored row's dlogits are zero.
template <class T>
void chunk_losses(T* logits, std::int64_t vocabulary, std::span<const std::int32_t> targets, const LossOptions& options,
                  double gradient_scale, bool want_gradient, std::vector<RowLossIn<Accumulator<T>>>& losses) {
    const auto rows = static_cast<std::int64_t>(targets.size());
    losses.assign(targets.size(), {0, 0, false});
    parallel_for(rows, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto at = static_cast<std::size_t>(i);
            T* row = logits + i * vocabulary;
            if (targets[at] == options.ignore) {
                if (want_gradient) std::fill_n(row, vocabulary, T(0));
                continue;
            }
            losses[at] = cross_entropy_row(row, vocabulary, targets[at], options.label_smoothing, gradient_scale,
                                           want_gradient ? row : nullptr);
        }
    });
}

// The device's side of the checks: targets that lie there are looked at by a kernel.
LinearCrossEntropyResult on_device(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                   const Tensor& targets, const LossOptions& options, const LinearCrossEntropyWants& wants) {
    const std::int64_t rows = x.rows(), vocabulary = weight.dim(0);
    if (targets.defined() && targets.device() == Device::cpu) {
        count_targets(op, targets, rows, vocabulary, options);
        return linear_cross_entropy_chunks(x, weight, bias, targets.to(Device::cuda), options, wants);
    }
    check_targets(op, targets, rows, options);
    return linear_cross_entropy_chunks(x, weight, bias, targets, options, wants);
}

}  // namespace

LinearCrossEntropyResult linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                                              const LossOptions& options, const LinearCrossEntropyWants& wants) {
    constexpr const char* op = "linear_cross_entropy";
    check_rank(op, "weight", weight, 2);
    check_rank(op, "x", x, 2);
    check_dtype(op, "x", x, weight.dtype());
    const std::int64_t rows = x.rows(), d_model = x.cols(), vocabulary = weight.dim(0);
    check_shape(op, "weight", weight, {vocabulary, d_model});
    check_device(op, {{"x", x}, {"weight", weight}, {"bias", bias}, {"divisor_in_memory", options.divisor_in_memory}});
    if (bias.defined()) check_shape(op, "bias", bias, {vocabulary});
    if (x.device() == Device::cuda) return on_device(op, x, weight, bias, targets, options, wants);
    LinearCrossEntropyResult result;
    LossStatistics statistics{.counted = count_targets(op, targets, rows, vocabulary, options)};
    const double divisor = loss_divisor(options, statistics.counted);
    const bool gradient = wants.x || wants.weight || wants.bias;
    if (wants.x) result.dx = Tensor::empty(x.shape(), x.dtype());
    if (wants.weight) result.dweight = Tensor::zeros(weight.shape(), x.dtype());
    if (wants.bias) result.dbias = Tensor::zeros({vocabulary}, x.dtype());

    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        // Panels of W for both products, packed once for all chunks.
        const Tensor forward = make_panels(whole<T>(weight).transposed(), d_model, vocabulary);
        const Tensor backward = wants.x ? make_panels(whole<T>(weight), vocabulary, d_model) : Tensor();
        Tensor logits = Tensor::empty({std::min(rows, kChunkRows), vocabulary}, x.dtype());
        const MatrixRef<T> chunk{logits.mutable_data<T>(), vocabulary, 1};
        const MatrixRef<const T> dlogits{chunk.data, vocabulary, 1};
        std::vector<RowLossIn<Accumulator<T>>> losses;
        Accumulator<T> total = 0;
        for (std::int64_t first = 0; first < rows; first += kChunkRows) {
            const std::int64_t count = std::min(kChunkRows, rows - first);
            const MatrixRef<const T> x_rows{x.data<T>() + first * d_model, d_model, 1};
            product<T>(count, vocabulary, d_model, x_rows, forward.data<T>(), chunk,
                       {.bias = bias.defined() ? bias.data<T>() : nullptr});
            chunk_losses<T>(
                chunk.data, vocabulary,
                targets.values<std::int32_t>().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), options,
                1 / divisor, gradient, losses);
            for (const auto& loss : losses) {
                total += loss.loss;
                statistics.nll += loss.nll;
                statistics.correct += loss.correct ? 1 : 0;
            }
            if (wants.x)
                product<T>(count, d_model, vocabulary, dlogits, backward.data<T>(),
                           {result.dx.mutable_data<T>() + first * d_model, d_model, 1});
            if (wants.weight)
                product<T>(vocabulary, d_model, count, dlogits.transposed(), x_rows,
                           {result.dweight.mutable_data<T>(), d_model, 1}, {.accumulate = true});
            if (wants.bias) linear_backward_bias(logits.slice(0, count), result.dbias);
        }
        statistics.loss = to_double(total);
        result.loss = Tensor::from(std::vector{static_cast<T>(total / divisor)}, {});
    });
    result.statistics = statistics_tensor(statistics);
    return result;
}

void linear_cross_entropy_backward(const Tensor& gradient, const Tensor& dloss, Tensor& target) {
    constexpr const char* op = "linear_cross_entropy_backward";
    check_shape(op, "dloss", dloss, {});
    check_shape(op, "gradient", gradient, target.shape());
    check_device(op, {{"target", target}, {"gradient", gradient}, {"dloss", dloss}});
    if (target.device() == Device::cuda) return add_scaled_cuda(gradient, dloss, target);
    check_dtype(op, "gradient", gradient, target.dtype());
    dispatch_real(op, target, [&]<class T>(TypeTag<T>) {
        T* to = target.mutable_data<T>();
        const T* from = gradient.data<T>();
        const T scale = *dloss.to(target.dtype()).data<T>();
        parallel_for(target.numel(), grain_for(1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] += scale * from[i];
        });
    });
}

}  // namespace heddle::kernels
