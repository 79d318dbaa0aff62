// The feed-forward network, y = h W2^T + b2 with h = max(0, x W1^T + b1), in six steps. Each keeps what the one before it taught
// and adds one idea; GELU and dropout are left out.
//
// Two products with a row of weights for each unit, and h between them, which is four times as wide as x. Two things count: how
// often h crosses the memory bus, and how often a number of a weight is used once it has been read.
//
//     step           launches    h is written, read    a weight is read from global memory    and from shared memory
//     naive          4           twice, twice          once a row                             -
//     epilogue       2           once, once            once a row                             -
//     tiles          2           once, once            once for 32 rows                       once a row
//     fused          1           never                 once for 16 rows                       once a row
//     rows           1           never                 once for 16 rows                       once for 4 rows
//     copies_ahead   1           never                 the same, ahead of its use             once for 4 rows
//
// The last one is the idea of feed_forward_fused_f32.cu, which reads shared memory by 16 bytes and has activations and dropout.
#include <string>

#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/feed_forward/feed_forward_ladder.h"

namespace heddle::kernels {
namespace {

using namespace device;

// y [rows, out] = x W^T (+ bias, then ReLU) for x [rows, in] and W [out, in].
struct Layer {
    const float *x, *weight, *bias;  // bias [out] or null
    float* y;
    std::int64_t rows, in, out;
    bool relu;
};

__device__ __forceinline__ float finished(float sum, float bias, bool relu) {
    sum += bias;
    return relu && sum < 0 ? 0.0f : sum;  // a NaN stays
}

// ---- 1. naive: a thread an element, and passes for the rest
//
// Neighbouring threads have neighbouring units, so their rows of W lie `in` numbers apart: each of these reads touches 32
// sectors. The bias and ReLU take a pass of their own over h, and the second bias one over y.
constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) feed_forward_naive_kernel(Layer a) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i >= a.rows * a.out) return;
    const std::int64_t row = i / a.out, unit = i % a.out;
    float sum = 0;
    for (std::int64_t k = 0; k < a.in; ++k) sum += read_one(a.x + row * a.in + k) * read_one(a.weight + unit * a.in + k);
    // ---- 2. epilogue: what follows the sum is done before it is stored
    //
    // A product with a bias adds it to the sum, and takes the maximum with 0, while both are in a register: two passes over h and
    // two over y are saved.
    if (a.bias != nullptr) sum = finished(sum, read_one(a.bias + unit), a.relu);
    write_one(a.y + i, sum);
}

__global__ void __launch_bounds__(kThreads) feed_forward_bias_kernel(Layer a) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < a.rows * a.out) write_one(a.y + i, finished(read_one(a.y + i), read_one(a.bias + i % a.out), a.relu));
}

// ---- 3. tiles: a number is read once for 32 others
//
// A block makes 32 x 32 elements of y. It walks along the sum in steps of 32: neighbouring threads copy neighbours of 32 rows of
// x and of 32 rows of W to shared memory, and then every thread multiplies a row of one with a row of the other. Lanes are rows
// of W: with one number between its rows in the tile, these begin in different banks.
constexpr int kTile = 32, kPitch = kTile + 1, kTileWarps = 8;

// Rows [row, row + Rows) and columns [col, col + Cols) of matrix [rows, cols] to a tile with a pitch, zeros beyond the matrix, by
// all threads of the block.
template <int Threads>
__device__ __forceinline__ void copy_now(float* tile, int tile_rows, int tile_cols, int pitch, const float* matrix,
                                         std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
    for (int i = thread_in_block(); i < tile_rows * tile_cols; i += Threads) {
        const int r = i / tile_cols, c = i % tile_cols;
        const bool inside = row + r < rows && col + c < cols;
        write_one(tile + r * pitch + c, inside ? read_one(matrix + (row + r) * cols + col + c) : 0.0f);
    }
}

__global__ void __launch_bounds__(kTileWarps* kWarp) feed_forward_tiles_kernel(Layer a) {
    SharedArena arena;
    float* const tile_x = arena.take<float>(kTile * kPitch);  // [row][k]
    float* const tile_w = arena.take<float>(kTile * kPitch);  // [unit][k]
    const std::int64_t across = (a.out + kTile - 1) / kTile;
    const std::int64_t first_row = blockIdx.x / across * kTile, first_unit = blockIdx.x % across * kTile;
    constexpr int kRows = kTile / kTileWarps;  // of a thread: rows warp, warp + 8, ..
    float sum[kRows] = {};
    for (std::int64_t first = 0; first < a.in; first += kTile) {
        copy_now<kTileWarps * kWarp>(tile_x, kTile, kTile, kPitch, a.x, first_row, first, a.rows, a.in);
        copy_now<kTileWarps * kWarp>(tile_w, kTile, kTile, kPitch, a.weight, first_unit, first, a.out, a.in);
        __syncthreads();  // both tiles are whole: each thread reads what others copied
#pragma unroll
        for (int r = 0; r < kRows; ++r)
            for (int k = 0; k < kTile; ++k)
                sum[r] += read_one(tile_x + (warp() + kTileWarps * r) * kPitch + k) * read_one(tile_w + lane() * kPitch + k);
        __syncthreads();  // everybody has read them: the next step overwrites them
    }
    const std::int64_t unit = first_unit + lane();
    if (unit >= a.out) return;
    const float bias = read_one(a.bias + unit);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = first_row + warp() + kTileWarps * r;
        if (row < a.rows) write_one(a.y + row * a.out + unit, finished(sum[r], bias, a.relu));
    }
}

// ---- 4. fused: h never leaves the chip
//
// A block keeps 16 rows of x in shared memory and walks along d_ff, 32 units at a time: it makes 16 x 32 numbers of h, leaves
// them in shared memory, multiplies them with the 32 columns of W2 that belong to them, and adds to its 16 rows of y, which stay
// in registers until the end. What is written to global memory is y. A warp has 4 rows; its lanes are units, then columns of y.
//
// ---- 5. rows: a weight is used four times
//
// The same kernel, but the 4 rows of a warp go through the sum together: a number of W1 or W2, once read from shared memory,
// serves four multiply-adds.
//
// ---- 6. copies ahead: the weights come while there is something to compute
//
// The same kernel, but after the first tile of W1 a block computes while a tile is on its way: W2's while h is made with W1's,
// and W1's next one while h is multiplied with W2's. Asynchronous copies go from global to shared memory without the registers,
// and a thread waits for them only when it needs the tile.
constexpr int kRows = 16, kUnits = 32, kFusedWarps = 4, kOwnRows = kRows / kFusedWarps;
constexpr int kMostWidth = 128;
constexpr int kFusedThreads = kFusedWarps * kWarp, kUnitPitch = kUnits + 1;

struct Network {
    const float *x, *w1, *b1, *w2, *b2;  // [rows, d_model], [d_ff, d_model], [d_ff], [out, d_ff], [out]
    float* y;                            // [rows, out]
    std::int64_t rows, d_ff;
    int d_model, out;
};

// The same as copy_now, but the copies only begin. 4 bytes each, for rows that begin in different banks do not all begin at
// multiples of 16 bytes.
__device__ __forceinline__ void copy_ahead(float* tile, int tile_rows, int tile_cols, int pitch, const float* matrix,
                                           std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
    for (int i = thread_in_block(); i < tile_rows * tile_cols; i += kFusedThreads) {
        const int r = i / tile_cols, c = i % tile_cols;
        const bool inside = row + r < rows && col + c < cols;
        copy_async<4>(tile + r * pitch + c, inside ? matrix + (row + r) * cols + col + c : matrix, inside ? 4 : 0);
    }
}

// sum[r] += row r of own [4, pitch] times a row of weights [count], `Together` rows at a time.
template <int Together>
__device__ __forceinline__ void multiply(float (&sum)[kOwnRows], const float* own, int pitch, const float* weights, int count) {
#pragma unroll
    for (int first = 0; first < kOwnRows; first += Together)
        for (int k = 0; k < count; ++k) {
            const float weight = read_one(weights + k);
#pragma unroll
            for (int r = first; r < first + Together; ++r) sum[r] += read_one(own + r * pitch + k) * weight;
        }
}

template <int Together, bool Ahead>
__global__ void __launch_bounds__(kFusedThreads) feed_forward_fused_ladder_kernel(Network net) {
    SharedArena arena;
    const int pitch = net.d_model + 1;
    float* const tile_x = arena.take<float>(kRows * pitch);          // [16][d_model]
    float* const tile_w1 = arena.take<float>(kUnits * pitch);        // [unit 32][d_model]
    float* const tile_w2 = arena.take<float>(net.out * kUnitPitch);  // [out][unit 32]
    float* const tile_h = arena.take<float>(kRows * kUnitPitch);     // [16][unit 32]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows;
    const auto load = [&](auto... tile) {
        if constexpr (Ahead)
            copy_ahead(tile...);
        else
            copy_now<kFusedThreads>(tile...);
    };
    const auto load_w1 = [&](std::int64_t unit) {
        load(tile_w1, kUnits, net.d_model, pitch, net.w1, unit, std::int64_t{0}, net.d_ff, std::int64_t{net.d_model});
    };
    const auto load_w2 = [&](std::int64_t unit) {
        load(tile_w2, net.out, kUnits, kUnitPitch, net.w2, std::int64_t{0}, unit, std::int64_t{net.out}, net.d_ff);
    };
    float* const own_h = tile_h + warp() * kOwnRows * kUnitPitch;  // [4][unit 32]: made and read by this warp alone
    float y[kMostWidth / kWarp][kOwnRows] = {};                    // of this lane's columns
    Pipeline<1> pipeline;
    load(tile_x, kRows, net.d_model, pitch, net.x, first_row, std::int64_t{0}, net.rows, std::int64_t{net.d_model});
    if (Ahead) {
        load_w1(0);
        pipeline.commit();
    }
    for (std::int64_t unit = 0; unit < net.d_ff; unit += kUnits) {
        if (!Ahead) load_w1(unit);
        if (Ahead) pipeline.wait();
        __syncthreads();  // x and W1 are whole, and nobody reads W2 of the tile before any more
        load_w2(unit);
        if (Ahead) pipeline.commit();
        float u[kOwnRows] = {};
        multiply<Together>(u, tile_x + warp() * kOwnRows * pitch, pitch, tile_w1 + lane() * pitch, net.d_model);
        const bool exists = unit + lane() < net.d_ff;
        const float bias = exists ? read_one(net.b1 + unit + lane()) : 0;
#pragma unroll
        for (int r = 0; r < kOwnRows; ++r) write_one(own_h + r * kUnitPitch + lane(), exists ? finished(u[r], bias, true) : 0.0f);
        if (Ahead) pipeline.wait();
        __syncthreads();  // h and W2 are whole, and nobody reads W1 any more
        if (Ahead && unit + kUnits < net.d_ff) load_w1(unit + kUnits);
        if (Ahead) pipeline.commit();
#pragma unroll
        for (int c = 0; c < kMostWidth / kWarp; ++c)
            if (c * kWarp + lane() < net.out)
                multiply<Together>(y[c], own_h, kUnitPitch, tile_w2 + (c * kWarp + lane()) * kUnitPitch, kUnits);
    }
#pragma unroll
    for (int c = 0; c < kMostWidth / kWarp; ++c) {
        const int column = c * kWarp + lane();
        if (column >= net.out) break;
        const float bias = read_one(net.b2 + column);
#pragma unroll
        for (int r = 0; r < kOwnRows; ++r) {
            const std::int64_t row = first_row + warp() * kOwnRows + r;
            if (row < net.rows) write_one(net.y + row * net.out + column, finished(y[c][r], bias, false));
        }
    }
}

// ---- the host's side

// One product and, in the naive step, the pass behind it.
void run_layer(FeedForwardStep step, Layer layer) {
    const std::int64_t elements = layer.rows * layer.out;
    const LaunchConfig threads{.grid = blocks_for(elements, kThreads), .block = kThreads};
    if (step == FeedForwardStep::tiles) {
        const std::int64_t tiles = (layer.rows + kTile - 1) / kTile * ((layer.out + kTile - 1) / kTile);
        return launch({.grid = blocks_for(tiles, 1),
                       .block = kTileWarps * kWarp,
                       .shared = SharedSize().take<float>(kTile * kPitch).take<float>(kTile * kPitch).bytes()},
                      feed_forward_tiles_kernel, layer);
    }
    if (step == FeedForwardStep::epilogue) return launch(threads, feed_forward_naive_kernel, layer);
    Layer product = layer;
    product.bias = nullptr;
    launch(threads, feed_forward_naive_kernel, product);
    launch(threads, feed_forward_bias_kernel, layer);
}

template <int Together, bool Ahead>
void start_fused(const Network& net) {
    SharedSize shared;
    for (const int rows : {kRows, kUnits}) shared.take<float>(rows * (net.d_model + 1));
    for (const int rows : {net.out, kRows}) shared.take<float>(rows * kUnitPitch);
    launch({.grid = blocks_for(net.rows, kRows), .block = kFusedThreads, .shared = shared.bytes()},
           feed_forward_fused_ladder_kernel<Together, Ahead>, net);
}

}  // namespace

Tensor feed_forward_ladder(FeedForwardStep step, const Tensor& x, const FeedForwardWeights& weights) {
    const auto& [w1, b1, w2, b2] = weights;
    for (const Tensor& one : {x, w1, b1, w2, b2})
        if (!one.defined() || one.dtype() != DType::f32 || one.device() != Device::cuda || one.numel() == 0)
            fail("feed_forward_ladder: wanted x, w1, b1, w2 and b2 with elements, in f32 on the CUDA device");
    if (x.rank() != 2 || w1.rank() != 2 || w2.rank() != 2 || w1.dim(1) != x.dim(1) || w2.dim(1) != w1.dim(0) ||
        b1.shape() != Shape({w1.dim(0)}) || b2.shape() != Shape({w2.dim(0)}))
        fail("feed_forward_ladder: wanted x [rows, d_model], w1 [d_ff, d_model], b1 [d_ff], w2 [out, d_ff] and b2 [out]");
    const std::int64_t rows = x.dim(0), d_model = x.dim(1), d_ff = w1.dim(0), out = w2.dim(0);
    Tensor y = Tensor::empty({rows, out}, DType::f32, Device::cuda);
    if (step < FeedForwardStep::fused) {
        Tensor h = Tensor::empty({rows, d_ff}, DType::f32, Device::cuda);
        run_layer(step, {.x = x.data<float>(),
                         .weight = w1.data<float>(),
                         .bias = b1.data<float>(),
                         .y = h.mutable_data<float>(),
                         .rows = rows,
                         .in = d_model,
                         .out = d_ff,
                         .relu = true});
        run_layer(step, {.x = h.data<float>(),
                         .weight = w2.data<float>(),
                         .bias = b2.data<float>(),
                         .y = y.mutable_data<float>(),
                         .rows = rows,
                         .in = d_ff,
                         .out = out,
                         .relu = false});
        return y;
    }
    if (d_model > kMostWidth || out > kMostWidth)
        fail("feed_forward_ladder: from the step fused on, x and y have up to " + std::to_string(kMostWidth) +
             " columns; these have " + std::to_string(d_model) + " and " + std::to_string(out));
    const Network net{.x = x.data<float>(),
                      .w1 = w1.data<float>(),
                      .b1 = b1.data<float>(),
                      .w2 = w2.data<float>(),
                      .b2 = b2.data<float>(),
                      .y = y.mutable_data<float>(),
                      .rows = rows,
                      .d_ff = d_ff,
                      .d_model = static_cast<int>(d_model),
                      .out = static_cast<int>(out)};
    if (step == FeedForwardStep::fused) start_fused<1, false>(net);
    if (step == FeedForwardStep::rows) start_fused<kOwnRows, false>(net);
    if (step == FeedForwardStep::copies_ahead) start_fused<kOwnRows, true>(net);
    return y;
}

int feed_forward_ladder_registers(FeedForwardStep step) {
    switch (step) {
        case FeedForwardStep::naive:
        case FeedForwardStep::epilogue: return registers_of(feed_forward_naive_kernel);
        case FeedForwardStep::tiles: return registers_of(feed_forward_tiles_kernel);
        case FeedForwardStep::fused: return registers_of(feed_forward_fused_ladder_kernel<1, false>);
        case FeedForwardStep::rows: return registers_of(feed_forward_fused_ladder_kernel<kOwnRows, false>);
        case FeedForwardStep::copies_ahead: return registers_of(feed_forward_fused_ladder_kernel<kOwnRows, true>);
    }
    return 0;
}

}  // namespace heddle::kernels
