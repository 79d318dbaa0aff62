// Shared by the tensor-core kernels: tiles of bf16 rows in shared memory, and the two products that all of attention is made of.
//
// A warp owns 16-row tiles of one side (queries; in dK and dV keys) and meets tiles of N rows of the other side:
//
// clang-format off
//     products   S [16, N]    = own [16, D] other^T [D, N]     rows as they lie in memory: other^T is the instruction's B
//     updates    sum [16, D] += W [16, N] other [N, D]         W is S after the softmax: an accumulator, packed into operands in
//                                                              registers
// clang-format on
//
// Shared memory is swizzled, so that ldmatrix reads rows and transposed rows without meeting in a bank:
// kernels/device/swizzle.h's pattern, but that rows of 128 stay whole, so that a tile may end after any row.
#pragma once

#include "kernels/attention/detail/attention_device.h"
#include "kernels/device/mma.h"
#include "kernels/device/pipeline.h"

namespace heddle::kernels {

using device::Accumulator16x8, device::FragmentA, device::FragmentB;

/// The swizzle of a row: its elements' places are combined with this number by exclusive or. It renumbers the pieces of 16 bytes,
/// eight to a line of 128, so that the same piece of eight rows lies in eight different banks. Two rows of 32 share a line.
template <int D>
__device__ __forceinline__ constexpr int tile_turn(int row) {
    return (D == 32 ? row / 2 : row) % 8 * 8;
}

/// The place, in elements, of (row, col) in a tile [rows, D] of bf16.
template <int D>
__device__ __forceinline__ constexpr int tile_place(int row, int col) {
    return (row * D + col) ^ tile_turn<D>(row);
}

/// The place of (row + rows, col + cols), given that of (row, col): with constants one XOR and one sum, which mostly is part of
/// an access. A lane works out one place and moves on from it. No bit that is set in row may be set in `rows`, none of col in
/// `cols`; `rows` is a multiple of 2.
template <int D>
__device__ __forceinline__ constexpr int moved_place(int place, int rows, int cols) {
    return (place ^ tile_turn<D>(rows) ^ cols % 64) + rows * D + cols / 64 * 64;
}

/// Begins to bring rows [row, row + count) of a head into the tile [Rows, D], `Threads` threads together. Rows r for which
/// takes_part(r) is false and columns from the width on become zeros and are not read. Asynchronous where 16-byte copies are
/// possible; where they are not, the elements come one by one, and are there at once. Either way other threads see them after
/// wait() and a barrier. Each thread has one column of pieces: from one to the next only the row changes, by a constant.
template <int D, int Rows, int Threads, class TakesPart>
__device__ __forceinline__ void begin_tile(bf16* tile, const DeviceRows<const bf16>& from, std::int64_t row, int head,
                                           bool vectors, int thread, const TakesPart& takes_part, int count = Rows) {
    constexpr int kPieces = D / 8;            // of a row, 16 bytes each
    constexpr int kStep = Threads / kPieces;  // rows that come at a time
    static_assert(Threads % kPieces == 0 && Rows % kStep == 0);
    const int first = thread / kPieces, c = thread % kPieces * 8;
    const int place = tile_place<D>(first, c);
    const bf16* source = from.at(row + first, head) + c;
    const std::int64_t step = kStep * from.pitch;
    if (vectors) {
        const bool inside = c < from.width;
#pragma unroll
        for (int n = 0; n < Rows / kStep; ++n) {
            const int r = first + n * kStep;
            if (r >= count) break;
            device::copy_async<16>(tile + moved_place<D>(place, n * kStep, 0), source, inside && takes_part(r) ? 16 : 0);
            source += step;
        }
        return;
    }
#pragma unroll 1
    for (int r = first; r < count; r += kStep) {
        device::Vector<bf16, 8> values = {};
        if (takes_part(r))
            for (int n = 0; n < 8 && c + n < from.width; ++n) values[n] = source[n];
        device::store_vector<8>(tile + tile_place<D>(r, c), values);
        source += step;
    }
}

/// Begins to copy a tile [Keys, D] of keys, or of their values, from `key` of the sentence on. Rows that nobody attends to are
/// zeros. Of a tile that is not needed as a whole only `count` rows come.
template <int D, int Keys, int Threads>
__device__ __forceinline__ void begin_keys(bf16* tile, const DeviceRows<const bf16>& from, const AttentionTask<bf16>& task,
                                           const AttentionPlace& at, int key, int thread, int count = Keys) {
    // Its head is worked out again for each tile: forward has no register left to keep it in.
    begin_tile<D, Keys, Threads>(
        tile, from, at.key_start + key, key_head_of(task, at.head), task.vectors, thread,
        [&](int r) { return key_takes_part(task, at, key + r); }, count);
}

/// The same for a tile of keys and that of their values.
template <int D, int Keys, int Threads>
__device__ __forceinline__ void begin_key_tiles(bf16* keys, bf16* values, const AttentionTask<bf16>& task,
                                                const AttentionPlace& at, int key, int thread, int count = Keys) {
    begin_keys<D, Keys, Threads>(keys, task.key, task, at, key, thread, count);
    begin_keys<D, Keys, Threads>(values, task.value, task, at, key, thread, count);
}

/// The warp's M x 16 own rows as left operands. The first 16 Held columns stay in registers, as many as there is room for; the
/// others are read from shared memory at each use.
template <int D, int Rows, int M, int Held>
struct OwnRows {
    const bf16* tile;  // [Rows, D]
    int place;         // of this lane's piece of the first left operand
    FragmentA held[Held > 0 ? Held : 1][M];

    /// `first`: the warp's first row in the tile, a multiple of 16.
    __device__ __forceinline__ OwnRows(const bf16* rows, int first)
        : tile(rows), place(tile_place<D>(first + device::lane() % 16, device::lane() / 16 * 8)) {}

    __device__ __forceinline__ void read(FragmentA& a, int k, int m) const {
        device::load_a(a, tile + moved_place<D>(place, 16 * m, 16 * k));
    }
    /// When the tile has come.
    __device__ __forceinline__ void hold() {
#pragma unroll
        for (int k = 0; k < Held; ++k)
#pragma unroll
            for (int m = 0; m < M; ++m) read(held[k][m], k, m);
    }
    __device__ __forceinline__ void get(FragmentA& a, int k, int m) const {
        if (k < Held)
            a = held[k][m];
        else
            read(a, k, m);
    }
};

/// score[m] [16, N] = own rows . rows of `other` [N, D]. Only the first `count` rows of it are there, a multiple of 16; further
/// scores are 0.
template <int D, int N, int M, int Rows, int Held>
__device__ __forceinline__ void products(Accumulator16x8 (&score)[M][N / 8], const OwnRows<D, Rows, M, Held>& own,
                                         const bf16* other, int count = N) {
    const int l = device::lane();
    const int place = tile_place<D>(l % 8 + l / 16 * 8, l / 8 % 2 * 8);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < N / 8; ++n) score[m][n] = {};
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
        FragmentA a[M];
#pragma unroll
        for (int m = 0; m < M; ++m) own.get(a[m], k, m);
#pragma unroll
        for (int n = 0; n < N / 16; ++n) {
            if (16 * n >= count) continue;
            FragmentB left, right;
            device::load_b_pair(left, right, other + moved_place<D>(place, 16 * n, 16 * k));
#pragma unroll
            for (int m = 0; m < M; ++m) {
                device::mma(score[m][2 * n], a[m], left);
                device::mma(score[m][2 * n + 1], a[m], right);
            }
        }
    }
}

/// Weights [16, N] as left operands, rounded to bf16: half the registers.
template <int N>
__device__ __forceinline__ void pack_weights(FragmentA (&packed)[N / 16], const Accumulator16x8 (&weights)[N / 8]) {
#pragma unroll
    for (int n = 0; n < N / 16; ++n) packed[n] = device::as_a(weights[2 * n], weights[2 * n + 1]);
}

/// sum[m] [16, D] += weights[m] [16, N] times `other` [N, D], of which the first `count` rows are there.
template <int D, int N, int M>
__device__ __forceinline__ void update(Accumulator16x8 (&sum)[M][D / 8], const FragmentA (&weights)[M][N / 16], const bf16* other,
                                       int count = N) {
    const int place = tile_place<D>(device::lane() % 16, device::lane() / 16 * 8);
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
        if (16 * n >= count) continue;
#pragma unroll
        for (int c = 0; c < D / 16; ++c) {
            FragmentB left, right;
            device::load_b_pair_transposed(left, right, other + moved_place<D>(place, 16 * n, 16 * c));
#pragma unroll
            for (int m = 0; m < M; ++m) {
                device::mma(sum[m][2 * c], weights[m][n], left);
                device::mma(sum[m][2 * c + 1], weights[m][n], right);
            }
        }
    }
}

/// Adds the bias to the products of queries [i, i + 16) and keys [j, j + N). What multiplies the sum later multiplies the bias,
/// too, so it is divided by the scale before: everything behind this step is the same with a bias and without. One rounding, in
/// all kernels: a compiler may not choose.
template <int N>
__device__ __forceinline__ void add_bias(Accumulator16x8 (&score)[N / 8], const AttentionTask<bf16>& task,
                                         const AttentionPlace& at, int i, int j) {
    if (task.bias == nullptr) return;
#pragma unroll
    for (int slot = 0; slot < Accumulator16x8::kRows; ++slot) {
        const int query = i + Accumulator16x8::row(2 * slot);
        if (query >= at.queries) continue;
        const float* const bias = bias_row(task, at, query) + j;
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < Accumulator16x8::kElements; ++e) {
                if (Accumulator16x8::slot(e) != slot) continue;
                const int col = 8 * n + Accumulator16x8::col(e);
                if (j + col < at.keys) score[n][e] = device::multiply_add(bias[col], task.bias_unit, score[n][e]);
            }
    }
}

/// The same for transposed products, of keys [j, j + 16) and queries [i, i + N).
template <int N>
__device__ __forceinline__ void add_bias_transposed(Accumulator16x8 (&score)[N / 8], const AttentionTask<bf16>& task,
                                                    const AttentionPlace& at, int j, int i) {
    if (task.bias == nullptr) return;
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            const int query = i + 8 * n + Accumulator16x8::col(e), key = j + Accumulator16x8::row(e);
            if (query < at.queries && key < at.keys)
                score[n][e] = device::multiply_add(bias_row(task, at, query)[key], task.bias_unit, score[n][e]);
        }
}

/// Sets the scores of queries [i, i + 16) and keys [j, j + N) to -inf where the query may not attend to the key.
template <int N>
__device__ __forceinline__ void hide_scores(Accumulator16x8 (&score)[N / 8], const AttentionTask<bf16>& task,
                                            const AttentionPlace& at, int i, int j) {
#pragma unroll
    for (int slot = 0; slot < Accumulator16x8::kRows; ++slot) {
        const int query = i + Accumulator16x8::row(2 * slot);
        const int end = query < at.queries ? visible_keys(task, at, query) - j : 0;
        const std::uint8_t* const mask = task.mask == nullptr ? nullptr : mask_row(task, at, query) + j;
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < Accumulator16x8::kElements; ++e) {
                if (Accumulator16x8::slot(e) != slot) continue;
                const int col = 8 * n + Accumulator16x8::col(e);
                if (col >= end || (mask != nullptr && mask[col] == 0)) score[n][e] = device::lowest<float>();
            }
    }
}

/// The same for transposed scores, of keys [j, j + 16) and queries [i, i + N).
template <int N>
__device__ __forceinline__ void hide_scores_transposed(Accumulator16x8 (&score)[N / 8], const AttentionTask<bf16>& task,
                                                       const AttentionPlace& at, int j, int i) {
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e)
            if (!may_attend(task, at, i + 8 * n + Accumulator16x8::col(e), j + Accumulator16x8::row(e)))
                score[n][e] = device::lowest<float>();
}

/// The weights that dropout keeps in two tiles side by side, queries [i, i + 16) and keys [8 group, 8 group + 16): bit 4 tile +
/// element. One call of Philox decides a row's eight keys of one tile, and four lanes share a row: each makes the call for one of
/// two rows and one of two tiles, and they exchange the answers.
__device__ __forceinline__ unsigned kept_in_rows(const AttentionTask<bf16>& task, const AttentionPlace& at, int i, int group) {
    const int l = device::lane() % Accumulator16x8::kRowLanes;
    const unsigned asked = kept_keys(task, at, i + Accumulator16x8::row(2 * (l % 2)), group + l / 2);
    unsigned kept = 0;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile)
#pragma unroll
        for (int slot = 0; slot < Accumulator16x8::kRows; ++slot) {
            const unsigned row = __shfl_sync(device::kAllLanes, asked, 2 * tile + slot, Accumulator16x8::kRowLanes);
#pragma unroll
            for (int e = 0; e < Accumulator16x8::kElements; ++e)
                if (Accumulator16x8::slot(e) == slot) kept |= (row >> Accumulator16x8::col(e) & 1) << (4 * tile + e);
        }
    return kept;
}

/// The weights of queries [i, i + 16) and keys [j, j + N), of which the first `count` are there, without those that dropout
/// drops, as left operands. Each pair of tiles is packed as soon as its dropout is known: registers are scarce here.
template <int N>
__device__ __forceinline__ void drop_and_pack(FragmentA (&packed)[N / 16], Accumulator16x8 (&weights)[N / 8],
                                              const AttentionTask<bf16>& task, const AttentionPlace& at, int i, int j,
                                              int count = N) {
    if (!task.dropout.active()) return pack_weights<N>(packed, weights);
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
        if (16 * n < count) {
            const unsigned kept = kept_in_rows(task, at, i, j / 8 + 2 * n);
#pragma unroll
            for (int e = 0; e < 2 * Accumulator16x8::kElements; ++e)
                if ((kept >> e & 1) == 0) weights[2 * n + e / 4][e % 4] = 0;
        }
        packed[n] = device::as_a(weights[2 * n], weights[2 * n + 1]);
    }
}

/// The same for transposed scores, keys [8 group, 8 group + 16) and two tiles of queries [i, i + 16): each lane asks for one
/// query and one group of eight keys.
__device__ __forceinline__ unsigned kept_in_columns(const AttentionTask<bf16>& task, const AttentionPlace& at, int i, int group) {
    const unsigned asked = kept_keys(task, at, i + device::lane() % 16, group + device::lane() / 16);
    unsigned kept = 0;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            const int row = Accumulator16x8::row(e);
            const unsigned column = __shfl_sync(device::kAllLanes, asked, row / 8 * 16 + 8 * tile + Accumulator16x8::col(e));
            kept |= (column >> row % 8 & 1) << (4 * tile + e);
        }
    return kept;
}

/// How many keys forward takes at once. All of its kernels take the same: a row's maxima and sums are then made in one order, and
/// which kernel its batch gets is not to be seen in the bits.
inline constexpr int kSoftmaxKeys = 64;

/// The softmax of a 16-row tile so far: this lane's two rows.
struct Running {
    float largest[Accumulator16x8::kRows] = {device::lowest<float>(),
                                             device::lowest<float>()};  ///< the whole row's, not yet scaled
    float sum[Accumulator16x8::kRows] = {};                             ///< this lane's columns
};

/// Scores [16, N] -> weights 2^(scale s - scale max), and the row's state and mean with them.
template <int D, int N>
__device__ __forceinline__ void softmax_tile(Accumulator16x8 (&score)[N / 8], Running& running, Accumulator16x8 (&mean)[D / 8],
                                             float scale) {
    float top[Accumulator16x8::kRows], shift[Accumulator16x8::kRows], shrink[Accumulator16x8::kRows];
#pragma unroll
    for (int s = 0; s < Accumulator16x8::kRows; ++s) top[s] = running.largest[s];
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            float& t = top[Accumulator16x8::slot(e)];
            t = fmaxf(t, score[n][e]);  // drops a NaN, but its weight is NaN, and so is then the sum
        }
#pragma unroll
    for (int s = 0; s < Accumulator16x8::kRows; ++s) {
        top[s] = device::warp_reduce<Accumulator16x8::kRowLanes>(top[s], [](float a, float b) { return fmaxf(a, b); });
        shift[s] =
            top[s] == device::lowest<float>() ? 0 : device::product(top[s], scale);  // nothing seen yet: -inf - -inf would be NaN
        // Exactly 1 while the maximum stays: the old shift, rounded as it was.
        shrink[s] = device::power_of_two(device::product(running.largest[s], scale) - shift[s]);
        running.largest[s] = top[s];
        running.sum[s] = device::product(running.sum[s], shrink[s]);
    }
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            const int s = Accumulator16x8::slot(e);
            score[n][e] = device::power_of_two(device::multiply_add(score[n][e], scale, -shift[s]));
            running.sum[s] += score[n][e];
        }
#pragma unroll
    for (int c = 0; c < D / 8; ++c)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) mean[c][e] *= shrink[Accumulator16x8::slot(e)];
}

/// After the last tile, for queries [i, i + 16): what each row's mean is to be multiplied with, and its log-sum-exp where that
/// is wanted.
__device__ __forceinline__ void finish_softmax(float (&factor)[Accumulator16x8::kRows], const Running& running,
                                               const AttentionTask<bf16>& task, const AttentionPlace& at, int i, float scale,
                                               float* log_sum) {  // log_sum [rows, heads] or null
#pragma unroll
    for (int s = 0; s < Accumulator16x8::kRows; ++s) {
        const float total = device::warp_sum<Accumulator16x8::kRowLanes>(running.sum[s]);
        factor[s] = total == 0 ? 0 : task.kept_scale / total;
        const int query = i + Accumulator16x8::row(2 * s);
        if (log_sum != nullptr && query < at.queries && device::lane() % Accumulator16x8::kRowLanes == 0)
            log_sum[(at.query_start + query) * task.heads + at.head] =
                total == 0 ? -device::lowest<float>()
                           : device::multiply_add(device::product(running.largest[s], scale), static_cast<float>(kLn2),
                                                  device::logarithm(total));
    }
}

/// Rows [row, row + 16) of a head <- sum times factor[slot], by way of the warp's own 16 rows of shared memory, `staging` from
/// row `first` on, so that whole lines are written: an accumulator's lane has pairs, a store needs eight. No other warp may touch
/// these rows.
template <int D>
__device__ __forceinline__ void write_rows(const DeviceRows<bf16>& to, std::int64_t row, int head, int rows, bool vectors,
                                           const Accumulator16x8 (&sum)[D / 8], const float (&factor)[Accumulator16x8::kRows],
                                           bf16* staging, int first) {
    const int place = first * D + tile_place<D>(Accumulator16x8::row(0), Accumulator16x8::col(0));
    __syncwarp();  // all lanes have read what the rows held
#pragma unroll
    for (int c = 0; c < D / 8; ++c)
#pragma unroll
        for (int s = 0; s < Accumulator16x8::kRows; ++s) {
            const device::Vector<bf16, 2> pair = {
                {device::store<bf16>(sum[c][2 * s] * factor[s]), device::store<bf16>(sum[c][2 * s + 1] * factor[s])}};
            device::store_vector<2>(staging + moved_place<D>(place, 8 * s, 8 * c), pair);
        }
    __syncwarp();                                                    // the rows are there
    constexpr int kPieces = D / 8, kStep = device::kWarp / kPieces;  // of a row; rows that go out at a time
    const int r = device::lane() / kPieces, c = device::lane() % kPieces * 8;
    if (c >= to.width) return;
    bf16* out = to.at(row + r, head) + c;
    const bf16* const from = staging + first * D;
    const int piece = tile_place<D>(r, c);
    if (vectors) {
#pragma unroll
        for (int n = 0; n < 16; n += kStep, out += kStep * to.pitch)
            if (r + n < rows) device::store_vector_whole<8>(out, device::load_vector<8>(from + moved_place<D>(piece, n, 0)));
        return;
    }
#pragma unroll 1
    for (int n = 0; n < 16 && r + n < rows; n += kStep, out += kStep * to.pitch) {
        const auto values = device::load_vector<8>(from + tile_place<D>(r + n, c));
        for (int i = 0; i < 8 && c + i < to.width; ++i) out[i] = values[i];
    }
}

}  // namespace heddle::kernels
