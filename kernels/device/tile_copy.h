// How tiles of bf16 matrices come to shared memory, for kernels on tensor cores.
#pragma once

#include "kernels/device/pipeline.h"
#include "kernels/device/swizzle.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {

/// The tile [Rows, Cols] of matrix [rows, cols] that begins at (row, col) to shared memory, swizzled; zeros beyond the matrix. N
/// = 8: by asynchronous copies, which are under way when it returns; rows are multiples of 16 bytes and begin at one. N = 1: any
/// rows, loaded by element and there at once.
///
/// All Threads threads of the block call it. Neighbouring threads copy neighbouring chunks, and from one copy of a thread to the
/// next only the row changes, by a multiple of eight: its place moves by a constant.
template <int Rows, int Cols, int N, int Threads>
__device__ __forceinline__ void copy_tile(bf16* tile, const bf16* matrix, std::int64_t row, std::int64_t col, std::int64_t rows,
                                          std::int64_t cols) {
    constexpr int kChunks = Cols / 8;         // of a row
    constexpr int kStep = Threads / kChunks;  // rows that are copied at a time
    static_assert(Threads % kChunks == 0 && kStep % 8 == 0 && Rows % kStep == 0);
    const int first = device::thread_in_block() / kChunks, c = device::thread_in_block() % kChunks * 8;
    bf16* const to = tile + device::swizzled<bf16, Cols>(first, c, Rows);
    // The part of the matrix from this thread's first chunk on; in 32 bits, since each copy compares.
    const int width = static_cast<int>(min(std::int64_t{8}, cols - col - c));
    const int left = width > 0 ? static_cast<int>(min(std::int64_t{Rows}, rows - row - first)) : 0;
    const bf16* from = matrix + (row + first) * cols + col + c;
    const std::int64_t step = kStep * cols;
    if constexpr (N == 8) {
#pragma unroll
        for (int r = 0; r < Rows; r += kStep, from += step) device::copy_async<16>(to + r * 64, from, r < left ? 16 : 0);
    } else {
#pragma unroll 1
        for (int r = 0; r < Rows; r += kStep, from += step) {
            device::Vector<bf16, 8> eight;
            for (int i = 0; i < 8; ++i) eight[i] = r < left && i < width ? from[i] : device::store<bf16>(0);
            device::store_vector(to + r * 64, eight);
        }
    }
}

}  // namespace heddle::kernels
