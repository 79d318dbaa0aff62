// The steps of the ladder of matrix products on tensor cores; matmul_ladder.cu has the ones before them.
#include <type_traits>

#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/mma.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/shared.h"
#include "kernels/device/swizzle.h"
#include "kernels/device/vector.h"
#include "kernels/matmul/matmul_ladder.h"

namespace heddle::kernels {
namespace {

using device::write_one;

constexpr int kBlockTile = 128;

struct Extents {
    std::int64_t m, n, k;
};

// ---- 6. tensor cores: a warp multiplies [16, 16] by [16, 8] with one instruction
//
// bf16 in, f32 sums. 8 warps, 2 x 4, own 64 x 32 elements of C each: 4 x 4 accumulators of [16, 8]. For 16 steps of k a warp
// reads 4 fragments of A and 4 of B and issues 16 products. ldmatrix reads eight rows of 16 bytes at once: rows of 128 bytes
// would put them into the same four banks, so 16 bytes of padding stand behind each row.
//
// ---- 7. copies ahead: nobody waits for memory
//
// Tiles are double: while one is multiplied with, the copies of the next are on their way, past the registers (cp.async). A step
// waits only for what was asked for a whole step ago.
//
// ---- 8. swizzle: no bank conflicts, and no padding
//
// Chunk c of row r is stored at c ^ (r % 8): eight rows of a chunk column cover all 32 banks. A tenth less shared memory, and
// tiles that the bulk copy engine of sm_90 could bring.
//
// ---- 9. whole lines: C leaves by shared memory
//
// An accumulator's lane has pairs of neighbours, so its stores fill half of each sector, two bytes at a time a quarter. Here a
// warp writes its sums to the shared memory that the tiles no longer need, and from there 16 bytes a lane.
//
// N = 8: rows of A, B and C start at multiples of 16 bytes, as an asynchronous copy wants them; N = 1: any rows, loaded by
// element.
constexpr int kDeep = 64, kCoreThreads = 256;
constexpr int kRowsOfWarp = 64, kColsOfWarp = 32;
using WarpSums = device::Accumulator16x8[kRowsOfWarp / 16][kColsOfWarp / 8];

// The tiles of a step: how they lie in shared memory.
template <MatmulStep Step>
struct CoreTiles {
    static constexpr bool kAhead = Step != MatmulStep::tensor_cores;
    static constexpr bool kSwizzled = Step == MatmulStep::swizzle || Step == MatmulStep::whole_lines;
    static constexpr int kStages = kAhead ? 2 : 1;
    static constexpr int kPadding = kSwizzled ? 0 : 8;
    static constexpr int kElementsA = kBlockTile * (kDeep + kPadding), kElementsB = kDeep * (kBlockTile + kPadding);

    static std::size_t bytes() {
        device::SharedSize shared;
        shared.take<bf16>(kStages * kElementsA, 1024);
        shared.take<bf16>(kStages * kElementsB, 1024);
        return shared.bytes();
    }
    // The place of an element of a tile [Rows, Cols].
    template <int Rows, int Cols>
    static __device__ __forceinline__ int place(int row, int col) {
        if constexpr (kSwizzled) return device::swizzled<bf16, Cols>(row, col, Rows);
        return row * (Cols + kPadding) + col;
    }
    // The tile that begins at (row, col) of matrix [rows, cols]: copied, or with kAhead asked for.
    template <int Rows, int Cols, int N>
    static __device__ __forceinline__ void copy(bf16* tile, const bf16* matrix, std::int64_t row, std::int64_t col,
                                                std::int64_t rows, std::int64_t cols) {
        constexpr int kChunks = Cols / 8;  // of a row
        for (int i = device::thread_in_block(); i < Rows * kChunks; i += kCoreThreads) {
            const int r = i / kChunks, c = i % kChunks * 8;
            const bool inside = row + r < rows && col + c < cols;
            const bf16* const from = inside ? matrix + (row + r) * cols + col + c : matrix;
            bf16* const to = tile + place<Rows, Cols>(r, c);
            if constexpr (N == 8 && kAhead) {
                device::copy_async<16>(to, from, inside ? 16 : 0);
            } else {
                device::Vector<bf16, 8> eight = {};
                if constexpr (N == 8) {
                    if (inside) eight = device::load_vector<8>(from);
                } else {
                    for (int j = 0; j < 8; ++j)
                        if (inside && col + c + j < cols) eight[j] = from[j];
                }
                device::store_vector(to, eight);
            }
        }
    }
};

// The warp's sums to C, rows from `row` and columns from `col` on.
__device__ __forceinline__ void write_numbers(const WarpSums& sum, bf16* c, std::int64_t row, std::int64_t col,
                                              const Extents& e) {
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
        for (int j = 0; j < kColsOfWarp / 8; ++j)
#pragma unroll
            for (int at = 0; at < device::Accumulator16x8::kElements; ++at) {
                const std::int64_t r = row + 16 * i + device::Accumulator16x8::row(at);
                const std::int64_t q = col + 8 * j + device::Accumulator16x8::col(at);
                if (r < e.m && q < e.n) write_one(c + r * e.n + q, device::store<bf16>(sum[i][j][at]));
            }
}

// The same, by way of `staging` [64, 32] of the warp's own.
__device__ __forceinline__ void write_lines(const WarpSums& sum, bf16* staging, bf16* c, std::int64_t row, std::int64_t col,
                                            const Extents& e) {
    // Two rows of 64 bytes share a line of all banks: chunk q of row r lies at q ^ (r / 2 % 4).
    const auto place = [](int r, int q) { return r * kColsOfWarp + (q ^ r / 2 % 4) * 8; };
#pragma unroll
    for (int i = 0; i < kRowsOfWarp / 16; ++i)
#pragma unroll
        for (int j = 0; j < kColsOfWarp / 8; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int r = 16 * i + device::Accumulator16x8::row(2 * half);
                device::store_vector(staging + place(r, j) + device::Accumulator16x8::col(0),
                                     device::Vector<bf16, 2>{{device::store<bf16>(sum[i][j][2 * half]),
                                                              device::store<bf16>(sum[i][j][2 * half + 1])}});
            }
    __syncwarp();  // the warp's sums are there
    const int q = device::lane() % 4;
#pragma unroll
    for (int n = 0; n < kRowsOfWarp / 8; ++n) {
        const int r = 8 * n + device::lane() / 4;
        if (row + r < e.m && col + 8 * q < e.n)
            device::store_vector_whole(c + (row + r) * e.n + col + 8 * q, device::load_vector<8>(staging + place(r, q)));
    }
}

template <MatmulStep Step, int N>
__global__ void __launch_bounds__(kCoreThreads) tensor_core_product_kernel(const bf16* a, const bf16* b, bf16* c, Extents e) {
    using Tiles = CoreTiles<Step>;
    device::SharedArena arena;
    bf16* const tiles_a = arena.take<bf16>(Tiles::kStages * Tiles::kElementsA, 1024);  // [stage][row 128][k 64]
    bf16* const tiles_b = arena.take<bf16>(Tiles::kStages * Tiles::kElementsB, 1024);  // [stage][k 64][col 128]
    const std::int64_t across = (e.n + kBlockTile - 1) / kBlockTile;
    const struct { std::int64_t row, col; } tile{blockIdx.x / across * kBlockTile, blockIdx.x % across * kBlockTile};
    const int lane = device::lane();
    const int warp_row = device::warp() / 4 * kRowsOfWarp, warp_col = device::warp() % 4 * kColsOfWarp;

    // Copies the tiles of a step: 1024 chunks of 16 bytes each, four a thread.
    const auto copy_tiles = [&](std::int64_t step) {
        const std::int64_t stage = step % Tiles::kStages;
        Tiles::template copy<kBlockTile, kDeep, N>(tiles_a + stage * Tiles::kElementsA, a, tile.row, step * kDeep, e.m, e.k);
        Tiles::template copy<kDeep, kBlockTile, N>(tiles_b + stage * Tiles::kElementsB, b, step * kDeep, tile.col, e.k, e.n);
    };

    WarpSums sum;
    device::Pipeline<Tiles::kStages> pipeline;
    const std::int64_t steps = (e.k + kDeep - 1) / kDeep;
    if constexpr (Tiles::kAhead) {
        pipeline.acquire();
        if (steps > 0) copy_tiles(0);
        pipeline.commit();
    }
    for (std::int64_t step = 0; step < steps; ++step) {
        if constexpr (Tiles::kAhead) {
            pipeline.acquire();
            if (step + 1 < steps) copy_tiles(step + 1);
            pipeline.commit();
            pipeline.wait();  // this thread's part of the step's tiles has landed
        } else {
            copy_tiles(step);
        }
        __syncthreads();  // everybody's part is there
        const bf16* const tile_a = tiles_a + step % Tiles::kStages * Tiles::kElementsA;
        const bf16* const tile_b = tiles_b + step % Tiles::kStages * Tiles::kElementsB;
#pragma unroll
        for (int k = 0; k < kDeep; k += 16) {
            device::FragmentB of_b[kColsOfWarp / 8];
#pragma unroll
            for (int j = 0; j < kColsOfWarp / 16; ++j)
                device::load_b_pair_transposed(
                    of_b[2 * j], of_b[2 * j + 1],
                    tile_b + Tiles::template place<kDeep, kBlockTile>(k + lane % 16, warp_col + 16 * j + lane / 16 * 8));
#pragma unroll
            for (int i = 0; i < kRowsOfWarp / 16; ++i) {
                device::FragmentA of_a;
                device::load_a(
                    of_a, tile_a + Tiles::template place<kBlockTile, kDeep>(warp_row + 16 * i + lane % 16, k + lane / 16 * 8));
#pragma unroll
                for (int j = 0; j < kColsOfWarp / 8; ++j) device::mma(sum[i][j], of_a, of_b[j]);
            }
        }
        __syncthreads();  // no thread reads these tiles any more: later copies may overwrite them
        pipeline.release();
    }
    if constexpr (Step == MatmulStep::whole_lines && N == 8)
        write_lines(sum, tiles_a + device::warp() * kRowsOfWarp * kColsOfWarp, c, tile.row + warp_row, tile.col + warp_col, e);
    else
        write_numbers(sum, c, tile.row + warp_row, tile.col + warp_col, e);
}

// Calls body(std::integral_constant<MatmulStep, S>()) with a step on tensor cores. Error for another one.
template <class Body>
auto with_core_step(MatmulStep step, const Body& body) {
    using enum MatmulStep;
    switch (step) {
        case tensor_cores: return body(std::integral_constant<MatmulStep, tensor_cores>());
        case copies_ahead: return body(std::integral_constant<MatmulStep, copies_ahead>());
        case swizzle: return body(std::integral_constant<MatmulStep, swizzle>());
        default: return body(std::integral_constant<MatmulStep, whole_lines>());
    }
}

}  // namespace

void matmul_ladder_cores(MatmulStep step, const Tensor& left, const Tensor& right, Tensor& result) {
    const Extents e{left.dim(0), right.dim(1), left.dim(1)};
    const bf16 *const a = left.data<bf16>(), *const b = right.data<bf16>();
    bf16* const c = result.mutable_data<bf16>();
    const bool fits = device::vectors_fit(a, e.k, 8) && device::vectors_fit(b, e.n, 8) && device::vectors_fit(c, e.n, 8);
    with_core_step(step, [&](auto of) {
        constexpr MatmulStep kStep = of();
        device::launch(
            {.grid = device::blocks_for((e.m + kBlockTile - 1) / kBlockTile * ((e.n + kBlockTile - 1) / kBlockTile), 1),
             .block = dim3(kCoreThreads),
             .shared = CoreTiles<kStep>::bytes()},
            fits ? tensor_core_product_kernel<kStep, 8> : tensor_core_product_kernel<kStep, 1>, a, b, c, e);
    });
}

int matmul_ladder_cores_registers(MatmulStep step) {
    return with_core_step(step, [](auto of) { return device::registers_of(tensor_core_product_kernel<of(), 8>); });
}

}  // namespace heddle::kernels
