// Shared by the kernels that multiply and add: attention_plain.cu and attention_plain_backward.cu, and for short sentences in f32
// attention_short_f32.cu and attention_short_f32_backward.cu. One shape of work serves all of their products.
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
//
// The short kernels promise the bits of the others. So what both compute stands here, and where a compiler could round in two
// ways, the code says which (kernels/device/contraction.h).
#pragma once

#include "kernels/attention/detail/attention_device.h"
#include "kernels/device/pipeline.h"

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

/// How many rows of a tile of `Tile` rows are multiplied, when `left` rows of the sentence begin there: those, up to a multiple
/// of 8. The further ones are zeros.
template <int Tile>
__device__ __forceinline__ int tile_rows(int left) {
    return min(Tile, (left + 7) / 8 * 8);
}

/// score[r] = own row r . tile row lane, for own [Rows, own_pitch] and tile [count, kPitch]. Lanes without a row repeat the
/// first's. Unroll: how many steps over the columns are under way at once; each takes registers for its loads.
template <class T, int D, int Unroll = 2, int Rows>
__device__ __forceinline__ void products(device::Accumulator<T> (&score)[Rows], const device::Accumulator<T>* own,
                                         const device::Accumulator<T>* tile, int width, int count,
                                         int own_pitch = PlainSizes<T, D>::kPitch) {
    using Sizes = PlainSizes<T, D>;
    constexpr int N = Sizes::kVector;
    const auto* const mine = tile + (device::lane() < count ? device::lane() : 0) * Sizes::kPitch;
#pragma unroll
    for (int r = 0; r < Rows; ++r) score[r] = 0;
#pragma unroll Unroll
    for (int c = 0; c < width; c += N) {
        const auto b = device::load_vector<N>(mine + c);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const auto a = device::load_vector<N>(own + r * own_pitch + c);
#pragma unroll
            for (int n = 0; n < N; ++n) score[r] += a[n] * b[n];
        }
    }
}

/// sum[r][c] += sum over j of weights[r][j] tile[j][32 c + lane], for weights [Rows, weights_pitch] and tile [count, kPitch].
template <class T, int D, int Rows>
__device__ __forceinline__ void update(device::Accumulator<T> (&sum)[Rows][PlainSizes<T, D>::kColumns],
                                       const device::Accumulator<T>* weights, const device::Accumulator<T>* tile, int count,
                                       int weights_pitch = device::kWarp) {
    using Sizes = PlainSizes<T, D>;
    constexpr int N = Sizes::kVector;
#pragma unroll 2
    for (int j = 0; j < count; j += N) {
        device::Vector<device::Accumulator<T>, N> w[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) w[r] = device::load_vector<N>(weights + r * weights_pitch + j);
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

/// The saved log-sum-exp as an exponent of 2, like the scores.
template <class A>
__device__ __forceinline__ A in_twos(A log_sum) {
    return device::product(log_sum, static_cast<A>(kLog2E));
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

/// Dropout's decisions for row r of a warp and the 32 keys from `key` on, each in the lane of its key. 32 keys are four groups of
/// eight: lane 4 r + g makes the call for group g of row r, and the other lanes read its answer.
template <int Rows>
struct KeptKeys {
    unsigned group;

    template <class T>
    __device__ __forceinline__ KeptKeys(const AttentionTask<T>& task, const AttentionPlace& at, int own, int key) : group(0xffu) {
        if (task.dropout.active() && device::lane() / 4 < Rows)
            group = kept_keys(task, at, own + device::lane() / 4, key / 8 + device::lane() % 4);
    }
    /// Every lane of the warp asks.
    __device__ __forceinline__ bool operator()(int r) const {
        const unsigned of_row = __shfl_sync(device::kAllLanes, group, 4 * r + device::lane() / 8);
        return (of_row >> device::lane() % 8 & 1) != 0;
    }
};

/// Bit r: whether query own + r may attend to the key. Row after row: side by side, the places of 8 rows in the mask would take
/// the registers that the sums need.
template <int Rows, class T>
__device__ __forceinline__ unsigned open_rows(const AttentionTask<T>& task, const AttentionPlace& at, int own, int key) {
    unsigned open = 0;
#pragma unroll 1
    for (int r = 0; r < Rows; ++r) open |= may_attend(task, at, own + r, key) ? 1u << r : 0;
    return open;
}

/// The softmax of a warp's query rows on its way over the keys.
template <class T, int D>
struct RunningRows {
    using A = device::Accumulator<T>;
    static constexpr int kRows = PlainSizes<T, D>::kForwardRows;
    A largest[kRows], sum[kRows], mean[kRows][PlainSizes<T, D>::kColumns];  // sum: of this lane's keys

    __device__ __forceinline__ RunningRows() : mean{} {
#pragma unroll
        for (int r = 0; r < kRows; ++r) largest[r] = device::lowest<A>(), sum[r] = 0;
    }

    /// The warp's queries [own, own + kRows) meet the tile of keys that begins at `key`. `weights` [kRows, 32] is the warp's own.
    __device__ __forceinline__ void meet(const AttentionTask<T>& task, const AttentionPlace& at, int own, int key,
                                         const A* queries, const A* keys, const A* values, A* weights) {
        constexpr int kTile = PlainSizes<T, D>::kTile;
        const int count = tile_rows<kTile>(at.keys - key);
        A score[kRows];
        products<T, D>(score, queries, keys, task.query.width, count);
        const KeptKeys<kRows> kept(task, at, own, key);
        const unsigned open = device::lane() < kTile ? open_rows<kRows>(task, at, own, key + device::lane()) : 0;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const A s = (open >> r & 1) != 0 ? device::multiply_add(score[r], task.scale_log2,
                                                                    bias_in_twos(task, at, own + r, key + device::lane()))
                                             : device::lowest<A>();
            const A next = device::larger(largest[r], device::warp_max(s));
            const A shift = next == device::lowest<A>() ? A{0} : next;  // nothing seen yet: -inf - -inf would be NaN
            const A shrink = device::power_of_two(largest[r] - shift);
            const A p = device::power_of_two(s - shift);
            largest[r] = next;
            sum[r] = device::multiply_add(sum[r], shrink, p);
#pragma unroll
            for (int c = 0; c < PlainSizes<T, D>::kColumns; ++c) mean[r][c] *= shrink;
            weights[r * device::kWarp + device::lane()] = kept(r) ? p : A{0};
        }
        __syncwarp();  // all lanes' weights are there
        update<T, D>(mean, weights, values, count);
    }
    /// Writes O and, unless it is null, L of the queries from `own` on.
    __device__ __forceinline__ void finish(const AttentionTask<T>& task, const AttentionPlace& at, int own,
                                           const DeviceRows<T>& output, A* log_sum) const {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const A total = device::warp_sum(sum[r]);
            if (own + r >= at.queries) continue;
            const std::int64_t row = at.query_start + own + r;
            write_row(output.at(row, at.head), mean[r], total == 0 ? A{0} : task.kept_scale / total, task.value.width);
            if (log_sum != nullptr && device::lane() == 0)
                log_sum[row * task.heads + at.head] =
                    total == 0 ? -device::lowest<A>()
                               : device::multiply_add(largest[r], static_cast<A>(kLn2), device::logarithm(total));
        }
    }
};

/// S and dP of a query and a key, turned into what backward multiplies: P F and dS. level: L as an exponent of 2.
template <class A>
struct BackwardWeight {
    A weight, d_score;

    template <class T>
    __device__ __forceinline__ BackwardWeight(const AttentionTask<T>& task, const AttentionPlace& at, int query, int key,
                                              bool open, bool kept, A score, A d_weight, A level, A delta)
        : weight(0), d_score(0) {
        if (!open) return;
        const A factor = kept ? task.kept_scale : A{0};
        const A p =
            device::power_of_two(device::multiply_add(score, task.scale_log2, -(level - bias_in_twos(task, at, query, key))));
        weight = p * factor;
        d_score = p * device::multiply_add(factor, d_weight, -delta);
    }
};

// For sentences of up to kShortSentence tokens in f32, whose rows all lie in shared memory.

/// Begins to bring rows [row, row + count) of a head to shared memory [count, Pitch], `threads` threads (whole warps) together.
/// Rows r for which takes_part(r) is false and columns from the width on become zeros and are not read. Other threads see them
/// after the pipeline's wait and a barrier. Each thread has one column of pieces: from one to the next only the row changes.
template <int D, int Pitch, class TakesPart>
__device__ __forceinline__ void begin_rows(float* to, const DeviceRows<const float>& from, std::int64_t row, int head,
                                           bool vectors, int thread, int threads, int count, const TakesPart& takes_part) {
    constexpr int N = 4, kPieces = D / N;  // of a row, 16 bytes each
    const int first = thread / kPieces, step = threads / kPieces, c = thread % kPieces * N;
    const bool inside = c < from.width;
    const float* source = from.at(row + first, head) + c;
    float* place = to + first * Pitch + c;
#pragma unroll 1
    for (int r = first; r < count; r += step, source += step * from.pitch, place += step * Pitch) {
        if (vectors) {
            device::copy_async<16>(place, source, inside && takes_part(r) ? 16 : 0);
            continue;
        }
        device::Vector<float, N> values = {};
        if (takes_part(r))
            for (int n = 0; n < N && c + n < from.width; ++n) values[n] = source[n];
        device::store_vector(place, values);
    }
}

/// So many warps has a block for sentences of up to `longest` tokens: one for every 8 rows.
inline int short_warps(std::int64_t longest) { return static_cast<int>(std::max<std::int64_t>(1, (longest + 7) / 8)); }

}  // namespace heddle::kernels
