// Computes dx from dy in one kernel: dh = dy W2, du = dh * dropout factor * act'(u), dx = du W1, in bf16 with f32 sums.
//
// The counterpart of feed_forward_fused.cu, with its tiles and warps: a block walks along d_ff in tiles of 64 units, makes a tile
// of dh from its rows of dy, turns it into du in registers and adds to dx, which stays there to the end. dh is never written. du
// is, once: dW1 = du^T x and db1 sum over rows, which other blocks hold. For GELU and SiLU the tile of h is made again beside it,
// for dW2.
//
//     dy [rows, out]  --W2 tile-->  dh [rows, 64]  --hidden tile-->  du [rows, 64]  --W1 tile-->  dx [rows, d_model] +=
//
// W2 [out, d_ff] and W1 [d_ff, d_model] lie here as the products want them, k along the columns: ldmatrix transposes them.
//
// Memory traffic: dy, hidden, du and dx once, h of a smooth act once, and W1 and W2 once per block, mostly from the
// second-level cache. Op by op, dh is written and read back, du is read again by dx's product, and u by the pass that makes h.
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

struct FusedGradient {
    const bf16 *dy, *w1, *w2;  // [rows, out], [d_ff, d_model], [out, d_ff]
    bf16* dx;                  // [rows, d_model]
    std::int64_t rows, d_model, d_ff, out;
    bool vectors;  // whether rows of dx begin at multiples of 16 bytes
    DifferentiatedTiles to;
};

// Rows of dy and dx up to Width; M tiles of 16 rows a warp; N: elements a copy takes (tile_copy.h).
template <int Width, int M, int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_fused_backward_kernel(FusedGradient net) {
    constexpr int kRows = kWarps * M * 16;
    SharedArena arena;
    bf16* const dy = arena.take<bf16>(kRows * Width, 1024);   // [row][Width]
    bf16* const w2 = arena.take<bf16>(Width * kUnits, 1024);  // [Width][unit 64]
    bf16* const w1 = arena.take<bf16>(kUnits * Width, 1024);  // [unit 64][Width]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows, own_row = first_row + warp() * M * 16;

    // Both weights lie with k down their columns, as B itself.
    const int place_dy = swizzled<bf16, Width>(warp() * M * 16 + lane() % 16, lane() / 16 * 8, kRows);
    const int place_w = swizzled<bf16, kUnits>(lane() % 16, lane() / 16 * 8, kUnits);
    Pipeline<1> pipeline;
    pipeline.acquire();
    if (net.d_ff > 0) {
        copy_tile<kRows, Width, N, kThreads>(dy, net.dy, first_row, 0, net.rows, net.out);
        copy_tile<Width, kUnits, N, kThreads>(w2, net.w2, 0, 0, net.out, net.d_ff);
    }
    pipeline.commit();
    Accumulator16x8 dx[M][Width / 8];
    for (std::int64_t unit = 0; unit < net.d_ff; unit += kUnits) {
        pipeline.wait();  // this thread's part of W2 (and of dy, the first time) has landed
        __syncthreads();  // and everybody else's; and no thread reads the W1 before it any more
        pipeline.acquire();
        copy_tile<kUnits, Width, N, kThreads>(w1, net.w1, unit, 0, net.d_ff, net.d_model);
        pipeline.commit();
        Accumulator16x8 dh[M][kUnits / 8];
#pragma unroll
        for (int k = 0; k < Width; k += 16) {
            FragmentA of_dy[M];
#pragma unroll
            for (int m = 0; m < M; ++m) load_a(of_dy[m], dy + swizzled_from(place_dy, 16 * m, k, kRows));
#pragma unroll
            for (int j = 0; j < kUnits; j += 16) {
                FragmentB left, right;
                load_b_pair_transposed(left, right, w2 + swizzled_from(place_w, k, j, Width));
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    mma(dh[m][j / 8], of_dy[m], left);
                    mma(dh[m][j / 8 + 1], of_dy[m], right);
                }
            }
        }
        FragmentA du[M][kUnits / 16];
#pragma unroll
        for (int m = 0; m < M; ++m) differentiate_tile(du[m], dh[m], net.to, own_row + 16 * m, unit);
        pipeline.wait();  // this thread's part of W1 has landed
        __syncthreads();  // and everybody else's; and no thread reads this W2 any more
        pipeline.acquire();
        if (unit + kUnits < net.d_ff) copy_tile<Width, kUnits, N, kThreads>(w2, net.w2, 0, unit + kUnits, net.out, net.d_ff);
        pipeline.commit();
#pragma unroll
        for (int k = 0; k < kUnits; k += 16)
#pragma unroll
            for (int j = 0; j < Width; j += 16) {
                FragmentB left, right;
                load_b_pair_transposed(left, right, w1 + swizzled_from(place_w, k, j, kUnits));
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    mma(dx[m][j / 8], du[m][k / 16], left);
                    mma(dx[m][j / 8 + 1], du[m][k / 16], right);
                }
            }
        pipeline.release();
    }
#pragma unroll
    for (int m = 0; m < M; ++m) write_sums(net.dx, dx[m], nullptr, own_row + 16 * m, net.rows, net.d_model, net.vectors);
}

template <int Width, int M, int N>
void start(const FusedGradient& net) {
    SharedSize shared;
    shared.take<bf16>(kWarps * M * 16 * Width, 1024);
    shared.take<bf16>(Width * kUnits, 1024);
    shared.take<bf16>(kUnits * Width, 1024);
    launch({.grid = dim3(blocks_for(net.rows, kWarps * M * 16)), .block = dim3(kThreads), .shared = shared.bytes()},
           feed_forward_fused_backward_kernel<Width, M, N>, net);
}

}  // namespace

Tensor feed_forward_fused_backward_cuda(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights,
                                        Activation activation, const Dropout& dropout, Tensor* h, Tensor& dx,
                                        std::optional<int> tiles) {
    const std::int64_t rows = dy.rows(), out = dy.cols(), d_ff = hidden.cols(), d_model = weights.w1.cols();
    const bool again = h != nullptr && activation != Activation::relu;
    Tensor du = Tensor::empty(hidden.shape(), DType::bf16, Device::cuda);
    if (h != nullptr) *h = again ? Tensor::empty(hidden.shape(), DType::bf16, Device::cuda) : hidden;
    dx = Tensor::empty({rows, d_model}, DType::bf16, Device::cuda);
    const FusedGradient net{.dy = dy.data<bf16>(),
                            .w1 = weights.w1.data<bf16>(),
                            .w2 = weights.w2.data<bf16>(),
                            .dx = dx.mutable_data<bf16>(),
                            .rows = rows,
                            .d_model = d_model,
                            .d_ff = d_ff,
                            .out = out,
                            .vectors = vectors_fit(dx.data<bf16>(), d_model, 8),
                            .to = {.hidden = hidden.data<bf16>(),
                                   .du = du.mutable_data<bf16>(),
                                   .h = again ? h->mutable_data<bf16>() : nullptr,
                                   .rows = rows,
                                   .d_ff = d_ff,
                                   .vectors = vectors_fit(hidden.data<bf16>(), d_ff, 8),
                                   .activation = activation,
                                   .dropout = DropoutRule(dropout)}};
    with_fused_width("feed_forward_backward", d_model, out, [&](auto width) {
        if (!vectors_fit(net.dy, out, 8) || !vectors_fit(net.w1, d_model, 8) || !vectors_fit(net.w2, d_ff, 8))
            start<width(), 1, 1>(net);
        else if (tiles.value_or(fused_tiles(rows)) == 1)
            start<width(), 1, 8>(net);
        else
            start<width(), 2, 8>(net);
    });
    return du;
}

}  // namespace heddle::kernels
