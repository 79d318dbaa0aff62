#include "kernels/gradient_norm/gradient_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

std::int64_t blocks_of(const Span& range) { return (range.length + kNormBlock - 1) / kNormBlock; }

// The sum of squares of n elements: sixteen sums side by side, which the compiler keeps in vectors, then folded.
template <class T>
double squares(const T* g, std::int64_t n) {
    constexpr std::int64_t kSums = 16;
    double sums[kSums] = {};
    std::int64_t i = 0;
    for (; i + kSums <= n; i += kSums)
        for (std::int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(g[i + k]) * static_cast<double>(g[i + k]);
    for (; i < n; ++i) sums[i % kSums] += static_cast<double>(g[i]) * static_cast<double>(g[i]);
    for (std::int64_t half = kSums / 2; half > 0; half /= 2)
        for (std::int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0];
}

void check_gradients(const Tensor& gradients, const Spans& active) {
    check_rank("gradient_norm", "gradients", gradients, 1);
    check_defined("gradient_norm", "gradients", gradients);
    check(active.rows() == gradients.numel(), "gradient_norm: the active ranges are those of {} elements, but gradients has {}",
          active.rows(), gradients.numel());
}

}  // namespace

std::vector<double> gradient_squares(const Tensor& gradients, const Spans& active) {
    check_gradients(gradients, active);
    check_device("gradient_squares", "gradients", gradients, Device::cpu);
    std::int64_t blocks = 0;
    for (const Span& range : active) blocks += blocks_of(range);
    std::vector<double> sums(static_cast<std::size_t>(blocks));
    dispatch_float("gradient_norm", gradients, [&]<class T>(TypeTag<T>) {
        double* to = sums.data();
        for (const Span& range : active) {
            const T* const g = gradients.data<T>() + range.start;
            parallel_for(range.length, kNormBlock,
                         [&](std::int64_t begin, std::int64_t end) { to[begin / kNormBlock] = squares(g + begin, end - begin); });
            to += blocks_of(range);
        }
    });
    return sums;
}

double norm_of_squares(std::span<const double> squares, const Spans& active) {
    double total = 0;
    std::size_t at = 0;
    for (const Span& range : active) {
        const auto blocks = static_cast<std::size_t>(blocks_of(range));
        check(at + blocks <= squares.size(), "gradient_norm: {} sums of squares are fewer than there are blocks", squares.size());
        double of_range = 0;
        for (const double block : squares.subspan(at, blocks)) of_range += block;
        total += of_range;
        at += blocks;
    }
    check(at == squares.size(), "gradient_norm: {} sums of squares, but {} blocks", squares.size(), at);
    return std::sqrt(total);
}

double gradient_norm(const Tensor& gradients, const Spans& active) {
    check_gradients(gradients, active);
    if (gradients.device() == Device::cuda) return measure_gradients(gradients, active, 0).to_vector().front();
    return norm_of_squares(gradient_squares(gradients, active), active);
}

double gradient_norm(const Tensor& gradients) {
    check_defined("gradient_norm", "gradients", gradients);
    return gradient_norm(gradients, Spans({{0, gradients.numel()}}, gradients.numel()));
}

Tensor measure_gradients(const Tensor& gradients, const Spans& active, double max_norm, double scale) {
    check_defined("measure_gradients", "gradients", gradients);
    check(active.rows() == gradients.numel(),
          "measure_gradients: the active ranges are those of {} elements, but gradients has {}", active.rows(),
          gradients.numel());
    if (gradients.device() == Device::cuda) {
        clip_factor(0, max_norm);  // for its check
        Tensor result = Tensor::empty({2}, DType::f64, Device::cuda);
        measure_gradients_cuda(gradients, active, max_norm, scale, result);
        return result;
    }
    const double norm = gradient_norm(gradients, active) * std::abs(scale);
    return Tensor::from(std::vector<double>{norm, scale * clip_factor(norm, max_norm)}, {2});
}

double clip_factor(double norm, double max_norm) {
    check(max_norm >= 0, "clip: the greatest norm is {}, wanted a positive one, or 0 for no clipping", max_norm);
    if (max_norm == 0) return 1;
    return std::min(1.0, max_norm / (norm + 1e-6));
}

void scale_gradients(Tensor& gradients, double factor, Where where) {
    check_defined("scale_gradients", "gradients", gradients);
    if (gradients.device() == Device::cuda) {
        scale_gradients_cuda(gradients, factor);
        gradients.bump_version(where);
        return;
    }
    dispatch_float("scale_gradients", gradients, [&]<class T>(TypeTag<T>) {
        T* g = gradients.mutable_data<T>();
        parallel_for(gradients.numel(), kNormBlock, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) g[i] *= static_cast<T>(factor);
        });
    });
    gradients.bump_version(where);
}

}  // namespace heddle::kernels
