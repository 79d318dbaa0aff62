// The middle of the gated feed-forward network for f32, a vector of units at a time.
#include "kernels/activation/activation_simd.h"
#include "kernels/feed_forward/gated_feed_forward.h"
#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using namespace ::heddle::HEDDLE_LEVEL;  // NOLINT: the vectors of this level

namespace {

// Calls use(row, j, factors) for each vector of h, from column j on; `factors` are the dropout's, or null without dropout.
template <class Use>
void each_unit(const Dropout& dropout, std::int64_t first_row, std::int64_t rows, std::int64_t d_ff, Use use) {
    VecF factors[4];
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto low = static_cast<std::uint32_t>(first_row + row), high = static_cast<std::uint32_t>((first_row + row) >> 32);
        for (std::int64_t start = 0; start < d_ff; start += kDropoutBlock) {
            if (dropout.active()) dropout_block(dropout, start, low, high, 0, factors);
            for (int i = 0; i < 4 && start + i * kFloats < d_ff; ++i)
                use(row, start + i * kFloats, dropout.active() ? &factors[i] : nullptr);
        }
    }
}

// Calls run(value, value_and_slope) with the functions of this activation.
template <class Run>
void with_gate(Activation gate, Run run) {
    switch (gate) {
        case Activation::relu:
            return run([](VecF x) { return x < 0.0f ? VecF{} : x; },  // a NaN stays
                       [](VecF x) {
                           return ValueAndSlope{x < 0.0f ? VecF{} : x, x <= 0.0f ? VecF{} : broadcast(1.0f)};
                       });
        case Activation::gelu: return run([](VecF x) { return gelu(x); }, [](VecF x) { return gelu_and_slope(x); });
        case Activation::gelu_tanh:
            return run([](VecF x) { return gelu_tanh(x); }, [](VecF x) { return gelu_tanh_and_slope(x); });
        case Activation::silu: break;
    }
    run([](VecF x) { return silu(x); }, [](VecF x) { return silu_and_slope(x); });
}

}  // namespace

void gate_rows(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t d_ff, Activation gate,
               const Dropout& dropout) {
    with_gate(gate, [&](auto value, auto) {
        each_unit(dropout, first_row, rows, d_ff, [&](std::int64_t row, std::int64_t j, const VecF* factor) {
            const float* const g = u + row * 2 * d_ff;
            VecF unit = value(load_at(g, j, d_ff)) * load_at(g + d_ff, j, d_ff);
            if (factor != nullptr) unit = unit * *factor;
            store_at(h + row * d_ff, j, d_ff, unit);
        });
    });
}

void gate_gradient_rows(const float* dh, const float* u, float* du, float* h, std::int64_t first_row, std::int64_t rows,
                        std::int64_t d_ff, Activation gate, const Dropout& dropout, float* column_sums) {
    const auto put = [&](float* to, float* sums, std::int64_t j, VecF gradient) {
        store_at(to, j, d_ff, gradient);
        store_at(sums, j, d_ff, load_at(sums, j, d_ff) + gradient);
    };
    with_gate(gate, [&](auto, auto value_and_slope) {
        each_unit(dropout, first_row, rows, d_ff, [&](std::int64_t row, std::int64_t j, const VecF* factor) {
            const float* const g = u + row * 2 * d_ff;
            const ValueAndSlope at = value_and_slope(load_at(g, j, d_ff));
            const VecF up = load_at(g + d_ff, j, d_ff);
            VecF gradient = load_at(dh + row * d_ff, j, d_ff);
            if (factor != nullptr) gradient = gradient * *factor;
            if (h != nullptr) {
                VecF unit = at.value * up;
                if (factor != nullptr) unit = unit * *factor;
                store_at(h + row * d_ff, j, d_ff, unit);
            }
            float* const to = du + row * 2 * d_ff;
            // Products of products, each rounded before the sum over the rows takes it: it is stored as well.
            put(to, column_sums, j, gradient * up * at.slope);
            put(to + d_ff, column_sums + d_ff, j, gradient * at.value);
        });
    });
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
