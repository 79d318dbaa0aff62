// What the two kernels on tensor cores share that never write h (feed_forward_fused.cu and feed_forward_fused_backward.cu): a
// block of 64 rows and 4 warps, a tile of 64 units, and what a lane does with its accumulators of a tile.
#pragma once

#include "kernels/device/mma.h"
#include "kernels/device/random.h"
#include "kernels/device/vector.h"

namespace heddle::kernels::fused {

inline constexpr int kRows = 64, kUnits = 64, kWarps = 4, kThreads = kWarps * device::kWarp, kStages = 2;

/// A warp's share of a tile: 16 rows of 64 units. A lane holds pairs of neighbours: elements 2 r and 2 r + 1 of an accumulator
/// are in its row r.
using Tile = device::Accumulator16x8[kUnits / 8];

/// Two neighbours of a row [cols], as far as they lie within it.
__device__ __forceinline__ void store_pair(bf16* row, std::int64_t col, std::int64_t cols, float left, float right) {
    using namespace device;
    if (cols % 2 == 0) {  // every row begins at a multiple of four bytes
        if (col < cols) store_vector(row + col, Vector<bf16, 2>{store<bf16>(left), store<bf16>(right)});
    } else {
        if (col < cols) row[col] = store<bf16>(left);
        if (col + 1 < cols) row[col + 1] = store<bf16>(right);
    }
}

/// The elements j of a bias [count] at `at` and behind it; 0 without a bias and beyond it.
__device__ __forceinline__ void load_biases(float (&values)[2], const bf16* bias, std::int64_t at, std::int64_t count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) values[i] = bias != nullptr && at + i < count ? device::load(bias[at + i]) : 0.0f;
}

/// The dropout's decisions on a warp's share of a tile.
class TileDropout {
  public:
    /// The tile's first row and first unit in the whole tensor are `row` and `unit`. A group of eight units is one Philox call,
    /// and the accumulators of four lanes. Lane t of the four draws for groups t and t + 4 of both its rows; the others ask it.
    __device__ __forceinline__ TileDropout(const device::DropoutRule& rule, std::int64_t row, std::int64_t unit) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                drawn_[half][r] = device::kept_in_row(rule, row + device::Accumulator16x8::row(2 * r),
                                                      unit / 8 + 4 * half + device::lane() % 4);
    }
    /// Bit i: whether element i of this lane's pair in group j and row r is kept. All lanes of the warp.
    __device__ __forceinline__ unsigned kept(int j, int r) const {
        return __shfl_sync(device::kAllLanes, drawn_[j / 4][r], device::lane() / 4 * 4 + j % 4) >>
               device::Accumulator16x8::col(0);
    }

  private:
    unsigned drawn_[2][2];
};

}  // namespace heddle::kernels::fused
