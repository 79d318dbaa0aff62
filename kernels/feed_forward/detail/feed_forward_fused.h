// Operations of tensor-core kernels on the accumulators of u and dh in registers: the activation, dropout and their derivative,
// and their output (feed_forward_fused.cu, feed_forward_fused_backward.cu, feed_forward_product.cu).
//
// A warp holds 16 rows of 8 J neighbouring units. A lane has pairs of neighbours: elements 2 r and 2 r + 1 of an accumulator are
// in its row r (mma.h).
#pragma once

#include "kernels/device/mma.h"
#include "kernels/device/random.h"
#include "kernels/device/vector.h"
#include "kernels/feed_forward/detail/feed_forward_device.h"

namespace heddle::kernels::fused {

/// Two neighbours of a row [cols], as far as they lie within it.
__device__ __forceinline__ void store_pair(bf16* row, std::int64_t col, std::int64_t cols, float left, float right) {
    using namespace device;
    if (cols % 2 == 0) {  // every row begins at a multiple of four bytes
        if (col < cols) store_vector(row + col, Vector<bf16, 2>{store<bf16>(left), store<bf16>(right)});
    } else {
        if (col < cols) row[col] = store<bf16>(left);
        if (col + 1 < cols) row[col + 1] = store<bf16>(right);
    }
}
/// Two neighbours of a row [cols]; 0 beyond it.
__device__ __forceinline__ void load_pair(float (&pair)[2], const bf16* row, std::int64_t col, std::int64_t cols) {
    using namespace device;
    if (cols % 2 == 0) {
        const auto both = col < cols ? load_vector<2>(row + col) : Vector<bf16, 2>{store<bf16>(0), store<bf16>(0)};
        pair[0] = load(both[0]);
        pair[1] = load(both[1]);
    } else {
        pair[0] = col < cols ? load(row[col]) : 0.0f;
        pair[1] = col + 1 < cols ? load(row[col + 1]) : 0.0f;
    }
}
/// Two neighbours of a bias [count], of any alignment; 0 without a bias and beyond it.
__device__ __forceinline__ void load_biases(float (&values)[2], const bf16* bias, std::int64_t at, std::int64_t count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) values[i] = bias != nullptr && at + i < count ? device::load(bias[at + i]) : 0.0f;
}

/// The dropout's decisions on a warp's 16 rows of `Groups` groups of eight units.
template <int Groups>
class TileDropout {
  public:
    static_assert(Groups % 4 == 0);
    /// `row` and `unit`: the first ones in the whole tensor. A group of eight units is one Philox call, and the accumulators of
    /// four lanes. Lane t of the four draws for groups t, t + 4, .. of both its rows; the others ask it.
    __device__ __forceinline__ TileDropout(const device::DropoutRule& rule, std::int64_t row, std::int64_t unit) {
#pragma unroll
        for (int part = 0; part < Groups / 4; ++part)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                drawn_[part][r] = device::kept_in_row(rule, row + device::Accumulator16x8::row(2 * r),
                                                      unit / 8 + 4 * part + device::lane() % 4);
    }
    /// Bit i: whether element i of this lane's pair in group j and row r is kept. All lanes of the warp.
    __device__ __forceinline__ unsigned kept(int j, int r) const {
        return __shfl_sync(device::kAllLanes, drawn_[j / 4][r], device::lane() / 4 * 4 + j % 4) >>
               device::Accumulator16x8::col(0);
    }

  private:
    unsigned drawn_[Groups / 4][2];
};

/// h = dropout(act(u)), and where it and u are written to.
struct ActivatedTiles {
    const bf16* b1;  ///< [d_ff] or null
    bf16 *u, *h;     ///< [rows, d_ff] or null
    std::int64_t rows, d_ff;
    Activation activation;
    device::DropoutRule dropout;
};

/// u without its bias, turned into h; `row` and `unit` are the first ones in the whole tensor.
template <int J>
__device__ __forceinline__ void activate_tile(device::Accumulator16x8 (&u)[J], const ActivatedTiles& to, std::int64_t row,
                                              std::int64_t unit) {
    using device::Accumulator16x8;
    const auto scale = static_cast<float>(to.dropout.scale);
    const TileDropout<J> dropout(to.dropout, row, unit);
#pragma unroll
    for (int j = 0; j < J; ++j) {
        const std::int64_t at = unit + 8 * j + Accumulator16x8::col(0);
        float bias[2];
        load_biases(bias, to.b1, at, to.d_ff);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const unsigned kept = dropout.kept(j, r);
            float of_u[2], h[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                of_u[i] = u[j][2 * r + i] + bias[i];
                h[i] = activated(of_u[i], to.activation) * (kept >> i & 1 ? scale : 0.0f);
                u[j][2 * r + i] = at + i < to.d_ff ? h[i] : 0.0f;  // beyond d_ff even an infinite x counts nothing
            }
            const std::int64_t at_row = row + Accumulator16x8::row(2 * r);
            if (at_row >= to.rows) continue;
            if (to.u != nullptr) store_pair(to.u + at_row * to.d_ff, at, to.d_ff, of_u[0], of_u[1]);
            if (to.h != nullptr) store_pair(to.h + at_row * to.d_ff, at, to.d_ff, h[0], h[1]);
        }
    }
}

/// du = dh * dropout factor * act'(u), and where it and h of a smooth act are written to.
struct DifferentiatedTiles {
    bf16 *du, *h;  ///< [rows, d_ff]; h may be null
    std::int64_t rows, d_ff;
    Activation activation;
    device::DropoutRule dropout;
};

/// dh turned into du; `row` and `unit` are the first ones in the whole tensor, hidden(pair, row, col) loads two neighbours of
/// what forward kept, counted from there. A NaN in h lets the gradient through, as in relu.
template <int J, class Hidden>
__device__ __forceinline__ void differentiate_tile(device::Accumulator16x8 (&dh)[J], const DifferentiatedTiles& to,
                                                   std::int64_t row, std::int64_t unit, Hidden hidden) {
    using device::Accumulator16x8;
    const auto scale = static_cast<float>(to.dropout.scale);
    const bool relu = to.activation == Activation::relu;
    device::DropoutRule rule = to.dropout;
    if (relu) rule.threshold = 0;  // h knows what was dropped
    const TileDropout<J> dropout(rule, row, unit);
#pragma unroll
    for (int j = 0; j < J; ++j) {
        const int col = 8 * j + Accumulator16x8::col(0);
        const std::int64_t at = unit + col;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const unsigned kept = dropout.kept(j, r);
            float from[2], du[2], h[2];
            hidden(from, Accumulator16x8::row(2 * r), col);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float factor = kept >> i & 1 ? scale : 0.0f;
                const float gradient = dh[j][2 * r + i] * factor;
                du[i] = !relu ? gradient * smooth_slope_of(from[i], to.activation) : from[i] <= 0 ? 0.0f : gradient;
                h[i] = to.h != nullptr ? activated(from[i], to.activation) * factor : 0.0f;
                dh[j][2 * r + i] = at + i < to.d_ff ? du[i] : 0.0f;  // beyond d_ff even an infinite dy counts nothing
            }
            const std::int64_t at_row = row + Accumulator16x8::row(2 * r);
            if (at_row >= to.rows) continue;
            store_pair(to.du + at_row * to.d_ff, at, to.d_ff, du[0], du[1]);
            if (to.h != nullptr) store_pair(to.h + at_row * to.d_ff, at, to.d_ff, h[0], h[1]);
        }
    }
}

}  // namespace heddle::kernels::fused
