// layer_norm_rows.h for f32, a vector of columns at a time.
#include <cmath>
#include <vector>

#include "kernels/layer_norm/detail/layer_norm_rows.h"
#include "kernels/simd_rows.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

// The factors of one row's dropout, with the padding that dropout_factors asks for.
std::vector<float> factors_for(std::int64_t cols, bool wanted) {
    constexpr std::int64_t block = kDropoutBlock;
    return std::vector<float>(wanted ? static_cast<std::size_t>((cols + block - 1) / block * block) : 0);
}

void row_factors(const Dropout& dropout, std::int64_t row, std::int64_t cols, float* factors) {
    dropout_factors(dropout, cols, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), 0, factors);
}

// sum = x + dropout(sublayer), one multiply-add per element where the level has it, as in the residual op. A loop each: of a
// choice in one loop clang makes a product or none, and then one sum for both.
void add_residual(const float* x, const float* sublayer, float* sum, std::int64_t cols, const float* factors) {
    if (!factors) {
        for_vectors(cols, [=](auto at) { at.put(sum, at.take(x) + at.take(sublayer)); });
        return;
    }
    for_vectors(cols, [=](auto at) { at.put(sum, at.take(x) + at.take(sublayer) * load(factors + at.j)); });
}

// Two passes over a row in the first-level cache: a first mean, then the deviations from it. What rounding took from the first
// mean is the mean of the deviations; with it both statistics are as exact as double sums would make them. Float sums overflow
// for numbers above some 1e18; then the reference's double sums give the statistics. Not centred, the deviations are the numbers.
template <bool centred>
RowStatistics<float> row_statistics(const float* x, std::int64_t cols, double eps) {
    const auto n = static_cast<double>(cols);
    float end[kSumLanes];
    float first = 0;
    if constexpr (centred) {
        VecF total[kSumVectors]{};
        for (std::int64_t j = 0; j < cols; j += kSumLanes) {
            const float* const block = sum_block(x, j, cols, 0, end);
            for (int i = 0; i < kSumVectors; ++i) total[i] += load(block + i * kFloats);
        }
        first = static_cast<float>(static_cast<double>(sum(total)) / n);
    }
    VecF deviations[kSumVectors]{}, squares[kSumVectors]{};
    for (std::int64_t j = 0; j < cols; j += kSumLanes) {
        const float* const block = sum_block(x, j, cols, first, end);
        for (int i = 0; i < kSumVectors; ++i) {
            const VecF deviation = load(block + i * kFloats) - first;
            if constexpr (centred) deviations[i] += deviation;
            squares[i] += deviation * deviation;
        }
    }
    const double correction = static_cast<double>(sum(deviations)) / n;
    double variance = static_cast<double>(sum(squares)) / n - correction * correction;
    if (!std::isfinite(variance)) {
        const RowStatistics<double> exact = reference::row_statistics(x, cols, eps, centred);
        return {static_cast<float>(exact.mean), static_cast<float>(exact.rstd)};
    }
    if (variance < 0) variance = 0;
    return {static_cast<float>(static_cast<double>(first) + correction), static_cast<float>(1 / std::sqrt(variance + eps))};
}

// dgamma += dy * xhat and, of a centred row, dbeta += dy.
template <bool centred>
void add_affine_gradients(const float* dy, const float* x, std::int64_t cols, float mean, float rstd, float* dgamma,
                          float* dbeta) {
    for_vectors(cols, [=](auto at) {
        const VecF d = at.take(dy), xhat = (at.take(x) - mean) * rstd;
        at.put(dgamma, at.take(dgamma) + d * xhat);
        if constexpr (centred) at.put(dbeta, at.take(dbeta) + d);
    });
}

template <bool centred>
void forward_rows(const LayerNormArrays<float>& a, std::int64_t begin, std::int64_t end) {
    const bool dropping = a.sublayer && a.dropout.active();
    std::vector<float> buffer = factors_for(a.cols, dropping);
    float* factors = dropping ? buffer.data() : nullptr;
    for (std::int64_t row = begin; row < end; ++row) {
        const float* x = a.x + row * a.cols;
        if (a.sublayer) {
            if (factors) row_factors(a.dropout, row, a.cols, factors);
            add_residual(x, a.sublayer + row * a.cols, a.sum + row * a.cols, a.cols, factors);
            x = a.sum + row * a.cols;
        }
        const RowStatistics<float> statistics = row_statistics<centred>(x, a.cols, a.eps);
        if constexpr (centred) a.mean[row] = statistics.mean;
        a.rstd[row] = statistics.rstd;
        for_vectors(a.cols, [&, mean = statistics.mean, rstd = statistics.rstd, y = a.y + row * a.cols](auto at) {
            const VecF scaled = (at.take(x) - mean) * rstd * at.take(a.gamma);
            if constexpr (centred)
                at.put(y, scaled + at.take(a.beta));
            else
                at.put(y, scaled);
        });
    }
}

template <bool centred>
void backward_rows(const LayerNormBackwardArrays<float>& a, std::int64_t begin, std::int64_t end, float* d_affine) {
    const auto n = static_cast<float>(a.cols);
    std::vector<float> buffer = factors_for(a.cols, a.d_sublayer != nullptr);
    float* factors = buffer.data();
    for (std::int64_t row = begin; row < end; ++row) {
        const float* dy = a.dy + row * a.cols;
        const float* x = a.x + row * a.cols;
        const float mean = centred ? a.mean[row] : 0, rstd = a.rstd[row];
        if (d_affine) add_affine_gradients<centred>(dy, x, a.cols, mean, rstd, d_affine, d_affine + a.cols);
        if (!a.dx) continue;
        if (a.d_sublayer) row_factors(a.dropout, row, a.cols, factors);
        VecF sum_g[kSumVectors]{}, sum_g_xhat[kSumVectors]{};
        float end[3][kSumLanes];
        for (std::int64_t j = 0; j < a.cols; j += kSumLanes) {
            const float* const dy_block = sum_block(dy, j, a.cols, 0, end[0]);
            const float* const x_block = sum_block(x, j, a.cols, 0, end[1]);
            const float* const gamma_block = sum_block(a.gamma, j, a.cols, 0, end[2]);
            for (int i = 0; i < kSumVectors; ++i) {
                const VecF xhat = (load(x_block + i * kFloats) - mean) * rstd;
                const VecF g = load(dy_block + i * kFloats) * load(gamma_block + i * kFloats);
                if constexpr (centred) sum_g[i] += g;
                sum_g_xhat[i] += g * xhat;
            }
        }
        const float mean_g = centred ? sum(sum_g) / n : 0, mean_g_xhat = sum(sum_g_xhat) / n;
        const float* d_sum = a.d_sum ? a.d_sum + row * a.cols : nullptr;
        for_vectors(a.cols, [&](auto at) {
            const VecF xhat = (at.take(x) - mean) * rstd, g = at.take(dy) * at.take(a.gamma);
            VecF total = rounded((g - mean_g - xhat * mean_g_xhat) * rstd);
            if (d_sum) total += at.take(d_sum);
            at.put(a.dx + row * a.cols, total);
            if (a.d_sublayer) at.put(a.d_sublayer + row * a.cols, total * load(factors + at.j));
        });
    }
}

}  // namespace

void layer_norm_rows(const LayerNormArrays<float>& a, std::int64_t begin, std::int64_t end) {
    a.mean ? forward_rows<true>(a, begin, end) : forward_rows<false>(a, begin, end);
}

void layer_norm_backward_rows(const LayerNormBackwardArrays<float>& a, std::int64_t begin, std::int64_t end, float* d_affine) {
    a.mean ? backward_rows<true>(a, begin, end, d_affine) : backward_rows<false>(a, begin, end, d_affine);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
