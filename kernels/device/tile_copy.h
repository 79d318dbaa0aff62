// How tiles of bf16 matrices come to shared memory, for kernels on tensor cores.
#pragma once

#include "kernels/device/pipeline.h"
#include "kernels/device/swizzle.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {

/// Eight neighbours of a row [cols] from `col` on to 16 bytes of shared memory; zeros beyond the row's end, and all zeros without
/// `exists` (`row` must point somewhere all the same). N = 8: an asynchronous copy; cols is a multiple of 8 and the row aligned
/// to 16 bytes. N = 1: any row, loaded by element and there at once.
template <int N>
__device__ __forceinline__ void copy_eight(bf16* to, const bf16* row, std::int64_t col, std::int64_t cols, bool exists) {
    if constexpr (N == 8) {
        const bool inside = exists && col < cols;
        device::copy_async<16>(to, inside ? row + col : row, inside ? 16 : 0);
    } else {
        device::Vector<bf16, 8> eight;
        for (int i = 0; i < 8; ++i) eight[i] = exists && col + i < cols ? row[col + i] : device::store<bf16>(0);
        device::store_vector(to, eight);
    }
}

/// The tile [Rows, Cols] of matrix [rows, cols] that begins at (row, col) to shared memory, swizzled; zeros beyond the matrix.
/// All `threads` threads of the block call it. The copies are under way when it returns.
template <int Rows, int Cols, int N>
__device__ __forceinline__ void copy_tile(bf16* tile, const bf16* matrix, std::int64_t row, std::int64_t col, std::int64_t rows,
                                          std::int64_t cols, int threads) {
    constexpr int kChunks = Cols / 8;  // of a row; neighbouring threads read neighbouring chunks
    for (int i = device::thread_in_block(); i < Rows * kChunks; i += threads) {
        const int r = i / kChunks, c = i % kChunks * 8;
        const bool exists = row + r < rows;
        copy_eight<N>(tile + device::swizzled<bf16, Cols>(r, c, Rows), exists ? matrix + (row + r) * cols : matrix, col + c, cols,
                      exists);
    }
}

}  // namespace heddle::kernels
