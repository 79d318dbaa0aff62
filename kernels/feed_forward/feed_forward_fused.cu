// The whole feed-forward network in one kernel: y = dropout(act(x W1^T + b1)) W2^T + b2, in bf16 with f32 sums.
//
// The hidden tensor h [rows, d_ff] is four times as wide as x. Here it is never written: a block walks along d_ff in tiles of 64
// units, makes a tile of h from its rows of x, uses it up for y at once and forgets it. It is attention's idea (queries, keys,
// values) with act in the place of the softmax: x are the queries, the rows of W1 the keys, the columns of W2 the values.
//
//     block    64 or 128 rows, 4 warps
//     warp     16 or 32 rows: its y stays in registers, as accumulators, from the first tile to the last
//     tile     W1 [64 units, width] and W2 [width, 64 units] in shared memory: one is copied while the other is multiplied with
//
// u [16, 64] stays where the first product left it, in registers: D of one product is A of the next, as the packed pairs that
// activate_tile makes.
//
// With two tiles of 16 rows a warp uses what it reads from shared memory twice, 1.5 cycles of it for each instruction of the
// tensor core instead of 2.5. With few rows there would be fewer blocks than multiprocessors, so then a warp takes one.
//
// Memory traffic: x once, y once, and W1 and W2 once per block, mostly from the second-level cache; for training h or u, written
// once and not read. That is also the limit: y must fit into registers, so rows are up to 128 wide. Where it is taken:
// feed_forward_runs_fused.
#include <optional>

#include "kernels/activation/activation_device.h"
#include "kernels/device/launch.h"
#include "kernels/device/mma.h"
#include "kernels/device/shared.h"
#include "kernels/device/tile_copy.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/feed_forward/detail/feed_forward_fused.h"

namespace heddle::kernels {
namespace {

using namespace device;
using namespace fused;

constexpr int kUnits = 64, kWarps = 4, kThreads = kWarps * kWarp;

struct FusedNetwork {
    const bf16 *x, *w1, *w2, *b2;  // [rows, d_model], [d_ff, d_model], [out, d_ff], [out] or null
    bf16* y;                       // [rows, out]
    std::int64_t rows, d_model, d_ff, out;
    bool vectors;  // whether rows of y begin at multiples of 16 bytes
    ActivatedTiles hidden;
};

// Rows of x and y up to Width; M tiles of 16 rows a warp; N: elements a copy takes (tile_copy.h).
template <int Width, int M, int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_fused_kernel(FusedNetwork net) {
    constexpr int kRows = kWarps * M * 16;
    SharedArena arena;
    bf16* const x = arena.take<bf16>(kRows * Width, 1024);    // [row][Width]
    bf16* const w1 = arena.take<bf16>(kUnits * Width, 1024);  // [unit 64][Width]
    bf16* const w2 = arena.take<bf16>(Width * kUnits, 1024);  // [Width][unit 64]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows, own_row = first_row + warp() * M * 16;

    // Both weights lie with k along their rows, as the transposes of B.
    const int place_x = swizzled<bf16, Width>(warp() * M * 16 + lane() % 16, lane() / 16 * 8, kRows);
    const int place_w = swizzled<bf16, kUnits>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2 * 8, kUnits);
    Pipeline<1> pipeline;
    pipeline.acquire();
    if (net.d_ff > 0) {
        copy_tile<kRows, Width, N, kThreads>(x, net.x, first_row, 0, net.rows, net.d_model);
        copy_tile<kUnits, Width, N, kThreads>(w1, net.w1, 0, 0, net.d_ff, net.d_model);
    }
    pipeline.commit();
    Accumulator16x8 y[M][Width / 8];
    for (std::int64_t unit = 0; unit < net.d_ff; unit += kUnits) {
        pipeline.wait();  // this thread's part of W1 (and of x, the first time) has landed
        __syncthreads();  // and everybody else's; and no thread reads the W2 before it any more
        pipeline.acquire();
        copy_tile<Width, kUnits, N, kThreads>(w2, net.w2, 0, unit, net.out, net.d_ff);
        pipeline.commit();
        Accumulator16x8 u[M][kUnits / 8];
#pragma unroll
        for (int k = 0; k < Width; k += 16) {
            FragmentA of_x[M];
#pragma unroll
            for (int m = 0; m < M; ++m) load_a(of_x[m], x + swizzled_from(place_x, 16 * m, k, kRows));
#pragma unroll
            for (int j = 0; j < kUnits; j += 16) {
                FragmentB left, right;
                load_b_pair(left, right, w1 + swizzled_from(place_w, j, k, kUnits));
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    mma(u[m][j / 8], of_x[m], left);
                    mma(u[m][j / 8 + 1], of_x[m], right);
                }
            }
        }
        FragmentA h[M][kUnits / 16];
#pragma unroll
        for (int m = 0; m < M; ++m) activate_tile(h[m], u[m], net.hidden, own_row + 16 * m, unit);
        pipeline.wait();  // this thread's part of W2 has landed
        __syncthreads();  // and everybody else's; and no thread reads this W1 any more
        pipeline.acquire();
        if (unit + kUnits < net.d_ff) copy_tile<kUnits, Width, N, kThreads>(w1, net.w1, unit + kUnits, 0, net.d_ff, net.d_model);
        pipeline.commit();
#pragma unroll
        for (int k = 0; k < kUnits; k += 16)
#pragma unroll
            for (int j = 0; j < Width; j += 16) {
                FragmentB left, right;
                load_b_pair(left, right, w2 + swizzled_from(place_w, j, k, Width));
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    mma(y[m][j / 8], h[m][k / 16], left);
                    mma(y[m][j / 8 + 1], h[m][k / 16], right);
                }
            }
        pipeline.release();
    }
#pragma unroll
    for (int m = 0; m < M; ++m) write_sums(net.y, y[m], net.b2, own_row + 16 * m, net.rows, net.out, net.vectors);
}

template <int Width, int M, int N>
void start(const FusedNetwork& net) {
    SharedSize shared;
    shared.take<bf16>(kWarps * M * 16 * Width, 1024);
    shared.take<bf16>(kUnits * Width, 1024);
    shared.take<bf16>(Width * kUnits, 1024);
    launch({.grid = dim3(blocks_for(net.rows, kWarps * M * 16)), .block = dim3(kThreads), .shared = shared.bytes()},
           feed_forward_fused_kernel<Width, M, N>, net);
}

}  // namespace

FeedForwardResult feed_forward_fused_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                          const Dropout& dropout, bool keep, std::optional<int> tiles) {
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
                           .vectors = vectors_fit(result.y.data<bf16>(), out, 8),
                           .hidden = {.b1 = data(weights.b1),
                                      .u = relu ? nullptr : kept,
                                      .h = relu ? kept : nullptr,
                                      .rows = rows,
                                      .d_ff = d_ff,
                                      .vectors = kept != nullptr && vectors_fit(kept, d_ff, 8),
                                      .activation = activation,
                                      .dropout = DropoutRule(dropout)}};
    with_fused_width("feed_forward_fused", d_model, out, [&](auto width) {
        if (!vectors_fit(net.x, d_model, 8) || !vectors_fit(net.w1, d_model, 8) || !vectors_fit(net.w2, d_ff, 8))
            start<width(), 1, 1>(net);
        else if (tiles.value_or(fused_tiles(rows)) == 1)
            start<width(), 1, 8>(net);
        else
            start<width(), 2, 8>(net);
    });
    return result;
}

}  // namespace heddle::kernels
