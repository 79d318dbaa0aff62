// A layout of tiles in shared memory in which neither rows nor columns have bank conflicts.
#pragma once

#include "kernels/device/cuda.h"

namespace heddle::device {

/// A tile of rows of 128 bytes (64 bf16 or 32 f32), aligned to 1024: the 16-byte chunk c of row r lies in chunk c ^ (r % 8) of
/// its row. Eight rows of one chunk column then cover all 32 banks, which is what ldmatrix reads at once. It is the 128-byte
/// pattern of the bulk copy engine (CUDA's CU_TENSOR_MAP_SWIZZLE_128B), so a tile may come by either way. Offsets in bytes.
__host__ __device__ constexpr int swizzle_128(int offset) { return offset ^ ((offset >> 7 & 7) << 4); }

/// The place, in elements, of element (row, col) of a swizzled tile that is `Cols` elements wide; Cols * sizeof(T) is a multiple
/// of 128. Wider tiles are stacks of 128-byte ones: chunk column c / 8 of all `rows` rows follows the ones before it.
template <class T, int Cols>
__host__ __device__ constexpr int swizzled(int row, int col, int rows) {
    constexpr int kWidth = 128 / static_cast<int>(sizeof(T));  // elements in a row of 128 bytes
    static_assert(Cols % kWidth == 0);
    const int slab = col / kWidth;
    return slab * rows * kWidth +
           swizzle_128((row * kWidth + col % kWidth) * static_cast<int>(sizeof(T))) / static_cast<int>(sizeof(T));
}

/// The place of (row + down, col + right) in a tile of bf16, given that of (row, col): `down` is a multiple of 8, `right` one of
/// 16, and col % 64 less than 16. With constants one XOR and a sum that is part of the access: a lane works out one place and
/// moves on.
__host__ __device__ constexpr int swizzled_from(int place, int down, int right, int rows) {
    return (place ^ right % 64) + right / 64 * rows * 64 + down * 64;
}

}  // namespace heddle::device
