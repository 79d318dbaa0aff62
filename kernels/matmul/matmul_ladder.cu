// C = A B by hand, in nine steps: A [m, k], B [k, n], C [m, n], row-major. Each step keeps what the one before it taught and adds
// one idea.
//
// A product does 2 m n k operations on m k + k n + m n numbers. An H200 computes about 14 f32 operations in the time it takes to
// read one byte of its memory (67 TFLOP/s, 4.8 TB/s), and 200 bf16 ones on tensor cores. So everything is about using a number
// often once it has been read:
//
//     step             a tile of C per block, per thread    reads of global memory per multiply-add (elements)
//     naive            16 x 16, 1                           2            (caches help; nothing in the kernel does)
//     shared_tile      32 x 32, 1                           2 / 32
//     register_tile    128 x 128, 8 x 8                     2 / 128,     and 2 / 8 of shared memory instead of 2
//     vector_loads     the same                             the same,    with a quarter of the load instructions
//     warp_tile        128 x 128, 64 x 64 per warp, 8 x 16  the same,    and 3 / 16 of shared memory instead of 2 / 8
//     tensor_cores     128 x 128, 64 x 32 per warp          2 / 128,     in bf16: half the bytes
//     copies_ahead     the same                             the same,    copied while the tile before is computed with
//     swizzle          the same                             the same,    in shared memory without padding
//     whole_lines      the same                             the same,    and C written in whole sectors
//
// The steps on tensor cores are in matmul_ladder_cores.cu. Blocks count tiles of C row by row, in one grid dimension: y and z
// stop at 65,535.
#include <string>

#include "kernels/device/dispatch.h"
#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/matmul/matmul_ladder.h"

namespace heddle::kernels {
namespace {

using device::read_one, device::write_one;

struct Extents {
    std::int64_t m, n, k;
};

// The first row and column of this block's tile of C.
struct TilePlace {
    std::int64_t row, col;
};
__device__ __forceinline__ TilePlace tile_place(std::int64_t n, int tile) {
    const std::int64_t across = (n + tile - 1) / tile;
    return {blockIdx.x / across * tile, blockIdx.x % across * tile};
}

// ---- 1. naive: three loops, of which two are threads
//
// Thread (x, y) computes one element. Neighbouring x read neighbouring elements of B and the same element of A: each row of B
// comes as whole cache lines, A as a broadcast. But every thread reads 2 k numbers for k multiply-adds; what is used again comes
// from the caches, when it is still there.
constexpr int kNaiveTile = 16;

template <class T>
__global__ void __launch_bounds__(kNaiveTile* kNaiveTile) naive_product_kernel(const T* a, const T* b, T* c, Extents e) {
    const TilePlace tile = tile_place(e.n, kNaiveTile);
    const std::int64_t row = tile.row + threadIdx.y, col = tile.col + threadIdx.x;
    if (row >= e.m || col >= e.n) return;
    device::Accumulator<T> sum = 0;
    for (std::int64_t k = 0; k < e.k; ++k)
        sum += device::load(read_one(a + row * e.k + k)) * device::load(read_one(b + k * e.n + col));
    write_one(c + row * e.n + col, device::store<T>(sum));
}

// ---- 2. shared tile: read once per block, use 32 times
//
// The block walks along k in steps of 32. In each it copies a tile of A and one of B, one element of each a thread, and then
// every thread reads a row of one and a column of the other: from shared memory, where a warp reads 32 neighbours of B (32 banks)
// and one element of A (a broadcast) at once. Elements beyond the edges are zeros, so the inner loop asks nothing.
constexpr int kTile = 32;

__global__ void __launch_bounds__(kTile* kTile) shared_tile_product_kernel(const float* a, const float* b, float* c, Extents e) {
    device::SharedArena arena;
    float* const tile_a = arena.take<float>(kTile * kTile);  // [row][k]
    float* const tile_b = arena.take<float>(kTile * kTile);  // [k][col]
    const TilePlace tile = tile_place(e.n, kTile);
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const std::int64_t row = tile.row + y, col = tile.col + x;
    float sum = 0;
    for (std::int64_t first = 0; first < e.k; first += kTile) {
        write_one(tile_a + y * kTile + x, row < e.m && first + x < e.k ? read_one(a + row * e.k + first + x) : 0);
        write_one(tile_b + y * kTile + x, first + y < e.k && col < e.n ? read_one(b + (first + y) * e.n + col) : 0);
        __syncthreads();  // both tiles are whole: each thread reads what others copied
        for (int k = 0; k < kTile; ++k) sum += read_one(tile_a + y * kTile + k) * read_one(tile_b + k * kTile + x);
        __syncthreads();  // everybody has read them: the next step overwrites them
    }
    if (row < e.m && col < e.n) write_one(c + row * e.n + col, sum);
}

// ---- 3. register tile: what has come from shared memory is used 8 times, too
//
// Step 2 reads two numbers of shared memory for each multiply-add, and shared memory then sets the pace. Here a thread owns 8 x 8
// elements of C in registers: for each k it reads 8 numbers of A and 8 of B and does 64 multiply-adds with them. 16 x 16 threads
// make a tile of 128 x 128. Rows of a thread lie 16 apart, columns too: lanes of a warp (16 x values, 2 y values) then read
// neighbours of B. A's tile lies transposed, so that they read neighbours of it as well; a pitch of 132 keeps the transposing
// stores off each other's banks.
constexpr int kBlockTile = 128, kDepth = 8, kThreadTile = 8, kSide = kBlockTile / kThreadTile;
constexpr int kPitch = kBlockTile + 4;

__global__ void __launch_bounds__(kSide* kSide)
    register_tile_product_kernel(const float* a, const float* b, float* c, Extents e) {
    device::SharedArena arena;
    float* const tile_a = arena.take<float>(kDepth * kPitch);      // [k][row]
    float* const tile_b = arena.take<float>(kDepth * kBlockTile);  // [k][col]
    const TilePlace tile = tile_place(e.n, kBlockTile);
    const int thread = static_cast<int>(threadIdx.x), x = thread % kSide, y = thread / kSide;
    float sum[kThreadTile][kThreadTile] = {};
    for (std::int64_t first = 0; first < e.k; first += kDepth) {
        for (int i = thread; i < kBlockTile * kDepth; i += kSide * kSide) {
            const int row = i / kDepth, k = i % kDepth;
            const bool inside = tile.row + row < e.m && first + k < e.k;
            write_one(tile_a + k * kPitch + row, inside ? read_one(a + (tile.row + row) * e.k + first + k) : 0);
        }
        for (int i = thread; i < kDepth * kBlockTile; i += kSide * kSide) {
            const int k = i / kBlockTile, col = i % kBlockTile;
            const bool inside = first + k < e.k && tile.col + col < e.n;
            write_one(tile_b + i, inside ? read_one(b + (first + k) * e.n + tile.col + col) : 0);
        }
        __syncthreads();  // the tiles are whole
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            float of_a[kThreadTile], of_b[kThreadTile];
#pragma unroll
            for (int i = 0; i < kThreadTile; ++i) of_a[i] = read_one(tile_a + k * kPitch + y + kSide * i);
#pragma unroll
            for (int j = 0; j < kThreadTile; ++j) of_b[j] = read_one(tile_b + k * kBlockTile + x + kSide * j);
#pragma unroll
            for (int i = 0; i < kThreadTile; ++i)
#pragma unroll
                for (int j = 0; j < kThreadTile; ++j) sum[i][j] += of_a[i] * of_b[j];
        }
        __syncthreads();  // the tiles have been read: the next step overwrites them
    }
#pragma unroll
    for (int i = 0; i < kThreadTile; ++i)
#pragma unroll
        for (int j = 0; j < kThreadTile; ++j) {
            const std::int64_t row = tile.row + y + kSide * i, col = tile.col + x + kSide * j;
            if (row < e.m && col < e.n) write_one(c + row * e.n + col, sum[i][j]);
        }
}

// ---- 4. vector loads: four numbers an instruction
//
// The same tiles and sums, but each access moves 16 bytes: global loads, reads of shared memory and the final stores. A thread's
// 8 x 8 elements are now four blocks of 4 x 4, 64 rows or columns apart, because 4 neighbours come with one access. N = 4 needs
// rows of A, B and C that start at multiples of 16 bytes; N = 1 is the same kernel for all other matrices, with four small
// accesses in place of one.

// Four neighbours of a row [cols] from `col` on, zeros beyond its end.
template <int N>
__device__ __forceinline__ device::Vector<float, 4> load_four(const float* row, std::int64_t col, std::int64_t cols) {
    device::Vector<float, 4> four = {};
    if constexpr (N == 4) {
        if (col < cols) four = device::load_vector<4>(row + col);
    } else {
        for (int i = 0; i < 4; ++i)
            if (col + i < cols) four[i] = read_one(row + col + i);
    }
    return four;
}
template <int N>
__device__ __forceinline__ void store_four(float* row, std::int64_t col, std::int64_t cols,
                                           const device::Vector<float, 4>& four) {
    if constexpr (N == 4) {
        if (col < cols) device::store_vector(row + col, four);
    } else {
        for (int i = 0; i < 4; ++i)
            if (col + i < cols) write_one(row + col + i, four[i]);
    }
}

template <int N>
__global__ void __launch_bounds__(kSide* kSide) vector_loads_product_kernel(const float* a, const float* b, float* c, Extents e) {
    device::SharedArena arena;
    float* const tile_a = arena.take<float>(kDepth * kPitch);      // [k][row]
    float* const tile_b = arena.take<float>(kDepth * kBlockTile);  // [k][col]
    const TilePlace tile = tile_place(e.n, kBlockTile);
    const int thread = static_cast<int>(threadIdx.x), x = thread % kSide, y = thread / kSide;
    // 256 threads: each copies four numbers of A (two threads a row) and four of B (32 threads a row).
    const int row_a = thread / 2, k_a = thread % 2 * 4, k_b = thread / 32, col_b = thread % 32 * 4;
    float sum[kThreadTile][kThreadTile] = {};
    for (std::int64_t first = 0; first < e.k; first += kDepth) {
        device::Vector<float, 4> four = {};
        if (tile.row + row_a < e.m) four = load_four<N>(a + (tile.row + row_a) * e.k, first + k_a, e.k);
#pragma unroll
        for (int i = 0; i < 4; ++i) write_one(tile_a + (k_a + i) * kPitch + row_a, four[i]);
        four = {};
        if (first + k_b < e.k) four = load_four<N>(b + (first + k_b) * e.n, tile.col + col_b, e.n);
        device::store_vector(tile_b + k_b * kBlockTile + col_b, four);
        __syncthreads();  // the tiles are whole
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            device::Vector<float, 4> of_a[2], of_b[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                of_a[half] = device::load_vector<4>(tile_a + k * kPitch + half * kBlockTile / 2 + 4 * y);
                of_b[half] = device::load_vector<4>(tile_b + k * kBlockTile + half * kBlockTile / 2 + 4 * x);
            }
#pragma unroll
            for (int i = 0; i < kThreadTile; ++i)
#pragma unroll
                for (int j = 0; j < kThreadTile; ++j) sum[i][j] += of_a[i / 4][i % 4] * of_b[j / 4][j % 4];
        }
        __syncthreads();  // the tiles have been read: the next step overwrites them
    }
#pragma unroll
    for (int i = 0; i < kThreadTile; ++i) {
        const std::int64_t row = tile.row + i / 4 * (kBlockTile / 2) + 4 * y + i % 4;
        if (row >= e.m) continue;
#pragma unroll
        for (int half = 0; half < 2; ++half)
            store_four<N>(c + row * e.n, tile.col + half * kBlockTile / 2 + 4 * x, e.n,
                          {sum[i][4 * half], sum[i][4 * half + 1], sum[i][4 * half + 2], sum[i][4 * half + 3]});
    }
}

// ---- 5. warp tile: what a warp reads, its lanes share
//
// Step 4 reads 16 numbers of shared memory for 64 multiply-adds of a thread, and a warp's lanes lie 2 x 16 in C: they read 8 and
// 64 different numbers of A and B for each k. Here four warps own 64 x 64 elements each and a lane 8 x 16 of them: 24 numbers for
// 128 multiply-adds. The lanes lie 8 x 4: a warp reads 64 numbers of A and 64 of B, each once from shared memory to several
// lanes.
constexpr int kWarpTile = 64, kWarpTileThreads = 4 * device::kWarp, kLanesAcross = 4, kLanesDown = 8;
constexpr int kDown = kWarpTile / kLanesDown / 4, kAcross = kWarpTile / kLanesAcross / 4;  // blocks of 4 x 4 of a lane: 2 and 4

template <int N>
__global__ void __launch_bounds__(kWarpTileThreads)
    warp_tile_product_kernel(const float* a, const float* b, float* c, Extents e) {
    device::SharedArena arena;
    float* const tile_a = arena.take<float>(kDepth * kPitch);      // [k][row]
    float* const tile_b = arena.take<float>(kDepth * kBlockTile);  // [k][col]
    const TilePlace tile = tile_place(e.n, kBlockTile);
    const int thread = device::thread_in_block();
    const int row = device::warp() / 2 * kWarpTile + device::lane() / kLanesAcross * 4;
    const int col = device::warp() % 2 * kWarpTile + device::lane() % kLanesAcross * 4;
    float sum[4 * kDown][4 * kAcross] = {};
    for (std::int64_t first = 0; first < e.k; first += kDepth) {
        for (int i = thread; i < kBlockTile * kDepth / 4; i += kWarpTileThreads) {
            const int row_a = i / 2, k_a = i % 2 * 4, k_b = i / 32, col_b = i % 32 * 4;
            device::Vector<float, 4> four = {};
            if (tile.row + row_a < e.m) four = load_four<N>(a + (tile.row + row_a) * e.k, first + k_a, e.k);
#pragma unroll
            for (int j = 0; j < 4; ++j) write_one(tile_a + (k_a + j) * kPitch + row_a, four[j]);
            four = {};
            if (first + k_b < e.k) four = load_four<N>(b + (first + k_b) * e.n, tile.col + col_b, e.n);
            device::store_vector(tile_b + k_b * kBlockTile + col_b, four);
        }
        __syncthreads();  // the tiles are whole
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            device::Vector<float, 4> of_a[kDown], of_b[kAcross];
#pragma unroll
            for (int i = 0; i < kDown; ++i) of_a[i] = device::load_vector<4>(tile_a + k * kPitch + row + i * 4 * kLanesDown);
#pragma unroll
            for (int j = 0; j < kAcross; ++j)
                of_b[j] = device::load_vector<4>(tile_b + k * kBlockTile + col + j * 4 * kLanesAcross);
#pragma unroll
            for (int i = 0; i < 4 * kDown; ++i)
#pragma unroll
                for (int j = 0; j < 4 * kAcross; ++j) sum[i][j] += of_a[i / 4][i % 4] * of_b[j / 4][j % 4];
        }
        __syncthreads();  // the tiles have been read: the next step overwrites them
    }
#pragma unroll
    for (int i = 0; i < 4 * kDown; ++i) {
        const std::int64_t at = tile.row + row + i / 4 * 4 * kLanesDown + i % 4;
        if (at >= e.m) continue;
#pragma unroll
        for (int j = 0; j < kAcross; ++j)
            store_four<N>(c + at * e.n, tile.col + col + j * 4 * kLanesAcross, e.n,
                          {sum[i][4 * j], sum[i][4 * j + 1], sum[i][4 * j + 2], sum[i][4 * j + 3]});
    }
}

// ---- the host's side

unsigned tiles(const Extents& e, int tile) { return device::blocks_for((e.m + tile - 1) / tile * ((e.n + tile - 1) / tile), 1); }

constexpr std::size_t kRegisterTileBytes =
    device::SharedSize().take<float>(kDepth * kPitch).take<float>(kDepth * kBlockTile).bytes();

void run_naive(const Extents& e, const Tensor& a, const Tensor& b, Tensor& c) {
    device::dispatch("matmul_ladder", a.dtype(), [&]<class T>(TypeTag<T>) {
        device::launch({.grid = dim3(tiles(e, kNaiveTile)), .block = dim3(kNaiveTile, kNaiveTile)}, naive_product_kernel<T>,
                       a.data<T>(), b.data<T>(), c.mutable_data<T>(), e);
    });
}

void run_f32(MatmulStep step, const Extents& e, const float* a, const float* b, float* c) {
    if (step == MatmulStep::shared_tile)
        return device::launch({.grid = dim3(tiles(e, kTile)),
                               .block = dim3(kTile, kTile),
                               .shared = device::SharedSize().take<float>(kTile * kTile).take<float>(kTile * kTile).bytes()},
                              shared_tile_product_kernel, a, b, c, e);
    const device::LaunchConfig config{
        .grid = dim3(tiles(e, kBlockTile)), .block = dim3(kSide * kSide), .shared = kRegisterTileBytes};
    if (step == MatmulStep::register_tile) return device::launch(config, register_tile_product_kernel, a, b, c, e);
    const bool fits = device::vectors_fit(a, e.k, 4) && device::vectors_fit(b, e.n, 4) && device::vectors_fit(c, e.n, 4);
    if (step == MatmulStep::vector_loads)
        return device::launch(config, fits ? vector_loads_product_kernel<4> : vector_loads_product_kernel<1>, a, b, c, e);
    device::launch({.grid = config.grid, .block = dim3(kWarpTileThreads), .shared = kRegisterTileBytes},
                   fits ? warp_tile_product_kernel<4> : warp_tile_product_kernel<1>, a, b, c, e);
}

}  // namespace

Tensor matmul_ladder(MatmulStep step, const Tensor& a, const Tensor& b) {
    if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) fail("matmul_ladder: wanted a [m, k] and b [k, n]");
    if (a.dtype() != b.dtype())
        fail("matmul_ladder: a is " + std::string(name(a.dtype())) + ", but b " + std::string(name(b.dtype())));
    if (a.device() != Device::cuda || b.device() != Device::cuda) fail("matmul_ladder: a and b must lie on the CUDA device");
    const Extents e{a.dim(0), b.dim(1), a.dim(1)};
    Tensor c = Tensor::empty({e.m, e.n}, a.dtype(), Device::cuda);
    if (c.numel() == 0) return c;
    if (step == MatmulStep::naive)
        run_naive(e, a, b, c);
    else if (step >= MatmulStep::tensor_cores)
        matmul_ladder_cores(step, a, b, c);
    else
        run_f32(step, e, a.data<float>(), b.data<float>(), c.mutable_data<float>());
    return c;
}

int matmul_ladder_registers(MatmulStep step) {
    switch (step) {
        case MatmulStep::naive: return device::registers_of(naive_product_kernel<float>);
        case MatmulStep::shared_tile: return device::registers_of(shared_tile_product_kernel);
        case MatmulStep::register_tile: return device::registers_of(register_tile_product_kernel);
        case MatmulStep::vector_loads: return device::registers_of(vector_loads_product_kernel<4>);
        case MatmulStep::warp_tile: return device::registers_of(warp_tile_product_kernel<4>);
        default: return matmul_ladder_cores_registers(step);
    }
}

}  // namespace heddle::kernels
