// Axes in another order on CUDA; permute.h has the formula. Axes that stay neighbours are one axis from here on, those of extent
// 1 none: [batch, time, heads, width] with time and heads exchanged has four axes, a transposed matrix two.
//
// 1. elements. A thread finds its element of y in x: for each axis an index, by division (division.h), times a step. It writes
// where its neighbours write. Where the last axis stays the last, it also reads where they read, and takes 16 bytes instead of
// one element: then this is all there is to do.
//
// 2. tiles. A last axis that moves makes neighbours in y lie far apart in x: each lane of a warp reads from another line of
// memory, 32 lines for 32 elements, and uses 4 of their 32 bytes (f32). So a block takes a tile of 32 x 32 along the two axes
// that are last, in x and in y. Its warps read rows along x's last axis into shared memory, and write rows along y's last axis
// out of it: both ways whole lines. The change of direction happens in shared memory, which has no lines but 32 banks:
//
//     written by rows:     tile[i][0 .. 31]    32 neighbouring words, 32 banks
//     read by columns:     tile[0 .. 31][j]    words 32 apart: all in one bank, read one after another
//
// Rows of 33 elements mend that: the words are 33 apart, each in another bank. (So they are for elements of 1, 2 and 8 bytes: 33
// is odd.)
//
// Memory traffic: every element is read once and written once.

#include "core/device.h"
#include "kernels/device/division.h"
#include "kernels/device/shared.h"
#include "kernels/device/sweep.h"
#include "kernels/permute/permute.h"

namespace heddle::kernels {
namespace {

using namespace device;

// y's axes, outermost first, merged. Steps count elements (or pieces of bytes) from one index to the next.
struct Axes {
    int count = 0;
    Divisor extents[Shape::kMaxRank] = {};
    std::int64_t x_steps[Shape::kMaxRank] = {};
    std::int64_t y_steps[Shape::kMaxRank] = {};

    void append(std::int64_t extent, std::int64_t x_step) {
        if (extent == 1) return;
        if (count > 0 && x_steps[count - 1] == extent * x_step) {  // x, too, has it after the one before
            extents[count - 1] = extents[count - 1].number * extent;
            x_steps[count - 1] = x_step;
            return;
        }
        extents[count] = extent;
        x_steps[count++] = x_step;
    }
    void set_y_steps() {
        std::int64_t step = 1;
        for (int k = count - 1; k >= 0; --k) {
            y_steps[k] = step;
            step *= extents[k].number;
        }
    }
};

// x, y [n] pieces of B bytes
template <int B>
__global__ void __launch_bounds__(kSweepBlock)
    permute_elements_kernel(const std::uint8_t* x, std::uint8_t* y, Axes axes, std::int64_t n) {
    const std::int64_t at = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (at >= n) return;
    std::int64_t from = 0, rest = at;
    for (int k = axes.count - 1; k >= 0; --k) {
        const std::int64_t further = rest / axes.extents[k];
        from += (rest - further * axes.extents[k].number) * axes.x_steps[k];
        rest = further;
    }
    store_vector(y + at * B, load_vector<B>(x + from * B));
}

constexpr int kTile = 32, kRows = 8, kPitch = kTile + 1;

// A block's tile covers two axes: `x_last` is x's last axis (with step 1 in x), `y_last` is y's last axis.
struct Tiles {
    std::int64_t x_last_extent, x_last_y_step;
    std::int64_t y_last_extent, y_last_x_step;
    Divisor across, down;  // tiles along x_last, and along y_last
    Axes others;
};

// Block (32, 8). x and y are the whole arrays.
template <class E>
__global__ void __launch_bounds__(kTile* kRows) permute_tiles_kernel(const E* x, E* y, Tiles t) {
    const std::int64_t line = blockIdx.x / t.across;
    const std::int64_t j0 = (blockIdx.x - line * t.across.number) * kTile;
    std::int64_t rest = line / t.down;
    const std::int64_t i0 = (line - rest * t.down.number) * kTile;
    std::int64_t from = 0, to = 0;  // of the tile's place along all other axes
    for (int k = t.others.count - 1; k >= 0; --k) {
        const std::int64_t further = rest / t.others.extents[k], index = rest - further * t.others.extents[k].number;
        from += index * t.others.x_steps[k];
        to += index * t.others.y_steps[k];
        rest = further;
    }
    E* tile = shared<E>(kTile * kPitch);  // [i along y_last, j along x_last]
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
#pragma unroll
    for (int i = row; i < kTile; i += kRows)
        if (i0 + i < t.y_last_extent && j0 + column < t.x_last_extent)
            tile[i * kPitch + column] = x[from + (i0 + i) * t.y_last_x_step + j0 + column];
    __syncthreads();  // the tile is there: every warp continues with columns that others have written
#pragma unroll
    for (int j = row; j < kTile; j += kRows)
        if (i0 + column < t.y_last_extent && j0 + j < t.x_last_extent)
            y[to + (j0 + j) * t.x_last_y_step + i0 + column] = tile[column * kPitch + j];
}

// The last axis stays: rows are copied as bytes.
void copy_rows(const std::byte* x, std::byte* y, Axes axes, std::int64_t size, std::int64_t bytes) {
    const int last = axes.count - 1;
    with_bytes({address(x), address(y), static_cast<std::uint64_t>(axes.extents[last].number * size)}, [&]<int B>(Width<B>) {
        Axes pieces = axes;
        pieces.extents[last] = axes.extents[last].number * size / B;
        for (int k = 0; k < last; ++k) pieces.x_steps[k] = axes.x_steps[k] * size / B;
        launch(sweep_config(bytes / B, 1), permute_elements_kernel<B>, reinterpret_cast<const std::uint8_t*>(x),
               reinterpret_cast<std::uint8_t*>(y), pieces, bytes / B);
    });
}

// The last axis moves. E: an integer of the elements' size.
template <class E>
void transpose(const Tensor& x, Tensor& y, const Axes& axes) {
    const int last = axes.count - 1;
    int moved = 0;  // where x's last axis stands in y
    while (axes.x_steps[moved] != 1) ++moved;
    if (axes.extents[last].number < kRows || axes.extents[moved].number < kRows) {  // tiles would be mostly empty
        launch(sweep_config(y.numel(), 1), permute_elements_kernel<static_cast<int>(sizeof(E))>,
               reinterpret_cast<const std::uint8_t*>(x.bytes_data()), reinterpret_cast<std::uint8_t*>(y.mutable_bytes_data()),
               axes, y.numel());
        return;
    }
    Tiles t{axes.extents[moved].number, axes.y_steps[moved], axes.extents[last].number, axes.x_steps[last], {}, {}, {}};
    t.across = (t.x_last_extent + kTile - 1) / kTile;
    t.down = (t.y_last_extent + kTile - 1) / kTile;
    std::int64_t tiles = t.across.number * t.down.number;
    for (int k = 0; k < last; ++k) {
        if (k == moved) continue;
        t.others.extents[t.others.count] = axes.extents[k];
        t.others.x_steps[t.others.count] = axes.x_steps[k];
        t.others.y_steps[t.others.count++] = axes.y_steps[k];
        tiles *= axes.extents[k].number;
    }
    launch({.grid = blocks_for(tiles, 1), .block = {kTile, kRows}, .shared = SharedSize().take<E>(kTile * kPitch).bytes()},
           permute_tiles_kernel<E>, reinterpret_cast<const E*>(x.bytes_data()), reinterpret_cast<E*>(y.mutable_bytes_data()), t);
}

}  // namespace

void permute_cuda(const Tensor& x, const std::vector<int>& order, Tensor& y) {
    if (x.numel() == 0) return;
    std::int64_t strides[Shape::kMaxRank] = {};
    std::int64_t stride = 1;
    for (int i = x.rank() - 1; i >= 0; --i) {
        strides[i] = stride;
        stride *= x.dim(i);
    }
    Axes axes;
    for (const int axis : order) axes.append(x.dim(axis), strides[axis]);
    axes.set_y_steps();
    if (axes.count < 2) {  // nothing moves
        device::copy(y.mutable_bytes_data(), Device::cuda, x.bytes_data(), Device::cuda, x.bytes());
        return;
    }
    const std::int64_t size = size_of(x.dtype());
    if (axes.x_steps[axes.count - 1] == 1) return copy_rows(x.bytes_data(), y.mutable_bytes_data(), axes, size, x.bytes());
    if (size == 8) return transpose<std::uint64_t>(x, y, axes);
    if (size == 4) return transpose<std::uint32_t>(x, y, axes);
    if (size == 2) return transpose<std::uint16_t>(x, y, axes);
    transpose<std::uint8_t>(x, y, axes);
}

}  // namespace heddle::kernels
