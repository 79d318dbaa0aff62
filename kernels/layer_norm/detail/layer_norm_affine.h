// The sums of dgamma and dbeta over all chunks, by the blocks of the backward kernel that come last. For .cu files.
//
// The chunks form up to 32 runs of neighbours. The block that is the last of its run to finish adds the run's rows of partial
// sums up; the one that is then the last of all runs adds the runs up. So no block waits for another one, no second kernel is
// launched, and most of the adding is done by up to 32 blocks side by side. Which block comes last differs from run to run of a
// program; what is added in which order does not: chunks ascend within a run, then the runs ascend, in f64.
#pragma once

#include <cstdint>

#include "kernels/device/fence.h"
#include "kernels/device/number.h"

namespace heddle::kernels {

inline constexpr int kAffineRuns = 32;

/// A gradient [cols] that is added to: one of the two, or none when it is not wanted.
template <class T>
struct AffineTarget {
    T* own = nullptr;
    device::Accumulator<T>* wide = nullptr;  ///< an f32 sum beside bf16 rows
};

template <class T>
struct AffineSums {
    device::Accumulator<T>* partial = nullptr;  ///< [chunks, parts, cols]: each chunk's sums of dy xhat and of dy; or null
    double* runs = nullptr;                     ///< [kAffineRuns, parts, cols]
    unsigned* tickets = nullptr;                ///< [kAffineRuns + 1]
    AffineTarget<T> targets[2];                 ///< dgamma, dbeta
    int parts = 2;                              ///< 1 for RMS: dgamma alone
    int zero = 0;                               ///< no padding, in which the emulator could find an old pointer
};

/// Every thread of every block calls this once the block's row of `partial` is written, block b having chunk b. `flag`: one int
/// of shared memory.
template <class T>
__device__ __forceinline__ void finish_affine(const AffineSums<T>& sums, std::int64_t cols, int* flag) {
    using A = device::Accumulator<T>;
    const unsigned chunks = gridDim.x, length = (chunks + kAffineRuns - 1) / kAffineRuns;
    const unsigned run = blockIdx.x / length, runs = (chunks + length - 1) / length;
    const unsigned first = run * length, last = min(first + length, chunks);
    if (!device::last_block(sums.tickets + run, last - first, flag)) return;
    const int threads = static_cast<int>(blockDim.x);
    const std::int64_t sum_cols = sums.parts * cols;
    for (std::int64_t i = device::thread_in_block(); i < sum_cols; i += threads) {
        const A* from = sums.partial + first * sum_cols + i;
        double total = 0;
#pragma unroll 4
        for (unsigned chunk = first; chunk < last; ++chunk, from += sum_cols) total += static_cast<double>(*from);
        sums.runs[run * sum_cols + i] = total;
    }
    if (!device::last_block(sums.tickets + kAffineRuns, runs, flag)) return;
    for (std::int64_t i = device::thread_in_block(); i < sum_cols; i += threads) {
        const double* from = sums.runs + i;
        double total = 0;
#pragma unroll 4
        for (unsigned r = 0; r < runs; ++r, from += sum_cols) total += *from;
        const AffineTarget<T>& target = sums.targets[i >= cols];
        const std::int64_t column = i < cols ? i : i - cols;
        if (target.own != nullptr)
            target.own[column] = device::store<T>(device::load(target.own[column]) + static_cast<A>(total));
        if (target.wide != nullptr) target.wide[column] += static_cast<A>(total);
    }
}

}  // namespace heddle::kernels
