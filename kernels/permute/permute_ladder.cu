// A transposed copy, y[j, i] = x[i, j], in four steps. Each keeps what the one before it taught and adds one idea.
//
// Nothing is computed, so nothing but memory counts: each number is read once and written once. But neighbours in x are far apart
// in y. Whoever reads side by side writes far apart, unless numbers change hands in between.
//
//     step       a warp's 32 reads    its 32 writes    shared memory
//     naive      4 sectors            32 sectors       -
//     tile       4 sectors            4 sectors        written along rows in 1 cycle, read down columns in 32
//     padding    4 sectors            4 sectors        1 cycle each, 33/32 of the memory
//     swizzle    4 sectors            4 sectors        1 cycle each
//
// The library's kernel (permute.cu) pads and copies any order of axes. Tiles for tensor cores are swizzled, for their rows must
// begin at multiples of 16 bytes (matmul_ladder.cu).
#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/shared.h"
#include "kernels/permute/permute_ladder.h"

namespace heddle::kernels {
namespace {

using namespace device;

// ---- 1. naive: a thread an element
//
// Lane l reads column l of a row: 32 neighbours, 4 sectors. It writes row l of a column: 32 rows of y, a sector each, of which 4
// of 32 bytes are used.
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) transpose_naive_kernel(const float* x,  // [rows, cols]
                                                                   float* y,        // [cols, rows]
                                                                   std::int64_t rows, std::int64_t cols) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < rows * cols) write_one(y + i % cols * rows + i / cols, read_one(x + i));
}

// ---- 2. tile: numbers change hands in shared memory
//
// A block takes a tile of 32 x 32: eight warps read four rows each, side by side, and put them into shared memory as they are.
// Behind a barrier each warp takes four columns of the tile, which are rows of y, and writes them side by side. But a column of
// the tile lies in a single bank: its 32 numbers come one a cycle.
//
// ---- 3. padding: rows begin in different banks
//
// The same kernel with rows of 33 numbers. Number (row, column) lies in bank (row + column) % 32: all 32 of a column in different
// ones.
//
// ---- 4. swizzle: the columns of each row in another order
//
// Padding costs memory, and rows do not begin at multiples of 16 bytes any more, which wide accesses need. Instead column c of
// row r is put at c ^ r. Within a row that is another order of the same 32 places; down a column the places differ, too.
constexpr int kSide = 32, kRowsAtOnce = kThreads / kSide;

// Where the tile has number (row, col).
template <int Padding, bool Swizzled>
__device__ __forceinline__ int tile_place(int row, int col) {
    return row * (kSide + Padding) + (Swizzled ? col ^ row : col);
}

template <int Padding, bool Swizzled>
__global__ void __launch_bounds__(kThreads) transpose_tile_kernel(const float* x,  // [rows, cols]
                                                                  float* y,        // [cols, rows]
                                                                  std::int64_t rows, std::int64_t cols) {
    float* const tile = shared<float>(kSide * (kSide + Padding));
    const std::int64_t across = (cols + kSide - 1) / kSide;
    const std::int64_t first_row = blockIdx.x / across * kSide, first_col = blockIdx.x % across * kSide;
    for (int r = warp(); r < kSide; r += kRowsAtOnce) {
        if (first_row + r >= rows || first_col + lane() >= cols) break;
        const float number = read_one(x + (first_row + r) * cols + first_col + lane());
        write_one(tile + tile_place<Padding, Swizzled>(r, lane()), number);
    }
    __syncthreads();  // the tile is whole: each warp reads what all of them wrote
    for (int c = warp(); c < kSide; c += kRowsAtOnce) {
        if (first_col + c >= cols || first_row + lane() >= rows) break;
        const float number = read_one(tile + tile_place<Padding, Swizzled>(lane(), c));
        write_one(y + (first_col + c) * rows + first_row + lane(), number);
    }
}

}  // namespace

Tensor transpose_ladder(TransposeStep step, const Tensor& x) {
    if (x.rank() != 2 || x.dtype() != DType::f32 || x.device() != Device::cuda)
        fail("transpose_ladder: wanted x [rows, cols] in f32 on the CUDA device");
    const std::int64_t rows = x.dim(0), cols = x.dim(1);
    Tensor y = Tensor::empty({cols, rows}, DType::f32, Device::cuda);
    if (x.numel() == 0) return y;
    if (step == TransposeStep::naive) {
        launch({.grid = blocks_for(rows * cols, kThreads), .block = kThreads}, transpose_naive_kernel, x.data<float>(),
               y.mutable_data<float>(), rows, cols);
        return y;
    }
    const unsigned tiles = blocks_for((rows + kSide - 1) / kSide * ((cols + kSide - 1) / kSide), 1);
    const auto start = [&](auto* kernel, int pitch) {
        launch({.grid = tiles, .block = kThreads, .shared = SharedSize().take<float>(kSide * pitch).bytes()}, kernel,
               x.data<float>(), y.mutable_data<float>(), rows, cols);
    };
    if (step == TransposeStep::tile) start(transpose_tile_kernel<0, false>, kSide);
    if (step == TransposeStep::padding) start(transpose_tile_kernel<1, false>, kSide + 1);
    if (step == TransposeStep::swizzle) start(transpose_tile_kernel<0, true>, kSide);
    return y;
}

int transpose_ladder_registers(TransposeStep step) {
    switch (step) {
        case TransposeStep::naive: return registers_of(transpose_naive_kernel);
        case TransposeStep::tile: return registers_of(transpose_tile_kernel<0, false>);
        case TransposeStep::padding: return registers_of(transpose_tile_kernel<1, false>);
        case TransposeStep::swizzle: return registers_of(transpose_tile_kernel<0, true>);
    }
    return 0;
}

}  // namespace heddle::kernels
