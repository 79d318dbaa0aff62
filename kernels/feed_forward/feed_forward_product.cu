// A product of the feed-forward network together with what stands behind it, in bf16 with f32 sums:
//
//     forward     h  = dropout(act(x W1^T + b1))                      and u, where GELU's or SiLU's backward needs it
//     backward    du = (dy W2) * dropout factor * act'(u)             and h of GELU or SiLU, for dW2
//
// Between two products by cuBLASLt activation and dropout are a pass of their own: a launch, and 4 to 8 bytes of traffic for each
// element of h. Here they are done while the sums are in registers. cuBLASLt multiplies faster, so this is for sums that are
// short beside that pass: feed_forward_has_epilogue.
//
//     block    128 rows, 128 units, 8 warps
//     warp     64 rows, 32 units: 4 x 4 accumulators [16, 8]
//     tile     64 terms of the sum: A [128, 64] and B, in three stages of shared memory, copied two ahead
//
// B is W1 [d_ff, d_model], whose rows are units, forward, and W2 [out, d_ff], whose columns are units, backward; ldmatrix reads
// either. Sums run over their terms in ascending order whatever the number of rows: a row's bits depend on that row alone.
//
// Memory traffic: A once per 128 units and B once per 128 rows, mostly from the second-level cache; of the [rows, d_ff] tensors
// each that is named above once.
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

constexpr int kRows = 128, kUnits = 128, kTerms = 64, kStages = 3, kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kWarpRows = 64, kWarpUnits = 32;
static_assert(kRows / kWarpRows * (kUnits / kWarpUnits) == kWarps);

using WarpSums = Accumulator16x8[kWarpRows / 16][kWarpUnits / 8];

// The factors of the product, and where the warp stands in it.
struct Factors {
    const bf16 *a, *b;  // a [rows, terms]; b [units, terms], or [terms, units] where TermsDown
    std::int64_t rows, units, terms;
};

// sums += a b for the block's tile of C that begins at (row, unit).
template <bool TermsDown, int N>
__device__ __forceinline__ void multiply_tile(WarpSums& sums, const Factors& of, std::int64_t row, std::int64_t unit) {
    constexpr int kA = kRows * kTerms, kB = kUnits * kTerms;
    SharedArena arena;
    bf16* const tiles_a = arena.take<bf16>(kStages * kA, 1024);  // [stage][row 128][term 64]
    bf16* const tiles_b = arena.take<bf16>(kStages * kB, 1024);  // [stage][unit 128][term 64], or [stage][term 64][unit 128]
    const int warp_row = warp() / (kUnits / kWarpUnits) * kWarpRows, warp_unit = warp() % (kUnits / kWarpUnits) * kWarpUnits;

    const std::int64_t tiles = (of.terms + kTerms - 1) / kTerms;
    Pipeline<kStages> pipeline;
    const auto copy_stage = [&](std::int64_t tile) {
        pipeline.acquire();
        if (tile < tiles) {
            bf16* const to_a = tiles_a + tile % kStages * kA;
            bf16* const to_b = tiles_b + tile % kStages * kB;
            copy_tile<kRows, kTerms, N>(to_a, of.a, row, tile * kTerms, of.rows, of.terms, kThreads);
            if constexpr (TermsDown)
                copy_tile<kTerms, kUnits, N>(to_b, of.b, tile * kTerms, unit, of.terms, of.units, kThreads);
            else
                copy_tile<kUnits, kTerms, N>(to_b, of.b, unit, tile * kTerms, of.units, of.terms, kThreads);
        }
        pipeline.commit();  // an empty stage keeps the count
    };
    for (int tile = 0; tile < kStages - 1; ++tile) copy_stage(tile);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        copy_stage(tile + kStages - 1);
        pipeline.wait();  // this thread's part of the tile has landed
        __syncthreads();  // and everybody else's
        const bf16* const a = tiles_a + tile % kStages * kA;
        const bf16* const b = tiles_b + tile % kStages * kB;
#pragma unroll 1  // the addresses of more than one step would not fit into the 128 registers of two blocks
        for (int k = 0; k < kTerms; k += 16) {
            FragmentB right[kWarpUnits / 8];
#pragma unroll
            for (int j = 0; j < kWarpUnits / 8; j += 2) {
                if constexpr (TermsDown)
                    load_b_pair_transposed(
                        right[j], right[j + 1],
                        b + swizzled<bf16, kUnits>(k + lane() % 16, warp_unit + 8 * j + lane() / 16 * 8, kTerms));
                else
                    load_b_pair(right[j], right[j + 1],
                                b + swizzled<bf16, kTerms>(warp_unit + 8 * j + lane() % 8 + lane() / 16 * 8,
                                                           k + lane() / 8 % 2 * 8, kUnits));
            }
#pragma unroll
            for (int i = 0; i < kWarpRows / 16; ++i) {
                FragmentA left;
                load_a(left, a + swizzled<bf16, kTerms>(warp_row + 16 * i + lane() % 16, k + lane() / 16 * 8, kRows));
#pragma unroll
                for (int j = 0; j < kWarpUnits / 8; ++j) mma(sums[i][j], left, right[j]);
            }
        }
        __syncthreads();  // no thread reads this tile any more: the copies of a later one may overwrite it
        pipeline.release();
    }
}

// Where the sums of the calling block and warp begin. Blocks cover the tiles of units of the first rows, then those of the next.
struct TilePlace {
    std::int64_t row, unit;

    __device__ __forceinline__ explicit TilePlace(const Factors& of) {
        const auto across = static_cast<unsigned>((of.units + kUnits - 1) / kUnits);
        row = std::int64_t{blockIdx.x / across} * kRows;
        unit = std::int64_t{blockIdx.x % across} * kUnits;
    }
    __device__ __forceinline__ std::int64_t row_of_warp() const { return row + warp() / (kUnits / kWarpUnits) * kWarpRows; }
    __device__ __forceinline__ std::int64_t unit_of_warp() const { return unit + warp() % (kUnits / kWarpUnits) * kWarpUnits; }
};

template <int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_product_kernel(Factors of, ActivatedTiles to) {
    WarpSums u;
    const TilePlace at(of);
    multiply_tile<false, N>(u, of, at.row, at.unit);
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) activate_tile(u[i], to, at.row_of_warp() + 16 * i, at.unit_of_warp());
}

// hidden [rows, d_ff]: h for ReLU, otherwise u
template <int N>
__global__ void __launch_bounds__(kThreads, 2)
    feed_forward_product_gradient_kernel(Factors of, const bf16* hidden, DifferentiatedTiles to) {
    WarpSums dh;
    const TilePlace at(of);
    multiply_tile<true, N>(dh, of, at.row, at.unit);
    const std::int64_t unit = at.unit_of_warp();
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
        const std::int64_t first = at.row_of_warp() + 16 * i;
        differentiate_tile(dh[i], to, first, unit, [&](float(&pair)[2], int row, int col) {
            if (first + row < to.rows)
                load_pair(pair, hidden + (first + row) * to.d_ff, unit + col, to.d_ff);
            else
                pair[0] = pair[1] = 0;
        });
    }
}

LaunchConfig config_of(const Factors& of) {
    SharedSize shared;
    shared.take<bf16>(kStages * kRows * kTerms, 1024);
    shared.take<bf16>(kStages * kUnits * kTerms, 1024);
    return {.grid = dim3(blocks_for((of.units + kUnits - 1) / kUnits * ((of.rows + kRows - 1) / kRows), 1)),
            .block = dim3(kThreads),
            .shared = shared.bytes()};
}

}  // namespace

void feed_forward_product_cuda(const Tensor& x, const Tensor& w1, const Tensor& b1, Activation activation, const Dropout& dropout,
                               Tensor* u, Tensor& h) {
    const Factors of{.a = x.data<bf16>(), .b = w1.data<bf16>(), .rows = x.rows(), .units = w1.rows(), .terms = x.cols()};
    const ActivatedTiles to{.b1 = b1.defined() ? b1.data<bf16>() : nullptr,
                            .u = u != nullptr ? u->mutable_data<bf16>() : nullptr,
                            .h = h.mutable_data<bf16>(),
                            .rows = of.rows,
                            .d_ff = of.units,
                            .activation = activation,
                            .dropout = DropoutRule(dropout)};
    const bool fits = vectors_fit(of.a, of.terms, 8) && vectors_fit(of.b, of.terms, 8);
    launch(config_of(of), fits ? feed_forward_product_kernel<8> : feed_forward_product_kernel<1>, of, to);
}

void feed_forward_product_gradient_cuda(const Tensor& dy, const Tensor& w2, const Tensor& hidden, Activation activation,
                                        const Dropout& dropout, Tensor& du, Tensor* h) {
    const Factors of{.a = dy.data<bf16>(), .b = w2.data<bf16>(), .rows = dy.rows(), .units = w2.cols(), .terms = dy.cols()};
    const DifferentiatedTiles to{.du = du.mutable_data<bf16>(),
                                 .h = h != nullptr ? h->mutable_data<bf16>() : nullptr,
                                 .rows = of.rows,
                                 .d_ff = of.units,
                                 .activation = activation,
                                 .dropout = DropoutRule(dropout)};
    const bool fits = vectors_fit(of.a, of.terms, 8) && vectors_fit(of.b, of.units, 8);
    launch(config_of(of), fits ? feed_forward_product_gradient_kernel<8> : feed_forward_product_gradient_kernel<1>, of,
           hidden.data<bf16>(), to);
}

}  // namespace heddle::kernels
