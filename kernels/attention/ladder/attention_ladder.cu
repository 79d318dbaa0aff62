// Attention of each sentence, O = softmax(Q K^T / sqrt(dim)) V, in six steps. Each keeps what the one before it taught and adds
// one idea; masks, heads, biases and dropout are left out.
//
// Q, K, V and O have time * dim numbers, but S = Q K^T has time * time: written to memory, it is soon the largest tensor of all.
// And each of the time queries needs all of K and V. So two things count: that S never sees memory, and how often a number of K
// or V is used once it has been read.
//
//     step      S lies in        K and V are read from global memory    shared memory, for a multiply-add of a score
//     naive     global memory    once a query                           -
//     fused     shared memory    once a query                           -
//     online    registers        once a query                           -
//     tiles     registers        once for 8 queries                     2 numbers, with conflicts of the banks
//     padding   registers        once for 8 queries                     2 numbers
//     rows      registers        once for 32 queries                    1 1/4 numbers
//
// The last one is the idea of attention_plain.cu, which has 8 queries a warp and reads shared memory by 16 bytes, and to whose
// steps tensor cores are the next one (attention_mma.cu).
#include <cmath>
#include <string>

#include "kernels/attention/ladder/attention_ladder.h"
#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/shared.h"
#include "kernels/softmax/softmax_ladder.h"

namespace heddle::kernels {
namespace {

using namespace device;

struct Sentences {
    const float *query, *key, *value;  // [sentences * time, dim]
    float* output;                     // [sentences * time, dim]
    std::int64_t time;
    int dim;
    float scale;  // 1 / sqrt(dim)
};

constexpr int kMostColumns = 128, kColumns = kMostColumns / kWarp;  // of a head; of these a lane's

// ---- 1. naive: three kernels
//
// A thread an element of S, then the softmax of each row of S (softmax_ladder.cu, step 3), then a thread an element of O. S is
// written, read and written by the softmax, and read once more. Neighbouring threads of the first kernel have neighbouring keys:
// their rows of K lie dim numbers apart, so each read of a warp touches 32 sectors.
constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) attention_scores_kernel(Sentences a,
                                                                    float* scores,  // [sentences * time, time]
                                                                    std::int64_t count) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i >= count) return;
    const std::int64_t query = i / a.time, key = query / a.time * a.time + i % a.time;
    float sum = 0;
    for (int c = 0; c < a.dim; ++c) sum += read_one(a.query + query * a.dim + c) * read_one(a.key + key * a.dim + c);
    write_one(scores + i, sum * a.scale);
}

__global__ void __launch_bounds__(kThreads) attention_mean_kernel(Sentences a,
                                                                  const float* weights,  // [sentences * time, time]
                                                                  std::int64_t count) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i >= count) return;
    const std::int64_t query = i / a.dim, column = i % a.dim, first_key = query / a.time * a.time;
    float sum = 0;
    for (std::int64_t j = 0; j < a.time; ++j)
        sum += read_one(weights + query * a.time + j) * read_one(a.value + (first_key + j) * a.dim + column);
    write_one(a.output + i, sum);
}

// ---- 2. fused: one kernel, a row of scores in shared memory
//
// A warp takes a query. Its lanes are keys while it makes scores, and columns while it adds up values; in between, the row of
// scores lies in the warp's part of shared memory. Of S not one number goes to global memory, and two launches are saved.
constexpr int kWarps = 4;

// The warp's query; at or beyond the last one there is nothing to do.
__device__ __forceinline__ std::int64_t own_query() { return std::int64_t{blockIdx.x} * kWarps + warp(); }

__global__ void __launch_bounds__(kWarps* kWarp) attention_fused_kernel(Sentences a, std::int64_t queries) {
    float* const scores = shared<float>(static_cast<int>(kWarps * a.time)) + warp() * a.time;  // the warp's [time]
    const std::int64_t query = own_query();
    if (query >= queries) return;  // the whole warp; there is no barrier of the block below
    const std::int64_t first_key = query / a.time * a.time;
    float largest = lowest<float>();
    for (std::int64_t j = lane(); j < a.time; j += kWarp) {
        float sum = 0;
        for (int c = 0; c < a.dim; ++c)
            sum += read_one(a.query + query * a.dim + c) * read_one(a.key + (first_key + j) * a.dim + c);
        write_one(scores + j, sum * a.scale);
        largest = larger(largest, sum * a.scale);
    }
    largest = warp_max(largest);
    float sum = 0;
    for (std::int64_t j = lane(); j < a.time; j += kWarp) {
        const float weight = exponential(read_one(scores + j) - largest);
        write_one(scores + j, weight);
        sum += weight;
    }
    sum = warp_sum(sum);
    __syncwarp();  // each lane reads the weights of all keys
    for (int c = lane(); c < a.dim; c += kWarp) {
        float mean = 0;
        for (std::int64_t j = 0; j < a.time; ++j) mean += read_one(scores + j) * read_one(a.value + (first_key + j) * a.dim + c);
        write_one(a.output + query * a.dim + c, mean / sum);
    }
}

// ---- 3. online: no row of scores
//
// A row of scores limits how long a sentence may be. But the softmax can run along with the keys (softmax_ladder.cu, step 4): for
// each 32 keys the largest score so far may grow, and what has been added up, the sum l and the row O, is scaled by e^(old -
// new). At the end O / l is the output. A weight goes from its key's lane to all others by a shuffle: no shared memory is left.
template <int Rows>
struct RunningRows {
    float largest[Rows], sum[Rows] = {};  // sum: of this lane's keys
    float mean[Rows][kColumns] = {};      // of this lane's columns, not yet divided by the sum

    __device__ __forceinline__ RunningRows() {
#pragma unroll
        for (int r = 0; r < Rows; ++r) largest[r] = lowest<float>();
    }
    // Takes up to 32 keys in, lane j with the scores of key j (-inf: no key). value(j, c): column 32 c + lane of key j's value.
    template <class Value>
    __device__ __forceinline__ void meet(const float (&score)[Rows], int keys, int dim, const Value& value) {
        float weight[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const float next = larger(largest[r], warp_max(score[r])), shrink = exponential(largest[r] - next);
            weight[r] = exponential(score[r] - next);
            largest[r] = next;
            sum[r] = sum[r] * shrink + weight[r];
#pragma unroll
            for (int c = 0; c < kColumns; ++c) mean[r][c] *= shrink;
        }
        for (int j = 0; j < keys; ++j) {
            float of_key[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r) of_key[r] = __shfl_sync(kAllLanes, weight[r], j);
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                if (c * kWarp + lane() >= dim) break;
                const float number = value(j, c);
#pragma unroll
                for (int r = 0; r < Rows; ++r) mean[r][c] += of_key[r] * number;
            }
        }
    }
    // Writes the first `count` rows to output [count, dim].
    __device__ __forceinline__ void finish(float* output, int count, int dim) const {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const float all = warp_sum(sum[r]);
            if (r >= count) continue;
#pragma unroll
            for (int c = 0; c < kColumns; ++c)
                if (c * kWarp + lane() < dim) write_one(output + r * dim + c * kWarp + lane(), mean[r][c] / all);
        }
    }
};

__global__ void __launch_bounds__(kWarps* kWarp) attention_online_kernel(Sentences a, std::int64_t queries) {
    const std::int64_t query = own_query();
    if (query >= queries) return;
    const std::int64_t first_key = query / a.time * a.time;
    RunningRows<1> row;
    for (std::int64_t j = 0; j < a.time; j += kWarp) {
        const int keys = static_cast<int>(min(std::int64_t{kWarp}, a.time - j));
        float score[1] = {lowest<float>()};
        if (lane() < keys) {
            score[0] = 0;
            for (int c = 0; c < a.dim; ++c)
                score[0] += read_one(a.query + query * a.dim + c) * read_one(a.key + (first_key + j + lane()) * a.dim + c);
            score[0] *= a.scale;
        }
        const float* const values = a.value + (first_key + j) * a.dim;
        row.meet(score, keys, a.dim, [&](int key, int c) { return read_one(values + key * a.dim + c * kWarp + lane()); });
    }
    row.finish(a.output + query * a.dim, 1, a.dim);
}

// ---- 4. tiles: keys and values are read once for a block
//
// Eight warps with eight queries of one sentence walk over its keys together. Each 32 rows of K and V come to shared memory
// first, read by neighbouring threads side by side: for eight queries once, and no read touches 32 sectors any more. But a score
// is a product with the row of K that belongs to the lane, and rows of 32 numbers all begin in bank 0: each of these reads takes
// 32 cycles, one a lane.
//
// ---- 5. padding: rows begin in different banks
//
// The same kernel with one number between the rows of a tile. Row j now begins in bank j, so the 32 lanes that read column c of
// 32 rows meet 32 banks, and the read takes one cycle.
//
// ---- 6. rows: four queries a warp
//
// The same kernel with four queries a warp. A number of K or V, once read from shared memory, serves four multiply-adds, and a
// block serves 32 queries with the same tiles.
constexpr int kTile = 32, kTileWarps = 8;

// Rows [first, first + count) of `from` [.., dim] to a tile [count, pitch], by all threads of the block.
__device__ __forceinline__ void load_tile(float* tile, int pitch, const float* from, std::int64_t first, int count, int dim) {
    for (int i = thread_in_block(); i < count * dim; i += kTileWarps * kWarp)
        write_one(tile + i / dim * pitch + i % dim, read_one(from + first * dim + i));
}

template <int Rows, int Padding>
__global__ void __launch_bounds__(kTileWarps* kWarp) attention_tiles_kernel(Sentences a) {
    SharedArena arena;
    const int pitch = a.dim + Padding;
    float* const queries = arena.take<float>(kTileWarps * Rows * a.dim);  // [8 Rows, dim]
    float* const keys = arena.take<float>(kTile * pitch);
    float* const values = arena.take<float>(kTile * pitch);
    // Blocks count through a sentence's tiles of queries, then through the sentences.
    const std::int64_t blocks = (a.time + kTileWarps * Rows - 1) / (kTileWarps * Rows);
    const std::int64_t first_row = blockIdx.x / blocks * a.time, first = blockIdx.x % blocks * kTileWarps * Rows;
    load_tile(queries, a.dim, a.query, first_row + first, static_cast<int>(min(std::int64_t{kTileWarps * Rows}, a.time - first)),
              a.dim);
    // This warp's queries. Behind the sentence's end there may be fewer, or none; its threads still help to load the tiles.
    const std::int64_t own = first + warp() * Rows;
    const int count = static_cast<int>(max(std::int64_t{0}, min(std::int64_t{Rows}, a.time - own)));
    RunningRows<Rows> rows;
    for (std::int64_t j = 0; j < a.time; j += kTile) {
        const int here = static_cast<int>(min(std::int64_t{kTile}, a.time - j));
        load_tile(keys, pitch, a.key, first_row + j, here, a.dim);
        load_tile(values, pitch, a.value, first_row + j, here, a.dim);
        __syncthreads();  // the tiles are whole: each warp reads what others copied; before the first one the queries, too
        float score[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) score[r] = lane() < here ? 0.0f : lowest<float>();
        for (int c = 0; c < a.dim && lane() < here; ++c) {
            const float of_key = read_one(keys + lane() * pitch + c);
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                if (r < count) score[r] += read_one(queries + (warp() * Rows + r) * a.dim + c) * (of_key * a.scale);
        }
        if (count > 0)
            rows.meet(score, here, a.dim, [&](int key, int c) { return read_one(values + key * pitch + c * kWarp + lane()); });
        __syncthreads();  // nobody reads the tiles any more: the next ones overwrite them
    }
    rows.finish(a.output + (first_row + own) * a.dim, count, a.dim);
}

// ---- the host's side

Tensor naive(const Sentences& a, Tensor& output) {
    const std::int64_t rows = output.dim(0);
    Tensor scores = Tensor::empty({rows, a.time}, DType::f32, Device::cuda);
    launch({.grid = blocks_for(scores.numel(), kThreads), .block = kThreads}, attention_scores_kernel, a,
           scores.mutable_data<float>(), scores.numel());
    const Tensor weights = softmax_ladder(SoftmaxStep::warp, scores);
    launch({.grid = blocks_for(output.numel(), kThreads), .block = kThreads}, attention_mean_kernel, a, weights.data<float>(),
           output.numel());
    return output;
}

template <int Rows, int Padding>
void start_tiles(const Sentences& a, std::int64_t queries) {
    const std::int64_t blocks = queries / a.time * ((a.time + kTileWarps * Rows - 1) / (kTileWarps * Rows));
    SharedSize shared;
    shared.take<float>(kTileWarps * Rows * a.dim);
    for (int tile = 0; tile < 2; ++tile) shared.take<float>(kTile * (a.dim + Padding));
    launch({.grid = blocks_for(blocks, 1), .block = kTileWarps * kWarp, .shared = shared.bytes()},
           attention_tiles_kernel<Rows, Padding>, a);
}

}  // namespace

Tensor attention_ladder(AttentionStep step, const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t time) {
    for (const Tensor& one : {query, key, value})
        if (one.dtype() != DType::f32 || one.device() != Device::cuda || one.rank() != 2 || one.shape() != query.shape())
            fail("attention_ladder: wanted query, key and value [sentences * time, dim] in f32 on the CUDA device");
    const std::int64_t queries = query.dim(0), dim = query.dim(1);
    if (time < 1 || queries % time != 0)
        fail("attention_ladder: query has " + std::to_string(queries) + " rows; wanted a multiple of time, " +
             std::to_string(time));
    if (dim > kMostColumns)
        fail("attention_ladder: heads have up to " + std::to_string(kMostColumns) + " columns, not " + std::to_string(dim));
    Tensor output = Tensor::empty(query.shape(), DType::f32, Device::cuda);
    if (output.numel() == 0) return output;
    const Sentences a{.query = query.data<float>(),
                      .key = key.data<float>(),
                      .value = value.data<float>(),
                      .output = output.mutable_data<float>(),
                      .time = time,
                      .dim = static_cast<int>(dim),
                      .scale = 1 / std::sqrt(static_cast<float>(dim))};
    const LaunchConfig warps{.grid = blocks_for(queries, kWarps), .block = kWarps * kWarp};
    switch (step) {
        case AttentionStep::naive: return naive(a, output);
        case AttentionStep::fused: {
            constexpr std::int64_t kMostTime = 48 * 1024 / sizeof(float) / kWarps;
            if (time > kMostTime)
                fail("attention_ladder: the step fused keeps rows of up to " + std::to_string(kMostTime) + " scores, not " +
                     std::to_string(time));
            LaunchConfig config = warps;
            config.shared = SharedSize().take<float>(static_cast<int>(kWarps * time)).bytes();
            launch(config, attention_fused_kernel, a, queries);
            break;
        }
        case AttentionStep::online: launch(warps, attention_online_kernel, a, queries); break;
        case AttentionStep::tiles: start_tiles<1, 0>(a, queries); break;
        case AttentionStep::padding: start_tiles<1, 1>(a, queries); break;
        case AttentionStep::rows: start_tiles<4, 1>(a, queries); break;
    }
    return output;
}

int attention_ladder_registers(AttentionStep step) {
    switch (step) {
        case AttentionStep::naive: return registers_of(attention_scores_kernel);
        case AttentionStep::fused: return registers_of(attention_fused_kernel);
        case AttentionStep::online: return registers_of(attention_online_kernel);
        case AttentionStep::tiles: return registers_of(attention_tiles_kernel<1, 0>);
        case AttentionStep::padding: return registers_of(attention_tiles_kernel<1, 1>);
        case AttentionStep::rows: return registers_of(attention_tiles_kernel<4, 1>);
    }
    return 0;
}

}  // namespace heddle::kernels
