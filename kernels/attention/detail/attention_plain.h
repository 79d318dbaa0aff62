// What the plain kernels share: attention.cu and attention_backward.cu. One shape of work serves all of their products.
//
// A block of 4 warps owns rows of one head (query rows, in dK and dV: key rows) and walks over tiles of the other side's rows, up
// to 32 at a time. A warp owns kRows of the block's rows. Its lanes stand for different things in turn:
//
// clang-format off
//     products   lane = row of the tile   s[r] = own row r . tile row lane    a lane reads its tile row, own rows are broadcast
//     updates    lane = column            sum[r][c] += w[r][j] tile[j][c]     the weights w are broadcast from shared memory
// clang-format on
//
// So no sum is ever taken across lanes except the softmax's maximum, and a weight changes hands once, through shared memory.
#pragma once

#include "kernels/attention/detail/attention_device.h"

namespace heddle::kernels {

/// The sizes for element type T and heads of up to D columns: they keep a block's tiles below 99 KB, which every chip since sm_80
/// has.
template <class T, int D>
struct PlainSizes {
    using A = device::Accumulator<T>;
    static constexpr int kBytes = D * static_cast<int>(sizeof(A));  // of a row
    static constexpr int kWarps = 4;
    static constexpr int kThreads = kWarps * device::kWarp;
    static constexpr int kVector = device::kVector<A>;
    /// From row to row in shared memory. 16 bytes more than the columns take: 8 lanes that read 16 bytes of 8 rows then meet all
    /// 32 banks.
    static constexpr int kPitch = D + kVector;
    static constexpr int kColumns = D / device::kWarp;  // of a lane
    static constexpr int kTile =
        kBytes <= 1024 ? 32 : 16;  // rows of the other side; with 16, half of the lanes stand idle in products
    static constexpr int kForwardRows = kBytes <= 512 ? 8 : 4096 / kBytes;  // of a warp
    static constexpr int kBackwardRows = kBytes <= 512 ? 4 : 2048 / kBytes;
};

/// Shared [Rows, kPitch] <- rows [row, row + Rows) of a head, as numbers to compute with. Rows r for which takes_part(r) is false
/// and columns from the width on become zeros and are not read: whatever they hold, even NaN, has no effect.
template <int N, int Rows, int D, class T, class TakesPart>
__device__ __forceinline__ void load_rows_by(device::Accumulator<T>* to, const DeviceRows<const T>& from, std::int64_t row,
                                             int head, const TakesPart& takes_part) {
    constexpr int kPitch = PlainSizes<T, D>::kPitch;
    for (int i = device::thread_in_block(); i < Rows * (D / N); i += PlainSizes<T, D>::kThreads) {
        const int r = i / (D / N), c = i % (D / N) * N;
        device::Vector<T, N> values = {};
        if (c < from.width && takes_part(r)) values = device::load_vector<N>(from.at(row + r, head) + c);
#pragma unroll
        for (int n = 0; n < N; ++n) to[r * kPitch + c + n] = device::load(values[n]);
    }
}
template <int Rows, int D, class T, class TakesPart>
__device__ __forceinline__ void load_rows(device::Accumulator<T>* to, const DeviceRows<const T>& from, std::int64_t row, int head,
                                          bool vectors, const TakesPart& takes_part) {
    if (vectors)
        load_rows_by<device::kVector<T>, Rows, D>(to, from, row, head, takes_part);
    else
        load_rows_by<1, Rows, D>(to, from, row, head, takes_part);
}

/// score[r] = own row r . tile row lane, for own [Rows, kPitch] and tile [kTile, kPitch]. Lanes without a row repeat another's.
template <class T, int D, int Rows>
__device__ __forceinline__ void products(device::Accumulator<T> (&score)[Rows], const device::Accumulator<T>* own,
                                         const device::Accumulator<T>* tile, int width) {
    using Sizes = PlainSizes<T, D>;
    constexpr int N = Sizes::kVector;
    const auto* const mine = tile + device::lane() % Sizes::kTile * Sizes::kPitch;
#pragma unroll
    for (int r = 0; r < Rows; ++r) score[r] = 0;
#pragma unroll 2
    for (int c = 0; c < width; c += N) {
        const auto b = device::load_vector<N>(mine + c);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const auto a = device::load_vector<N>(own + r * Sizes::kPitch + c);
#pragma unroll
            for (int n = 0; n < N; ++n) score[r] += a[n] * b[n];
        }
    }
}

/// sum[r][c] += sum over j of weights[r][j] tile[j][32 c + lane], for weights [Rows, 32] and tile [kTile, kPitch].
template <class T, int D, int Rows>
__device__ __forceinline__ void update(device::Accumulator<T> (&sum)[Rows][PlainSizes<T, D>::kColumns],
                                       const device::Accumulator<T>* weights, const device::Accumulator<T>* tile) {
    using Sizes = PlainSizes<T, D>;
    constexpr int N = Sizes::kVector;
#pragma unroll 2
    for (int j = 0; j < Sizes::kTile; j += N) {
        device::Vector<device::Accumulator<T>, N> w[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) w[r] = device::load_vector<N>(weights + r * device::kWarp + j);
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
            for (int c = 0; c < Sizes::kColumns; ++c) {
                const auto b = tile[(j + n) * Sizes::kPitch + c * device::kWarp + device::lane()];
#pragma unroll
                for (int r = 0; r < Rows; ++r) sum[r][c] += w[r][n] * b;
            }
    }
}

/// The saved log-sum-exp as the exponent of 2 that a score's is compared with.
template <class A>
__device__ __forceinline__ A in_twos(A log_sum) {
    return log_sum * static_cast<A>(kLog2E);
}

/// Writes `sum` times `factor`, a row a warp.
template <class T, int Columns>
__device__ __forceinline__ void write_row(T* to, const device::Accumulator<T> (&sum)[Columns], device::Accumulator<T> factor,
                                          int width) {
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
        const int column = c * device::kWarp + device::lane();
        if (column < width) to[column] = device::store<T>(sum[c] * factor);
    }
}

}  // namespace heddle::kernels
