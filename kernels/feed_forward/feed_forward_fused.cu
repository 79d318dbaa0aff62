// The whole feed-forward network in one kernel: y = dropout(act(x W1^T + b1)) W2^T + b2, in bf16 with f32 sums.
//
// The hidden tensor h [rows, d_ff] is four times as wide as x. Here it is never written: a block walks along d_ff in tiles of 64
// units, makes a tile of h from its rows of x, uses it up for y at once and forgets it. It is attention's idea (queries, keys,
// values) with act in the place of the softmax: x are the queries, the rows of W1 the keys, the columns of W2 the values.
//
//     block    64 rows, 4 warps
//     warp     16 rows: its y [16, width] stays in registers, as accumulators, from the first tile to the last
//     tile     W1 [64 units, width] and W2 [width, 64 units] in shared memory, double: the next is copied during the products
//
// u [16, 64] stays where the first product left it, in registers: D of one product is A of the next (mma.h, as_a).
//
// Memory traffic: x once, y once, and W1 and W2 once per block, mostly from the second-level cache; for training h or u, written
// once and not read. That is also the limit: 64 rows use a weight 64 times, where two products by cuBLASLt use it 128 or 256
// times; and y must fit into registers, so rows are up to 128 wide. Where it is taken: feed_forward_runs_fused.
#include "kernels/device/launch.h"
#include "kernels/device/mma.h"
#include "kernels/device/shared.h"
#include "kernels/device/tile_copy.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/feed_forward/detail/feed_forward_device.h"
#include "kernels/feed_forward/detail/feed_forward_fused.h"

namespace heddle::kernels {
namespace {

using namespace device;
using namespace fused;

constexpr int kRows = 64, kUnits = 64, kWarps = 4, kThreads = kWarps * kWarp, kStages = 2;

struct FusedNetwork {
    const bf16 *x, *w1, *w2, *b2;  // [rows, d_model], [d_ff, d_model], [out, d_ff], [out] or null
    bf16* y;                       // [rows, out]
    std::int64_t rows, d_model, d_ff, out;
    ActivatedTiles hidden;
};

// Rows of x and y up to Width; N: elements a copy takes (tile_copy.h).
template <int Width, int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_fused_kernel(FusedNetwork net) {
    constexpr int kWeights = kUnits * Width;
    SharedArena arena;
    bf16* const tile_x = arena.take<bf16>(kRows * Width, 1024);         // [row 64][Width]
    bf16* const tiles_w1 = arena.take<bf16>(kStages * kWeights, 1024);  // [stage][unit 64][Width]
    bf16* const tiles_w2 = arena.take<bf16>(kStages * kWeights, 1024);  // [stage][Width][unit 64]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows;
    const int warp_row = warp() * 16;

    const auto copy_weights = [&](std::int64_t tile) {
        const std::int64_t stage = tile % kStages * kWeights;
        copy_tile<kUnits, Width, N>(tiles_w1 + stage, net.w1, tile * kUnits, 0, net.d_ff, net.d_model, kThreads);
        copy_tile<Width, kUnits, N>(tiles_w2 + stage, net.w2, 0, tile * kUnits, net.out, net.d_ff, kThreads);
    };

    const std::int64_t tiles = (net.d_ff + kUnits - 1) / kUnits;
    Pipeline<kStages> pipeline;
    pipeline.acquire();
    if (tiles > 0) {
        copy_tile<kRows, Width, N>(tile_x, net.x, first_row, 0, net.rows, net.d_model, kThreads);
        copy_weights(0);
    }
    pipeline.commit();
    Accumulator16x8 y[Width / 8];
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        pipeline.acquire();
        if (tile + 1 < tiles) copy_weights(tile + 1);
        pipeline.commit();
        pipeline.wait();  // this thread's part of the tile (and of x, the first time) has landed
        __syncthreads();  // and everybody else's
        const bf16* const w1 = tiles_w1 + tile % kStages * kWeights;
        const bf16* const w2 = tiles_w2 + tile % kStages * kWeights;
        // Both weights lie with k along their rows, as the transposes of B.
        const int n_of_lane = lane() % 8 + lane() / 16 * 8, k_of_lane = lane() / 8 % 2 * 8;
        Accumulator16x8 u[kUnits / 8];
#pragma unroll
        for (int k = 0; k < Width / 16; ++k) {
            FragmentA x;
            load_a(x, tile_x + swizzled<bf16, Width>(warp_row + lane() % 16, 16 * k + lane() / 16 * 8, kRows));
#pragma unroll
            for (int j = 0; j < kUnits / 16; ++j) {
                FragmentB left, right;
                load_b_pair(left, right, w1 + swizzled<bf16, Width>(16 * j + n_of_lane, 16 * k + k_of_lane, kUnits));
                mma(u[2 * j], x, left);
                mma(u[2 * j + 1], x, right);
            }
        }
        activate_tile(u, net.hidden, first_row + warp_row, tile * kUnits);
#pragma unroll
        for (int k = 0; k < kUnits / 16; ++k) {
            const FragmentA h = as_a(u[2 * k], u[2 * k + 1]);
#pragma unroll
            for (int j = 0; j < Width / 16; ++j) {
                FragmentB left, right;
                load_b_pair(left, right, w2 + swizzled<bf16, kUnits>(16 * j + n_of_lane, 16 * k + k_of_lane, Width));
                mma(y[2 * j], h, left);
                mma(y[2 * j + 1], h, right);
            }
        }
        __syncthreads();  // no thread reads this tile any more: the copies of the one after the next may overwrite it
        pipeline.release();
    }
#pragma unroll
    for (int j = 0; j < Width / 8; ++j) {
        const std::int64_t col = 8 * j + Accumulator16x8::col(0);
        float bias[2];
        load_biases(bias, net.b2, col, net.out);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::int64_t row = first_row + warp_row + Accumulator16x8::row(2 * r);
            if (row < net.rows) store_pair(net.y + row * net.out, col, net.out, y[j][2 * r] + bias[0], y[j][2 * r + 1] + bias[1]);
        }
    }
}

template <int Width>
void start(const FusedNetwork& net) {
    const bool fits =
        vectors_fit(net.x, net.d_model, 8) && vectors_fit(net.w1, net.d_model, 8) && vectors_fit(net.w2, net.d_ff, 8);
    SharedSize shared;
    shared.take<bf16>(kRows * Width, 1024);
    shared.take<bf16>(kStages * kUnits * Width, 1024);
    shared.take<bf16>(kStages * kUnits * Width, 1024);
    launch({.grid = dim3(blocks_for(net.rows, kRows)), .block = dim3(kThreads), .shared = shared.bytes()},
           fits ? feed_forward_fused_kernel<Width, 8> : feed_forward_fused_kernel<Width, 1>, net);
}

}  // namespace

FeedForwardResult feed_forward_fused_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                          const Dropout& dropout, bool keep) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.rows(), out = weights.w2.rows();
    const auto data = [](const Tensor& tensor) { return tensor.defined() ? tensor.data<bf16>() : nullptr; };
    FeedForwardResult result{Tensor::empty({rows, out}, DType::bf16, Device::cuda), {}};
    if (keep) result.hidden = Tensor::empty({rows, d_ff}, DType::bf16, Device::cuda);
    bf16* const kept = keep ? result.hidden.mutable_data<bf16>() : nullptr;
    const bool relu = activation == Activation::relu;
    const FusedNetwork net{.x = data(x),
                           .w1 = data(weights.w1),
                           .w2 = data(weights.w2),
                           .b2 = data(weights.b2),
                           .y = result.y.mutable_data<bf16>(),
                           .rows = rows,
                           .d_model = d_model,
                           .d_ff = d_ff,
                           .out = out,
                           .hidden = {.b1 = data(weights.b1),
                                      .u = relu ? nullptr : kept,
                                      .h = relu ? kept : nullptr,
                                      .rows = rows,
                                      .d_ff = d_ff,
                                      .activation = activation,
                                      .dropout = DropoutRule(dropout)}};
    with_fused_width("feed_forward_fused", d_model, out, [&](auto width) { start<width()>(net); });
    return result;
}

}  // namespace heddle::kernels
