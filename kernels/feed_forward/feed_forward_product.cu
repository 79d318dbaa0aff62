// A product of the feed-forward network together with what stands behind it, in bf16 with f32 sums:
//
//     forward     h  = dropout(act(x W1^T + b1))                      and u, where GELU's or SiLU's backward needs it
//     backward    du = (dy W2) * dropout factor * act'(u)             and h of GELU or SiLU, for dW2
//
// Between two products by cuBLASLt activation and dropout are a pass of their own: a launch, and 4 to 8 bytes of traffic for each
// element of h. Here they are done while the sums are in registers. cuBLASLt multiplies faster, so this is for sums that are
// short beside that pass: feed_forward_has_epilogue.
//
//     block    128 rows, 128 units, 4 warps
//     warp     64 rows, 64 units: 4 x 8 accumulators [16, 8]
//     tile     64 terms of the sum: A [128, 64] and B, double: the next is copied during the products
//
// Two blocks share a multiprocessor of sm_80 and sm_90: 64 KB of shared memory and, at 128 threads, all the registers that a
// thread can have for each. While one waits or writes, the other multiplies. A warp reads 64 + 64 rows for its 64 x 64 products:
// eight reads of 512 bytes for 32 instructions of the tensor core, one cycle of shared memory each; the copies add half a cycle.
//
// B is W1 [d_ff, d_model], whose rows are units, forward, and W2 [out, d_ff], whose columns are units, backward; ldmatrix reads
// either. Sums run over their terms in ascending order whatever the number of rows: a row's bits depend on that row alone.
//
// Memory traffic: A once per 128 units and B once per 128 rows, mostly from the second-level cache; of the [rows, d_ff] tensors
// each that is named above once, in whole sectors.
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

constexpr int kRows = 128, kUnits = 128, kTerms = 64, kStages = 2, kWarps = 4, kThreads = kWarps * kWarp;
constexpr int kWarpRows = 64, kWarpUnits = 64;
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

    Pipeline<1> pipeline;
    const auto copy_stage = [&](int tile) {
        pipeline.acquire();
        const int stage = tile % kStages;
        const std::int64_t term = std::int64_t{tile} * kTerms;
        copy_tile<kRows, kTerms, N, kThreads>(tiles_a + stage * kA, of.a, row, term, of.rows, of.terms);
        if constexpr (TermsDown)
            copy_tile<kTerms, kUnits, N, kThreads>(tiles_b + stage * kB, of.b, term, unit, of.terms, of.units);
        else
            copy_tile<kUnits, kTerms, N, kThreads>(tiles_b + stage * kB, of.b, unit, term, of.units, of.terms);
        pipeline.commit();
    };
    // This lane's places in the first step of a tile.
    const int warp_row = warp() / (kUnits / kWarpUnits) * kWarpRows, warp_unit = warp() % (kUnits / kWarpUnits) * kWarpUnits;
    const int place_a = swizzled<bf16, kTerms>(warp_row + lane() % 16, lane() / 16 * 8, kRows);
    const int place_b = TermsDown ? swizzled<bf16, kUnits>(lane() % 16, warp_unit + lane() / 16 * 8, kTerms)
                                  : swizzled<bf16, kTerms>(warp_unit + lane() % 8 + lane() / 16 * 8, lane() / 8 % 2 * 8, kUnits);
    const int tiles = static_cast<int>((of.terms + kTerms - 1) / kTerms);
    if (tiles > 0) copy_stage(0);
    for (int tile = 0; tile < tiles; ++tile) {
        pipeline.wait();  // this thread's part of the tile has landed
        __syncthreads();  // and everybody else's; and no thread reads the tile before it any more
        if (tile + 1 < tiles) copy_stage(tile + 1);
        const bf16* const a = tiles_a + tile % kStages * kA;
        const bf16* const b = tiles_b + tile % kStages * kB;
#pragma unroll
        for (int k = 0; k < kTerms; k += 16) {
            FragmentB right[kWarpUnits / 8];
#pragma unroll
            for (int j = 0; j < kWarpUnits; j += 16) {
                if constexpr (TermsDown)
                    load_b_pair_transposed(right[j / 8], right[j / 8 + 1], b + swizzled_from(place_b, k, j, kTerms));
                else
                    load_b_pair(right[j / 8], right[j / 8 + 1], b + swizzled_from(place_b, j, k, kUnits));
            }
#pragma unroll
            for (int i = 0; i < kWarpRows / 16; ++i) {
                FragmentA left;
                load_a(left, a + swizzled_from(place_a, 16 * i, k, kRows));
#pragma unroll
                for (int j = 0; j < kWarpUnits / 8; ++j) mma(sums[i][j], left, right[j]);
            }
        }
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
    for (int i = 0; i < kWarpRows / 16; ++i) {
        FragmentA h[kWarpUnits / 16];
        activate_tile(h, u[i], to, at.row_of_warp() + 16 * i, at.unit_of_warp());
    }
}

template <int N>
__global__ void __launch_bounds__(kThreads, 2) feed_forward_product_gradient_kernel(Factors of, DifferentiatedTiles to) {
    WarpSums dh;
    const TilePlace at(of);
    multiply_tile<true, N>(dh, of, at.row, at.unit);
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
        FragmentA du[kWarpUnits / 16];
        differentiate_tile(du, dh[i], to, at.row_of_warp() + 16 * i, at.unit_of_warp());
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
    const ActivatedTiles to{
        .b1 = b1.defined() ? b1.data<bf16>() : nullptr,
        .u = u != nullptr ? u->mutable_data<bf16>() : nullptr,
        .h = h.mutable_data<bf16>(),
        .rows = of.rows,
        .d_ff = of.units,
        .vectors = vectors_fit(h.data<bf16>(), of.units, 8) && (u == nullptr || vectors_fit(u->data<bf16>(), of.units, 8)),
        .activation = activation,
        .dropout = DropoutRule(dropout)};
    const bool fits = vectors_fit(of.a, of.terms, 8) && vectors_fit(of.b, of.terms, 8);
    launch(config_of(of), fits ? feed_forward_product_kernel<8> : feed_forward_product_kernel<1>, of, to);
}

void feed_forward_product_gradient_cuda(const Tensor& dy, const Tensor& w2, const Tensor& hidden, Activation activation,
                                        const Dropout& dropout, Tensor& du, Tensor* h) {
    const Factors of{.a = dy.data<bf16>(), .b = w2.data<bf16>(), .rows = dy.rows(), .units = w2.cols(), .terms = dy.cols()};
    const DifferentiatedTiles to{.hidden = hidden.data<bf16>(),
                                 .du = du.mutable_data<bf16>(),
                                 .h = h != nullptr ? h->mutable_data<bf16>() : nullptr,
                                 .rows = of.rows,
                                 .d_ff = of.units,
                                 .vectors = vectors_fit(hidden.data<bf16>(), of.units, 8) &&
                                            vectors_fit(du.data<bf16>(), of.units, 8) &&
                                            (h == nullptr || vectors_fit(h->data<bf16>(), of.units, 8)),
                                 .activation = activation,
                                 .dropout = DropoutRule(dropout)};
    const bool fits = vectors_fit(of.a, of.terms, 8) && vectors_fit(of.b, of.units, 8);
    launch(config_of(of), fits ? feed_forward_product_gradient_kernel<8> : feed_forward_product_gradient_kernel<1>, of, to);
}

}  // namespace heddle::kernels
