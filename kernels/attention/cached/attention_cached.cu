// Attention of single query rows over a cache, on CUDA: what decoding does for each token.
//
//     O_r = softmax(scale q_r K_r^T + b) V_r   b: a bias by the distance from the newest key, or none; K_r, V_r: the cache rows
//     that table[r, 0 .. length) names
//
// There is one query row where training has many, so nothing can be reused and the keys and values come from memory once: the
// kernel is as fast as they arrive. To have enough of them under way, a row's keys are split into pieces of 64 and each piece is
// a warp's work of its own:
//
// clang-format off
//     piece kernel     over its 64 keys: m, l and the mean of values, not divided (attention.h)
//     combine kernel   over a row's pieces, from the first to the last: the same update, m and l from the piece, not from a score
// clang-format on
//
// Pieces are counted from a row's first key and combined in their order, so a row's bits depend neither on the batch nor on the
// run. A call whose rows fit into one piece needs no second kernel.
//
// clang-format off
// Owns     piece: a warp one (row, head, piece); in products a lane has a key, in updates a column. combine: one (row, head).
// Traffic  dk + dv columns per key and head, the table once per head; (dv + 2) numbers per piece more when there are several.
// clang-format on
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "kernels/attention/cached/attention_cached.h"
#include "kernels/attention/detail/attention_device.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::lane, device::warp;

constexpr int kPiece = 64;  // keys
constexpr int kWarps = 4;   // of a block
constexpr int kAtOnce = 4;  // values under way in a lane, times its columns

template <class T>
struct CachedTask {
    DeviceRows<const T> query;                     // [rows, heads * dk]
    DeviceRows<const T> key;                       // [slots, heads / group * dk]
    DeviceRows<const T> value;                     // [slots, heads / group * dv]
    const std::int32_t* table = nullptr;           // [rows, time]
    const std::int32_t* lengths = nullptr;         // [rows], or null: all rows have `length` keys
    const device::Accumulator<T>* bias = nullptr;  // [heads or 1, bias_pitch], its last number for the newest key; or null
    std::int64_t bias_head = 0, bias_pitch = 0;    // elements from one head's bias to the next (0: shared), and of a head
    std::int64_t rows = 0, slots = 0, time = 0;
    double scale = 1;
    int heads = 1, length = 0, pieces = 1, vectors = 0;
    device::Growth growth;  // of `length`
    int group = 1;          // query heads that share a head of keys
};

// A softmax so far: of a piece, or of a row's pieces. `mean` in a lane's columns: 32 c + lane, or those of its 16 bytes of a row.
template <class A, int Columns>
struct Gathered {
    static constexpr int kColumns = Columns;
    A largest = device::lowest<A>();
    A sum = 0;
    A mean[kColumns] = {};

    // Everything so far shrinks to the new largest score; returns what is subtracted from scores.
    __device__ __forceinline__ A raise(A score) {
        const A next = device::larger(largest, score);
        const A shift = next == device::lowest<A>() ? A{0} : next;
        const A shrink = device::power_of_two(largest - shift);
        largest = next;
        sum *= shrink;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) mean[c] *= shrink;
        return shift;
    }
};

template <int N, class T>
__device__ __forceinline__ device::Accumulator<T> dot_product(const T* a, const T* b, int width) {
    device::Accumulator<T> sum = 0;
#pragma unroll 4
    for (int c = 0; c < width; c += N) {
        const auto x = device::load_vector<N>(a + c), y = device::load_vector<N>(b + c);
#pragma unroll
        for (int n = 0; n < N; ++n) sum = device::multiply_add(device::load(x[n]), device::load(y[n]), sum);
    }
    return sum;
}

// mean += the values of the keys that lanes [first, first + Keys) hold, times their weights: one after another, but all of them
// are asked for before the first one is needed.
template <int Keys, class T, class A, int C>
__device__ __forceinline__ void add_values(Gathered<A, C>& all, const DeviceRows<const T>& values, int head, A weight,
                                           std::int64_t slot, int first) {
    constexpr int kColumns = C;
    T value[Keys][kColumns];
#pragma unroll
    for (int j = 0; j < Keys; ++j) {
        const T* const row = values.at(__shfl_sync(device::kAllLanes, slot, first + j), head);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) value[j][c] = c * kWarp + lane() < values.width ? row[c * kWarp + lane()] : T{};
    }
#pragma unroll
    for (int j = 0; j < Keys; ++j) {
        const A own = __shfl_sync(device::kAllLanes, weight, first + j);
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
            if (c * kWarp + lane() < values.width)
                all.mean[c] = device::multiply_add(own, device::load(value[j][c]), all.mean[c]);
    }
}

// Rows of D columns, 16 bytes of them a lane: how many lanes have a row, and whether a warp has so many.
template <class T, int D>
struct RowPieces {
    static constexpr int kColumns = device::kVector<T>, kLanes = D / kColumns;
    static constexpr bool kFit = kLanes <= kWarp;
};

// mean += the values of the keys that lanes [0, keys) hold, times their weights: each lane those of every kRows-th key. All
// pieces, at most eight a lane, are asked for before the first one is needed.
template <class T, int D, class A>
__device__ __forceinline__ void add_value_pieces(Gathered<A, device::kVector<T>>& all, const DeviceRows<const T>& values,
                                                 int head, A weight, int slot, int keys) {
    using Pieces = RowPieces<T, D>;
    constexpr int kColumns = Pieces::kColumns, kBatch = Pieces::kLanes < 8 ? Pieces::kLanes : 8;
    constexpr int kRows = kWarp / Pieces::kLanes;  // that come at once
    const int own = lane() / Pieces::kLanes, column = lane() % Pieces::kLanes * kColumns;
    for (int first = 0; first < keys; first += kBatch * kRows) {
        device::Vector<T, kColumns> value[kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
            const int key = first + j * kRows + own, at = __shfl_sync(device::kAllLanes, slot, key);
            value[j] = {};
            if (key < keys && column < values.width) value[j] = device::load_vector<kColumns>(values.at(at, head) + column);
        }
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
            const A p = __shfl_sync(device::kAllLanes, weight, first + j * kRows + own);
#pragma unroll
            for (int n = 0; n < kColumns; ++n) all.mean[n] = device::multiply_add(p, device::load(value[j][n]), all.mean[n]);
        }
    }
}

// The lanes that have the same columns of other keys join their sums.
template <class T, int D, class A>
__device__ __forceinline__ void join_value_pieces(Gathered<A, device::kVector<T>>& all) {
#pragma unroll
    for (int bit = RowPieces<T, D>::kLanes; bit < kWarp; bit *= 2)
#pragma unroll
        for (A& each : all.mean) each += __shfl_xor_sync(device::kAllLanes, each, bit);
}

template <class T, class A, int C>
__device__ __forceinline__ void write_mean(T* to, const Gathered<A, C>& all, int width) {
    const A factor = all.sum == 0 ? A{0} : 1 / all.sum;
#pragma unroll
    for (int c = 0; c < C; ++c)
        if (c * kWarp + lane() < width) to[c * kWarp + lane()] = device::store<T>(all.mean[c] * factor);
}

// Pieces: rows of values are read 16 bytes a lane.
template <class T, int D, bool Pieces>
__global__ void __launch_bounds__(kWarps* kWarp, 4)
    attention_piece_kernel(CachedTask<T> task,
                           DeviceRows<T> output,           // output [rows, heads * dv], written when there is one piece
                           device::Accumulator<T>* means,  // [rows, heads, pieces, dv], else
                           device::Accumulator<T>* largest_and_sums) {  // [rows, heads, pieces, 2]
    using A = device::Accumulator<T>;
    const std::int64_t item = std::int64_t{blockIdx.x} * kWarps + warp();
    if (item >= task.rows * task.heads * task.pieces) return;
    const int piece = static_cast<int>(item % task.pieces), head = static_cast<int>(item / task.pieces % task.heads);
    const int key_head = task.group == 1 ? head : head / task.group;
    const std::int64_t row = item / task.pieces / task.heads;
    const int dv = task.value.width,
              length = task.lengths == nullptr ? task.length + static_cast<int>(task.growth.now()) : task.lengths[row];
    const int end = min(length, (piece + 1) * kPiece);
    const A scale = static_cast<A>(task.scale * kLog2E);
    const T* const query = task.query.at(row, head);

    Gathered<A, Pieces ? device::kVector<T> : D / kWarp> all;
    for (int first = piece * kPiece; first < end; first += kWarp) {
        const int key = first + lane();
        A score = device::lowest<A>();
        std::int64_t slot = 0;
        if (key < end) {
            slot = task.table[row * task.time + key];
            device::require(slot >= 0 && slot < task.slots, "attention_cached: the table leaves the cache");
            const T* const k = task.key.at(slot, key_head);
            score = scale * (task.vectors != 0 ? dot_product<device::kVector<T>>(query, k, task.query.width)
                                               : dot_product<1>(query, k, task.query.width));
            if (task.bias != nullptr)
                score += task.bias[head * task.bias_head + task.bias_pitch - length + key] * static_cast<A>(kLog2E);
        }
        const A p = device::power_of_two(score - all.raise(device::warp_max(score)));
        all.sum += device::warp_sum(p);
        const int keys = min(kWarp, end - first);
        if constexpr (Pieces) {
            add_value_pieces<T, D>(all, task.value, key_head, p, static_cast<int>(slot), keys);
        } else {
            int j = 0;
            for (; j + kAtOnce <= keys; j += kAtOnce) add_values<kAtOnce>(all, task.value, key_head, p, slot, j);
            for (; j < keys; ++j) add_values<1>(all, task.value, key_head, p, slot, j);
        }
    }
    if constexpr (Pieces) {
        join_value_pieces<T, D>(all);
        const int column = lane() * device::kVector<T>;
        if (column < dv) {
            const A factor = all.sum == 0 ? A{0} : 1 / all.sum;
            device::Vector<T, device::kVector<T>> values;
            for (int n = 0; n < device::kVector<T>; ++n) {
                values[n] = device::store<T>(all.mean[n] * factor);
                if (task.pieces > 1) means[item * dv + column + n] = all.mean[n];
            }
            if (task.pieces == 1) device::store_vector_whole(output.at(row, head) + column, values);
        }
        if (task.pieces == 1) return;
    } else {
        if (task.pieces == 1) return write_mean(output.at(row, head), all, dv);
#pragma unroll
        for (int c = 0; c < D / kWarp; ++c)
            if (c * kWarp + lane() < dv) means[item * dv + c * kWarp + lane()] = all.mean[c];
    }
    if (lane() < 2) largest_and_sums[2 * item + lane()] = lane() == 0 ? all.largest : all.sum;
}

template <class T, int D>
__global__ void __launch_bounds__(kWarps* kWarp)
    attention_combine_kernel(const device::Accumulator<T>* means,             // [rows, heads, pieces, dv]
                             const device::Accumulator<T>* largest_and_sums,  // [rows, heads, pieces, 2]
                             DeviceRows<T> output,                            // [rows, heads * dv]
                             std::int64_t rows, int heads, int pieces) {
    using A = device::Accumulator<T>;
    const std::int64_t item = std::int64_t{blockIdx.x} * kWarps + warp();
    if (item >= rows * heads) return;
    Gathered<A, D / kWarp> all;
    for (std::int64_t piece = item * pieces; piece < (item + 1) * pieces; ++piece) {
        const A largest = largest_and_sums[2 * piece];
        const A weight = device::power_of_two(largest - all.raise(largest));
        all.sum += weight * largest_and_sums[2 * piece + 1];
#pragma unroll
        for (int c = 0; c < D / kWarp; ++c) {
            const int column = c * kWarp + lane();
            if (column < output.width) all.mean[c] += weight * means[piece * output.width + column];
        }
    }
    write_mean(output.at(item / heads, static_cast<int>(item % heads)), all, output.width);
}

}  // namespace

void attention_cached_cuda(const Columns& query, const CachedKeys& cache, std::int64_t heads, double scale, Tensor& output) {
    device::dispatch("attention_cached", query.base.dtype(), [&]<class T>(TypeTag<T>) {
        using A = device::Accumulator<T>;
        CachedTask<T> task;
        task.query = device_rows<T>(query, heads);
        const std::int64_t key_heads = cache.key_heads == 0 ? heads : cache.key_heads;
        task.key = device_rows<T>(cache.key, key_heads);
        task.value = device_rows<T>(cache.value, key_heads);
        task.table = cache.table.data<std::int32_t>();
        task.rows = query.rows();
        task.slots = cache.key.rows();
        task.time = cache.table.dim(1);
        task.scale = scale;
        task.heads = static_cast<int>(heads);
        task.group = static_cast<int>(heads / key_heads);
        task.vectors = vectors_fit(task.query) && vectors_fit(task.key);
        if (cache.bias.defined()) {
            task.bias = cache.bias.data<A>();
            task.bias_pitch = cache.bias.dim(1);
            task.bias_head = cache.bias.dim(0) == 1 ? 0 : task.bias_pitch;
        }
        // Hypotheses that were begun together have the same length, and nothing is uploaded.
        std::int64_t longest = cache.lengths.empty() ? 0 : *std::max_element(cache.lengths.begin(), cache.lengths.end());
        task.length = static_cast<int>(longest);
        Tensor lengths;
        if (std::any_of(cache.lengths.begin(), cache.lengths.end(), [&](std::int64_t length) { return length != longest; })) {
            std::vector<std::int32_t> numbers;
            for (const std::int64_t length : cache.lengths) numbers.push_back(static_cast<std::int32_t>(length));
            lengths = Tensor::from(numbers, {task.rows}).to(Device::cuda);
            task.lengths = lengths.data<std::int32_t>();
        }
        if (cache.growth.replays != nullptr) {
            if (lengths.defined()) fail("attention_cached: lengths that grow together must be equal");
            task.growth = cache.growth;
            longest = std::max(longest, cache.longest);
        }
        task.pieces = static_cast<int>(std::max<std::int64_t>(1, (longest + kPiece - 1) / kPiece));
        const std::int64_t items = task.rows * heads;
        const auto to = mutable_device_rows<T>(output, heads);
        Tensor means, largest_and_sums;
        A* partial[2] = {};
        if (task.pieces > 1) {
            means = Tensor::empty(Shape({items, task.pieces, to.width}), dtype_of<A>(), Device::cuda);
            largest_and_sums = Tensor::empty(Shape({items, task.pieces, 2}), dtype_of<A>(), Device::cuda);
            partial[0] = means.template mutable_data<A>();
            partial[1] = largest_and_sums.template mutable_data<A>();
        }
        const auto run = [&]<int D>(std::integral_constant<int, D>) {
            const auto start = [&]<bool Pieces>(std::bool_constant<Pieces>) {
                device::launch({.grid = device::blocks_for(items * task.pieces, kWarps), .block = kWarps * kWarp},
                               attention_piece_kernel<T, D, Pieces>, task, to, partial[0], partial[1]);
            };
            if constexpr (RowPieces<T, D>::kFit) {
                vectors_fit(task.value) && vectors_fit(to) ? start(std::true_type()) : start(std::false_type());
            } else {
                start(std::false_type());
            }
            if (task.pieces > 1)
                device::launch({.grid = device::blocks_for(items, kWarps), .block = kWarps * kWarp},
                               attention_combine_kernel<T, D>, partial[0], partial[1], to, task.rows, task.heads, task.pieces);
        };
        // A lane holds the columns of four values at a time, so a kernel for narrow heads needs fewer registers.
        if (to.width <= 32) return run(std::integral_constant<int, 32>{});
        if (to.width <= 64) return run(std::integral_constant<int, 64>{});
        run(std::integral_constant<int, static_cast<int>(kWidestCudaHead)>{});
    });
}

}  // namespace heddle::kernels
