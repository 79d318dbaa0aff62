// Computes dx from dy in one kernel: dh = dy W2, du = dh * dropout factor * act'(u), dx = du W1, in bf16 with f32 sums.
//
// The counterpart of feed_forward_fused.cu: a block walks along d_ff in tiles of 64 units, makes a tile of dh from its rows of
// dy, turns it into du in registers and adds to dx, which stays there to the end. dh is never written. du is, once: dW1 = du^T x
// and db1 sum over rows, which other blocks hold. For GELU and SiLU the tile of h is made again beside it, for dW2.
//
//     dy [64, out]  --W2 tile-->  dh [64, 64]  --hidden tile-->  du [64, 64]  --W1 tile-->  dx [64, d_model] +=
//
// W2 [out, d_ff] and W1 [d_ff, d_model] lie here as the products want them, k along the columns: ldmatrix transposes them.
//
// Memory traffic: dy, hidden, du and dx once, h of a smooth act once, and W1 and W2 once per block of 64 rows, mostly from the
// second-level cache. Op by op, dh is written and read back, du is read again by dx's product, and u by the pass that makes h.
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

struct FusedGradient {
    const bf16 *dy, *hidden, *w1, *w2;  // [rows, out], [rows, d_ff]: h for ReLU, otherwise u; [d_ff, d_model], [out, d_ff]
    bf16* dx;                           // [rows, d_model]
    std::int64_t rows, d_model, d_ff, out;
    DifferentiatedTiles to;
};

// Rows of dy and dx up to Width; N: elements a copy takes (tile_copy.h).
template <int Width, int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_fused_backward_kernel(FusedGradient net) {
    constexpr int kWeights = kUnits * Width, kHidden = kRows * kUnits;
    SharedArena arena;
    bf16* const tile_dy = arena.take<bf16>(kRows * Width, 1024);           // [row 64][Width]
    bf16* const tiles_w1 = arena.take<bf16>(kStages * kWeights, 1024);     // [stage][unit 64][Width]
    bf16* const tiles_w2 = arena.take<bf16>(kStages * kWeights, 1024);     // [stage][Width][unit 64]
    bf16* const tiles_hidden = arena.take<bf16>(kStages * kHidden, 1024);  // [stage][row 64][unit 64]
    const std::int64_t first_row = std::int64_t{blockIdx.x} * kRows;
    const int warp_row = warp() * 16;

    const auto copy_stage = [&](std::int64_t tile) {
        const std::int64_t stage = tile % kStages;
        copy_tile<Width, kUnits, N>(tiles_w2 + stage * kWeights, net.w2, 0, tile * kUnits, net.out, net.d_ff, kThreads);
        copy_tile<kRows, kUnits, N>(tiles_hidden + stage * kHidden, net.hidden, first_row, tile * kUnits, net.rows, net.d_ff,
                                    kThreads);
        copy_tile<kUnits, Width, N>(tiles_w1 + stage * kWeights, net.w1, tile * kUnits, 0, net.d_ff, net.d_model, kThreads);
    };

    const std::int64_t tiles = (net.d_ff + kUnits - 1) / kUnits;
    Pipeline<kStages> pipeline;
    pipeline.acquire();
    if (tiles > 0) {
        copy_tile<kRows, Width, N>(tile_dy, net.dy, first_row, 0, net.rows, net.out, kThreads);
        copy_stage(0);
    }
    pipeline.commit();
    Accumulator16x8 dx[Width / 8];
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        pipeline.acquire();
        if (tile + 1 < tiles) copy_stage(tile + 1);
        pipeline.commit();
        pipeline.wait();  // this thread's part of the tile (and of dy, the first time) has landed
        __syncthreads();  // and everybody else's
        const bf16* const w1 = tiles_w1 + tile % kStages * kWeights;
        const bf16* const w2 = tiles_w2 + tile % kStages * kWeights;
        // Both weights lie with k down their columns, as B itself.
        const int k_of_lane = lane() % 16, n_of_lane = lane() / 16 * 8;
        Accumulator16x8 dh[kUnits / 8];
#pragma unroll
        for (int k = 0; k < Width / 16; ++k) {
            FragmentA dy;
            load_a(dy, tile_dy + swizzled<bf16, Width>(warp_row + lane() % 16, 16 * k + lane() / 16 * 8, kRows));
#pragma unroll
            for (int j = 0; j < kUnits / 16; ++j) {
                FragmentB left, right;
                load_b_pair_transposed(left, right, w2 + swizzled<bf16, kUnits>(16 * k + k_of_lane, 16 * j + n_of_lane, Width));
                mma(dh[2 * j], dy, left);
                mma(dh[2 * j + 1], dy, right);
            }
        }
        const bf16* const hidden = tiles_hidden + tile % kStages * kHidden;
        differentiate_tile(dh, net.to, first_row + warp_row, tile * kUnits, [&](float(&pair)[2], int row, int col) {
            const Vector<bf16, 2> both = load_vector<2>(hidden + swizzled<bf16, kUnits>(warp_row + row, col, kRows));
            pair[0] = load(both[0]);
            pair[1] = load(both[1]);
        });
#pragma unroll
        for (int k = 0; k < kUnits / 16; ++k) {
            const FragmentA du = as_a(dh[2 * k], dh[2 * k + 1]);
#pragma unroll
            for (int j = 0; j < Width / 16; ++j) {
                FragmentB left, right;
                load_b_pair_transposed(left, right, w1 + swizzled<bf16, Width>(16 * k + k_of_lane, 16 * j + n_of_lane, kUnits));
                mma(dx[2 * j], du, left);
                mma(dx[2 * j + 1], du, right);
            }
        }
        __syncthreads();  // no thread reads this tile any more: the copies of the one after the next may overwrite it
        pipeline.release();
    }
#pragma unroll
    for (int j = 0; j < Width / 8; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::int64_t row = first_row + warp_row + Accumulator16x8::row(2 * r);
            if (row < net.rows)
                store_pair(net.dx + row * net.d_model, 8 * j + Accumulator16x8::col(0), net.d_model, dx[j][2 * r],
                           dx[j][2 * r + 1]);
        }
}

template <int Width>
void start(const FusedGradient& net) {
    const bool fits = vectors_fit(net.dy, net.out, 8) && vectors_fit(net.hidden, net.d_ff, 8) &&
                      vectors_fit(net.w1, net.d_model, 8) && vectors_fit(net.w2, net.d_ff, 8);
    SharedSize shared;
    shared.take<bf16>(kRows * Width, 1024);
    shared.take<bf16>(kStages * kUnits * Width, 1024);
    shared.take<bf16>(kStages * kUnits * Width, 1024);
    shared.take<bf16>(kStages * kRows * kUnits, 1024);
    launch({.grid = dim3(blocks_for(net.rows, kRows)), .block = dim3(kThreads), .shared = shared.bytes()},
           fits ? feed_forward_fused_backward_kernel<Width, 8> : feed_forward_fused_backward_kernel<Width, 1>, net);
}

}  // namespace

Tensor feed_forward_fused_backward_cuda(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights,
                                        Activation activation, const Dropout& dropout, Tensor* h, Tensor& dx) {
    const std::int64_t rows = dy.rows(), out = dy.cols(), d_ff = hidden.cols(), d_model = weights.w1.cols();
    const bool again = h != nullptr && activation != Activation::relu;
    Tensor du = Tensor::empty(hidden.shape(), DType::bf16, Device::cuda);
    if (h != nullptr) *h = again ? Tensor::empty(hidden.shape(), DType::bf16, Device::cuda) : hidden;
    dx = Tensor::empty({rows, d_model}, DType::bf16, Device::cuda);
    const FusedGradient net{.dy = dy.data<bf16>(),
                            .hidden = hidden.data<bf16>(),
                            .w1 = weights.w1.data<bf16>(),
                            .w2 = weights.w2.data<bf16>(),
                            .dx = dx.mutable_data<bf16>(),
                            .rows = rows,
                            .d_model = d_model,
                            .d_ff = d_ff,
                            .out = out,
                            .to = {.du = du.mutable_data<bf16>(),
                                   .h = again ? h->mutable_data<bf16>() : nullptr,
                                   .rows = rows,
                                   .d_ff = d_ff,
                                   .activation = activation,
                                   .dropout = DropoutRule(dropout)}};
    with_fused_width("feed_forward_backward", d_model, out, [&](auto width) { start<width()>(net); });
    return du;
}

}  // namespace heddle::kernels
