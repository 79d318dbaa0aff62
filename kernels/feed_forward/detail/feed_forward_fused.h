// Operations of tensor-core kernels on the accumulators of u and dh in registers: the activation, dropout and their derivative,
// and their output (feed_forward_fused.cu, feed_forward_fused_backward.cu, feed_forward_product.cu).
//
// A warp holds 16 rows of 8 J neighbouring units. A lane has pairs of neighbours: elements 2 r and 2 r + 1 of an accumulator are
// in its row r (mma.h). Memory wants eight neighbours of a lane: the four lanes that share a row exchange pairs (PairTile).
#pragma once

#include <type_traits>

#include "kernels/activation/activation_device.h"
#include "kernels/device/mma.h"
#include "kernels/device/random.h"
#include "kernels/device/vector.h"

namespace heddle::kernels::fused {

/// The lower or the upper number of a packed pair.
__device__ __forceinline__ bf16 half(std::uint32_t pair, int upper) {
    bf16 number;
    number.bits = static_cast<std::uint16_t>(pair >> 16 * upper);
    return number;
}

/// A warp's 16 rows of 32 units (four accumulators side by side) in bf16: this lane's pairs, [row r][group of eight units].
struct PairTile {
    std::uint32_t pairs[2][4];

    /// From the accumulators' layout, in which a lane has pair t = lane % 4 of all four groups, to whole groups, in which it has
    /// the four pairs of group t; and back. All lanes of the warp.
    __device__ __forceinline__ void exchange() {
        const bool odd = (device::lane() & 1) != 0, upper = (device::lane() & 2) != 0;
#pragma unroll
        for (auto& p : pairs) {
            swap(p[0], p[1], odd, 1);
            swap(p[2], p[3], odd, 1);
            swap(p[0], p[2], upper, 2);
            swap(p[1], p[3], upper, 2);
        }
    }

    /// To rows from `row` and units from `unit` on of a matrix [rows, cols]. `vectors`: rows begin at multiples of 16 bytes; then
    /// four lanes write 64 bytes of a row, whole sectors. All lanes; the pairs are in the accumulators' layout, and used up.
    __device__ __forceinline__ void store(bf16* matrix, std::int64_t row, std::int64_t unit, std::int64_t rows, std::int64_t cols,
                                          bool vectors) {
        if (vectors) exchange();
        unit += vectors ? 8 * (device::lane() % 4) : device::Accumulator16x8::col(0);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::int64_t at = row + device::Accumulator16x8::row(2 * r);
            if (at >= rows) continue;
            bf16* const to = matrix + at * cols + unit;
            if (vectors) {
                device::Vector<bf16, 8> group;
#pragma unroll
                for (int i = 0; i < 8; ++i) group[i] = half(pairs[r][i / 2], i % 2);
                if (unit < cols) device::store_vector_whole(to, group);
                continue;
            }
#pragma unroll
            for (int g = 0; g < 4; ++g)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    if (unit + 8 * g + i < cols) to[8 * g + i] = half(pairs[r][g], i);
        }
    }
    /// The same place's pairs in the accumulators' layout; zeros beyond the matrix. All lanes.
    static __device__ __forceinline__ PairTile load(const bf16* matrix, std::int64_t row, std::int64_t unit, std::int64_t rows,
                                                    std::int64_t cols, bool vectors) {
        PairTile tile{};
        unit += vectors ? 8 * (device::lane() % 4) : device::Accumulator16x8::col(0);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::int64_t at = row + device::Accumulator16x8::row(2 * r);
            if (at >= rows) continue;
            const bf16* const from = matrix + at * cols + unit;
            if (vectors) {
                if (unit >= cols) continue;
                const auto group = device::load_vector<8>(from);
#pragma unroll
                for (int i = 0; i < 4; ++i) tile.pairs[r][i] = device::pack(group[2 * i], group[2 * i + 1]);
                continue;
            }
#pragma unroll
            for (int g = 0; g < 4; ++g) {
                const std::int64_t col = unit + 8 * g;
                const bf16 zero = device::store<bf16>(0);
                tile.pairs[r][g] = device::pack(col < cols ? from[8 * g] : zero, col + 1 < cols ? from[8 * g + 1] : zero);
            }
        }
        if (vectors) tile.exchange();
        return tile;
    }

  private:
    // Lanes whose bit is set give their first number for the second one of the lane without it.
    static __device__ __forceinline__ void swap(std::uint32_t& first, std::uint32_t& second, bool set, int bit) {
        const std::uint32_t got = __shfl_xor_sync(device::kAllLanes, set ? first : second, bit);
        first = set ? got : first;
        second = set ? second : got;
    }
};

/// Two neighbours of a bias [count], of any alignment; 0 without a bias and beyond it.
__device__ __forceinline__ void load_biases(float (&values)[2], const bf16* bias, std::int64_t at, std::int64_t count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) values[i] = bias != nullptr && at + i < count ? device::load(bias[at + i]) : 0.0f;
}

/// Calls body(std::integral_constant<Activation, A>()) with this activation: code for one of them, without a jump for each
/// number.
template <class Body>
__device__ __forceinline__ void by_activation(Activation activation, const Body& body) {
    switch (activation) {
        case Activation::relu: return body(std::integral_constant<Activation, Activation::relu>());
        case Activation::gelu: return body(std::integral_constant<Activation, Activation::gelu>());
        case Activation::gelu_tanh: return body(std::integral_constant<Activation, Activation::gelu_tanh>());
        case Activation::silu: break;
    }
    body(std::integral_constant<Activation, Activation::silu>());
}

/// The dropout's decisions on a warp's 16 rows of eight groups of eight units, of which the first ones in the whole tensor are
/// `row` and `unit`: bit 4 j + e is that of this lane's element e in group j. A group of a row is one Philox call, and the
/// accumulators of four lanes: lane t of the four draws for groups t and t + 4 of both its rows, and the others ask it. All lanes
/// of the warp.
__device__ __forceinline__ unsigned kept_in_tile(const device::DropoutRule& rule, std::int64_t row, std::int64_t unit) {
    if (!rule.active()) return ~0U;
    unsigned kept = 0;
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const unsigned drawn =
                device::kept_in_row(rule, row + device::Accumulator16x8::row(2 * r), unit / 8 + 4 * part + device::lane() % 4);
#pragma unroll
            for (int g = 0; g < 4; ++g) {
                const unsigned group = __shfl_sync(device::kAllLanes, drawn, g, device::Accumulator16x8::kRowLanes);
                kept |= (group >> device::Accumulator16x8::col(0) & 3) << (4 * (4 * part + g) + 2 * r);
            }
        }
    return kept;
}

/// h = dropout(act(u)), and where it and u are written to.
struct ActivatedTiles {
    const bf16* b1;  ///< [d_ff] or null
    bf16 *u, *h;     ///< [rows, d_ff] or null
    std::int64_t rows, d_ff;
    bool vectors;  ///< whether their rows begin at multiples of 16 bytes
    Activation activation;
    device::DropoutRule dropout;
};

/// h from u without its bias, written and as the left operands of the next product; `row` and `unit` are the first ones in the
/// whole tensor. Zeros beyond d_ff: there even an infinite x counts nothing. Uses up u.
__device__ __forceinline__ void activate_tile(device::FragmentA (&operands)[4], device::Accumulator16x8 (&u)[8],
                                              const ActivatedTiles& to, std::int64_t row, std::int64_t unit) {
    const unsigned kept = kept_in_tile(to.dropout, row, unit);
    const auto scale = static_cast<float>(to.dropout.scale);
    const std::int64_t first = unit + device::Accumulator16x8::col(0);  // this lane's unit in group 0
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        PairTile of_u, of_h;
#pragma unroll
        for (int g = 0; g < 4; ++g) {
            const int j = 4 * part + g;
            float bias[2];
            load_biases(bias, to.b1, first + 8 * j, to.d_ff);
#pragma unroll
            for (int r = 0; r < 2; ++r) {
#pragma unroll
                for (int i = 0; i < 2; ++i) u[j][2 * r + i] += bias[i];
                of_u.pairs[r][g] = device::pack(u[j][2 * r], u[j][2 * r + 1]);
            }
            by_activation(to.activation, [&](auto act) {
#pragma unroll
                for (int e = 0; e < 4; ++e) u[j][e] = activated(u[j][e], act());
            });
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                u[j][e] *= kept >> (4 * j + e) & 1 ? scale : 0.0f;
                if (first + 8 * j + e % 2 >= to.d_ff) u[j][e] = 0;
            }
#pragma unroll
            for (int r = 0; r < 2; ++r)
                of_h.pairs[r][g] = operands[j / 2].a[j % 2 * 2 + r] = device::pack(u[j][2 * r], u[j][2 * r + 1]);
        }
        if (to.u != nullptr) of_u.store(to.u, row, unit + 32 * part, to.rows, to.d_ff, to.vectors);
        if (to.h != nullptr) of_h.store(to.h, row, unit + 32 * part, to.rows, to.d_ff, to.vectors);
    }
}

/// du = dh * dropout factor * act'(u), and where it and h of a smooth act are written to.
struct DifferentiatedTiles {
    const bf16* hidden;  ///< [rows, d_ff], what forward kept: h for ReLU, otherwise u
    bf16 *du, *h;        ///< [rows, d_ff]; h may be null
    std::int64_t rows, d_ff;
    bool vectors;  ///< whether their rows begin at multiples of 16 bytes
    Activation activation;
    device::DropoutRule dropout;
};

/// du from dh, written and as the left operands of the next product; `row` and `unit` are the first ones in the whole tensor. A
/// NaN in h lets the gradient through, as in relu. Zeros beyond d_ff: there even an infinite dy counts nothing. Uses up dh.
__device__ __forceinline__ void differentiate_tile(device::FragmentA (&operands)[4], device::Accumulator16x8 (&dh)[8],
                                                   const DifferentiatedTiles& to, std::int64_t row, std::int64_t unit) {
    PairTile hidden[2];  // and then h
#pragma unroll
    for (int part = 0; part < 2; ++part)
        hidden[part] = PairTile::load(to.hidden, row, unit + 32 * part, to.rows, to.d_ff, to.vectors);
    // After a ReLU h knows what was dropped.
    const unsigned kept = to.activation == Activation::relu ? ~0U : kept_in_tile(to.dropout, row, unit);
    const auto scale = static_cast<float>(to.dropout.scale);
#pragma unroll
    for (int j = 0; j < 8; ++j)
        by_activation(to.activation, [&](auto act) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                std::uint32_t& pair = hidden[j / 4].pairs[r][j % 4];
                float h[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const float from = device::load(half(pair, i));
                    const float factor = kept >> (4 * j + 2 * r + i) & 1 ? scale : 0.0f;
                    float& gradient = dh[j][2 * r + i];
                    gradient *= factor;
                    if constexpr (act() == Activation::relu)
                        gradient = from <= 0 ? 0.0f : gradient;
                    else
                        gradient *= smooth_slope_of(from, act());
                    h[i] = activated(from, act()) * factor;
                }
                pair = device::pack(h[0], h[1]);
            }
        });
    const std::int64_t left = to.d_ff - unit - device::Accumulator16x8::col(0);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        PairTile of_du;
#pragma unroll
        for (int g = 0; g < 4; ++g) {
            const int j = 4 * part + g;
#pragma unroll
            for (int e = 0; e < 4; ++e)
                if (8 * j + e % 2 >= left) dh[j][e] = 0;
#pragma unroll
            for (int r = 0; r < 2; ++r)
                of_du.pairs[r][g] = operands[j / 2].a[j % 2 * 2 + r] = device::pack(dh[j][2 * r], dh[j][2 * r + 1]);
        }
        of_du.store(to.du, row, unit + 32 * part, to.rows, to.d_ff, to.vectors);
        if (to.h != nullptr) hidden[part].store(to.h, row, unit + 32 * part, to.rows, to.d_ff, to.vectors);
    }
}

/// The warp's sums [16, 8 J] and a bias [cols] or null, to rows from `row` on of y [rows, cols].
template <int J>
__device__ __forceinline__ void write_sums(bf16* y, const device::Accumulator16x8 (&sums)[J], const bf16* bias, std::int64_t row,
                                           std::int64_t rows, std::int64_t cols, bool vectors) {
#pragma unroll
    for (int part = 0; part < J / 4; ++part) {
        PairTile tile;
#pragma unroll
        for (int g = 0; g < 4; ++g) {
            const int j = 4 * part + g;
            float added[2];
            load_biases(added, bias, 8 * j + device::Accumulator16x8::col(0), cols);
#pragma unroll
            for (int r = 0; r < 2; ++r) tile.pairs[r][g] = device::pack(sums[j][2 * r] + added[0], sums[j][2 * r + 1] + added[1]);
        }
        tile.store(y, row, 32 * part, rows, cols, vectors);
    }
}

}  // namespace heddle::kernels::fused
