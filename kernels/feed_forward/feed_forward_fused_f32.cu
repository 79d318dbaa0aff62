// The whole feed-forward network in one kernel, in f32: y = dropout(act(x W1^T + b1)) W2^T + b2 by multiply-adds alone, never in
// tf32. For evaluation and decoding of few rows, where three launches take longer than the arithmetic; nothing is kept.
//
//     block    16 rows, 4 warps: as few rows as there can be, so that a step of decoding spreads over many processors
//     tile     64 units: W1 [64, width], then W2 [width, 64], each copied while the other is multiplied with
//     warp     all 16 rows, 16 units of u and a quarter of y's columns
//     lane     rows l / 8 + 4 i, i < 4, and columns l % 8 + 8 j of its warp's: four of y's rows stay in its registers
//
// Both products are rows times rows: u = x (W1's rows), y += h (W2's rows), each sum a chain of multiply-adds in ascending order.
// A row of a tile is four floats longer than it needs to be, so the eight rows that the lanes of a quarter warp read 16 bytes of
// lie in different banks. h [16, 64] is the one tile that a warp makes and all read.
//
// Memory traffic: x and y once, W1 and W2 once per 16 rows, from the second-level cache.
#include "kernels/activation/activation_device.h"
#include "kernels/device/launch.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/random.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/feed_forward/detail/feed_forward.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kRows = 16, kUnits = 64, kWarps = 4, kThreads = kWarps * kWarp, kPadding = 4;
constexpr int kLaneRows = 4;   // of a lane: l / 8 + 4 i
constexpr int kLaneUnits = 2;  // of a lane: l % 8 + 8 j of its warp's 16
static_assert(kUnits == kWarps * 8 * kLaneUnits && kRows == kLaneRows * kWarp / 8);

struct FusedNetwork {
    const float *x, *w1, *b1, *w2, *b2;  // [rows, d_model], [d_ff, d_model], [d_ff] or null, [out, d_ff], [out] or null
    float* y;                            // [rows, out]
    std::int64_t rows, d_model, d_ff, out;
    Activation activation;
    DropoutRule dropout;
};

// The tile [Rows, Cols] of matrix [rows, cols] that begins at (row, col), in rows of Cols + kPadding; zeros beyond the matrix. N
// = 4: asynchronous copies of 16 bytes; cols is a multiple of 4 and the matrix aligned. N = 1: by element, there at once.
template <int Rows, int Cols, int N>
__device__ __forceinline__ void copy_padded(float* tile, const float* matrix, std::int64_t row, std::int64_t col,
                                            std::int64_t rows, std::int64_t cols) {
    constexpr int kChunks = Cols / 4;  // of a row; neighbouring threads read neighbouring chunks
    for (int i = thread_in_block(); i < Rows * kChunks; i += kThreads) {
        const int r = i / kChunks, c = i % kChunks * 4;
        const float* const from = matrix + (row + r) * cols + col + c;
        float* const to = tile + r * (Cols + kPadding) + c;
        if constexpr (N == 4) {
            const bool inside = row + r < rows && col + c < cols;
            copy_async<16>(to, inside ? from : matrix, inside ? 16 : 0);
        } else {
            for (int e = 0; e < 4; ++e) to[e] = row + r < rows && col + c + e < cols ? from[e] : 0.0f;
        }
    }
}

// sum[i][j] += a's row l / 8 + 4 i times b's row l % 8 + 8 j; rows of K + kPadding.
template <int K, int J>
__device__ __forceinline__ void multiply_rows(float (&sum)[kLaneRows][J], const float* a, const float* b) {
    constexpr int kPitch = K + kPadding;
    const float* const own_a = a + lane() / 8 * kPitch;
    const float* const own_b = b + lane() % 8 * kPitch;
#pragma unroll 2
    for (int k = 0; k < K; k += 4) {
        Vector<float, 4> left[kLaneRows];
#pragma unroll
        for (int i = 0; i < kLaneRows; ++i) left[i] = load_vector<4>(own_a + 4 * i * kPitch + k);
#pragma unroll
        for (int j = 0; j < J; ++j) {
            const Vector<float, 4> right = load_vector<4>(own_b + 8 * j * kPitch + k);
#pragma unroll
            for (int e = 0; e < 4; ++e)
#pragma unroll
                for (int i = 0; i < kLaneRows; ++i) sum[i][j] = ::fmaf(left[i][e], right[e], sum[i][j]);
        }
    }
}

// h = dropout(act(u + b1)) of a lane's units to the tile h [16, 64]; its first row and first unit in the whole tensor are `row`
// and `unit`.
__device__ __forceinline__ void store_hidden(float* h, const float (&u)[kLaneRows][kLaneUnits], const FusedNetwork& net,
                                             std::int64_t row, std::int64_t unit) {
    const auto scale = static_cast<float>(net.dropout.scale);
    // Eight lanes hold eight units of a row, a group of one Philox call, and together eight such groups: each lane draws for one.
    const int of_warp = warp() * 8 * kLaneUnits, eight = lane() / 8, mine = lane() % 8;
    const unsigned drawn =
        kept_in_row(net.dropout, row + eight + 4 * (mine / kLaneUnits), (unit + of_warp) / 8 + mine % kLaneUnits);
#pragma unroll
    for (int j = 0; j < kLaneUnits; ++j) {
        const int col = of_warp + 8 * j + mine;
        const bool exists = unit + col < net.d_ff;  // beyond d_ff even an infinite x counts nothing
        const float bias = net.b1 != nullptr && exists ? net.b1[unit + col] : 0;
#pragma unroll
        for (int i = 0; i < kLaneRows; ++i) {
            const unsigned kept = __shfl_sync(kAllLanes, drawn, 8 * eight + i * kLaneUnits + j) >> mine;
            const float value = activated(u[i][j] + bias, net.activation) * (kept & 1 ? scale : 0.0f);
            h[(eight + 4 * i) * (kUnits + kPadding) + col] = exists ? value : 0.0f;
        }
    }
}

// Rows of x and y up to Width; N: elements that a copy takes.
template <int Width, int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_fused_f32_kernel(FusedNetwork net) {
    constexpr int kCols = Width / kWarps;  // of y, a warp's
    SharedArena arena;
    float* const tile_x = arena.take<float>(kRows * (Width + kPadding));    // [16][Width]
    float* const tile_w1 = arena.take<float>(kUnits * (Width + kPadding));  // [unit 64][Width]
    float* const tile_w2 = arena.take<float>(Width * (kUnits + kPadding));  // [Width][unit 64]
    float* const tile_h = arena.take<float>(kRows * (kUnits + kPadding));   // [16][unit 64]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows;
    const std::int64_t tiles = (net.d_ff + kUnits - 1) / kUnits;
    Pipeline<1> pipeline;
    pipeline.acquire();
    if (tiles > 0) {
        copy_padded<kRows, Width, N>(tile_x, net.x, first_row, 0, net.rows, net.d_model);
        copy_padded<kUnits, Width, N>(tile_w1, net.w1, 0, 0, net.d_ff, net.d_model);
    }
    pipeline.commit();
    float y[kLaneRows][kCols / 8] = {};
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        pipeline.wait();
        __syncthreads();  // everybody's part of W1 has landed, and nobody reads W2 and h of the tile before any more
        pipeline.acquire();
        copy_padded<Width, kUnits, N>(tile_w2, net.w2, 0, tile * kUnits, net.out, net.d_ff);
        pipeline.commit();
        float u[kLaneRows][kLaneUnits] = {};
        multiply_rows<Width>(u, tile_x, tile_w1 + warp() * 8 * kLaneUnits * (Width + kPadding));
        store_hidden(tile_h, u, net, first_row, tile * kUnits);
        pipeline.wait();
        __syncthreads();  // h is whole, everybody's part of W2 has landed, and nobody reads W1 any more
        pipeline.acquire();
        if (tile + 1 < tiles) copy_padded<kUnits, Width, N>(tile_w1, net.w1, (tile + 1) * kUnits, 0, net.d_ff, net.d_model);
        pipeline.commit();
        multiply_rows<kUnits>(y, tile_h, tile_w2 + warp() * kCols * (kUnits + kPadding));
        pipeline.release();
    }
#pragma unroll
    for (int j = 0; j < kCols / 8; ++j) {
        const std::int64_t col = warp() * kCols + 8 * j + lane() % 8;
        if (col >= net.out) continue;
        const float bias = net.b2 != nullptr ? net.b2[col] : 0;
#pragma unroll
        for (int i = 0; i < kLaneRows; ++i) {
            const std::int64_t row = first_row + lane() / 8 + 4 * i;
            if (row < net.rows) net.y[row * net.out + col] = y[i][j] + bias;
        }
    }
}

template <int Width>
void start(const FusedNetwork& net) {
    const bool fits =
        vectors_fit(net.x, net.d_model, 4) && vectors_fit(net.w1, net.d_model, 4) && vectors_fit(net.w2, net.d_ff, 4);
    SharedSize shared;
    shared.take<float>(kRows * (Width + kPadding));
    shared.take<float>(kUnits * (Width + kPadding));
    shared.take<float>(Width * (kUnits + kPadding));
    shared.take<float>(kRows * (kUnits + kPadding));
    launch({.grid = dim3(blocks_for(net.rows, kRows)), .block = dim3(kThreads), .shared = shared.bytes()},
           fits ? feed_forward_fused_f32_kernel<Width, 4> : feed_forward_fused_f32_kernel<Width, 1>, net);
}

}  // namespace

Tensor feed_forward_fused_f32_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                   const Dropout& dropout) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.rows(), out = weights.w2.rows();
    const auto data = [](const Tensor& tensor) { return tensor.defined() ? tensor.data<float>() : nullptr; };
    Tensor y = Tensor::empty({rows, out}, DType::f32, Device::cuda);
    const FusedNetwork net{.x = data(x),
                           .w1 = data(weights.w1),
                           .b1 = data(weights.b1),
                           .w2 = data(weights.w2),
                           .b2 = data(weights.b2),
                           .y = y.mutable_data<float>(),
                           .rows = rows,
                           .d_model = d_model,
                           .d_ff = d_ff,
                           .out = out,
                           .activation = activation,
                           .dropout = DropoutRule(dropout)};
    with_fused_width("feed_forward_fused", d_model, out, [&](auto width) { start<width()>(net); });
    return y;
}

}  // namespace heddle::kernels
