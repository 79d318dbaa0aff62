#include "kernels/activation/activation_simd.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using namespace ::heddle::HEDDLE_LEVEL;  // NOLINT: the vectors of this level

namespace {

// Calls use(j, factors) for each vector of a row, from column j on; `factors` are the dropout's, or null without dropout.
template <class Use>
void each_vector(const Dropout& dropout, std::int64_t row, std::int64_t cols, Use use) {
    const auto low = static_cast<std::uint32_t>(row), high = static_cast<std::uint32_t>(row >> 32);
    VecF factors[4];
    for (std::int64_t start = 0; start < cols; start += kDropoutBlock) {
        if (dropout.active()) dropout_block(dropout, start, low, high, 0, factors);
        for (int i = 0; i < 4 && start + i * kFloats < cols; ++i)
            use(start + i * kFloats, dropout.active() ? &factors[i] : nullptr);
    }
}

template <class Function>
void values(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols, const Dropout& dropout,
            Function function) {
    for (std::int64_t i = 0; i < rows; ++i)
        each_vector(dropout, first_row + i, cols, [&](std::int64_t j, const VecF* factor) {
            const VecF value = function(load_at(u + i * cols, j, cols));
            store_at(h + i * cols, j, cols, factor != nullptr ? value * *factor : value);
        });
}

// Each sum and product as the ops one after another have it: the order decides the bits.
template <class Function>
void gradients(float* dh, const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols,
               const Dropout& dropout, float* column_sums, Function function) {
    for (std::int64_t i = 0; i < rows; ++i)
        each_vector(dropout, first_row + i, cols, [&](std::int64_t j, const VecF* factor) {
            const ValueAndSlope at = function(load_at(u + i * cols, j, cols));
            VecF value = at.value, gradient = load_at(dh + i * cols, j, cols);
            if (factor != nullptr) {
                value = value * *factor;
                gradient = gradient * *factor;
            }
            gradient = gradient * at.slope;
            if (h != nullptr) store_at(h + i * cols, j, cols, value);
            store_at(dh + i * cols, j, cols, gradient);
            store_at(column_sums, j, cols, load_at(column_sums, j, cols) + gradient);
        });
}

}  // namespace

void smooth_dropout(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols, Activation activation,
                    const Dropout& dropout) {
    if (activation == Activation::silu)
        values(u, h, first_row, rows, cols, dropout, [](VecF x) { return silu(x); });
    else if (activation == Activation::gelu_tanh)
        values(u, h, first_row, rows, cols, dropout, [](VecF x) { return gelu_tanh(x); });
    else
        values(u, h, first_row, rows, cols, dropout, [](VecF x) { return gelu(x); });
}

void smooth_dropout_gradient(float* dh, const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                             Activation activation, const Dropout& dropout, float* column_sums) {
    if (activation == Activation::silu)
        gradients(dh, u, h, first_row, rows, cols, dropout, column_sums, [](VecF x) { return silu_and_slope(x); });
    else if (activation == Activation::gelu_tanh)
        gradients(dh, u, h, first_row, rows, cols, dropout, column_sums, [](VecF x) { return gelu_tanh_and_slope(x); });
    else
        gradients(dh, u, h, first_row, rows, cols, dropout, column_sums, [](VecF x) { return gelu_and_slope(x); });
}

void relu_dropout_gradient(float* dh, const float* h, std::int64_t rows, std::int64_t cols, float scale, float* column_sums) {
    for (std::int64_t j = 0; j < cols; j += kFloats) {
        VecF sums = {};
        for (std::int64_t i = 0; i < rows; ++i) {
            const VecF value = load_at(h + i * cols, j, cols);
            const VecF gradient = value <= 0.0f ? VecF{} : load_at(dh + i * cols, j, cols) * scale;  // a NaN lets it through
            store_at(dh + i * cols, j, cols, gradient);
            sums += gradient;
        }
        if (column_sums != nullptr) store_at(column_sums, j, cols, load_at(column_sums, j, cols) + sums);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
