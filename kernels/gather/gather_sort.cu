// The places of each index on CUDA: a stable sort of (index, place) by index. A counting sort needs a counter for each possible
// value, too many for a vocabulary; so the indices are sorted by one digit of 8 bits after the other, the lowest first (LSD radix
// sort; Knuth, The Art of Computer Programming, volume 3, section 5.2.5). Because each pass keeps equal digits in their order,
// places end up ascending.
//
// A pass over n indices, in tiles of 1024, one a block:
//
//     count     counts[digit, tile]: how often the digit comes in the tile
//     scan      counts becomes the sum of all before it: where the tile's first index with this digit goes
//     scatter   each index goes to that place plus the number of equal digits before it in its tile
//
// Memory traffic: a pass reads the indices twice, and reads and writes (index, place) once, 20 bytes an index; three passes for a
// vocabulary of 100,000. Beside the rows of dy, which are a hundred times wider, that is little.
#include "kernels/device/dispatch.h"
#include "kernels/device/shared.h"
#include "kernels/device/sweep.h"
#include "kernels/gather/gather.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kBits = 8, kDigits = 1 << kBits;
constexpr int kBlock = kDigits;  // thread d answers for digit d
constexpr int kWarps = kBlock / kWarp;
constexpr int kRounds = 4, kTile = kRounds * kBlock;

// One pass: from (indices, places) to (sorted_indices, sorted_places), all [n].
struct Pass {
    const std::int32_t* indices;
    const std::int32_t* places;  // null in the first pass: the place itself
    std::int32_t* counts;        // [kDigits, tiles]
    std::int32_t* sorted_indices;
    std::int32_t* sorted_places;
    std::int64_t n;
    std::int64_t tiles;
    std::int32_t bound;
    int shift;

    // The index at place i, with negative indices as `bound`.
    __device__ __forceinline__ std::int32_t index(std::int64_t i) const {
        const std::int32_t index = indices[i];
        if (places != nullptr) return index;
        require(index < bound, "gather: an index lies outside x");
        return index < 0 ? bound : index;
    }
    __device__ __forceinline__ int digit(std::int32_t index) const { return index >> shift & (kDigits - 1); }
};

__global__ void __launch_bounds__(kBlock) count_digits_kernel(Pass pass) {
    std::int32_t* counts = shared<std::int32_t>(kDigits);
    const int thread = thread_in_block();
    counts[thread] = 0;
    __syncthreads();  // all counters are zero
    for (int round = 0; round < kRounds; ++round) {
        const std::int64_t i = std::int64_t{blockIdx.x} * kTile + round * kBlock + thread;
        if (i < pass.n) atomicAdd(counts + pass.digit(pass.index(i)), 1);  // integers: in any order the same sum
    }
    __syncthreads();  // all have counted
    pass.counts[thread * pass.tiles + blockIdx.x] = counts[thread];
}

// counts [n] becomes the sum of all elements before it. One block walks over it, 1024 at a time: of a batch there are some
// thousand.
constexpr int kScanBlock = 1024;

__global__ void __launch_bounds__(kScanBlock) scan_kernel(std::int32_t* counts, std::int64_t n) {
    std::int32_t* sums = shared<std::int32_t>(kWarp);  // of the warps
    std::int32_t before = 0;                           // all earlier rounds
    for (std::int64_t start = 0; start < n; start += kScanBlock) {
        const std::int64_t i = start + thread_in_block();
        const std::int32_t own = i < n ? counts[i] : 0;
        std::int32_t upto = own;  // the sum over this lane and those below it
        for (int o = 1; o < kWarp; o *= 2) {
            const std::int32_t below = __shfl_up_sync(kAllLanes, upto, static_cast<unsigned>(o));
            if (lane() >= o) upto += below;
        }
        if (lane() == kWarp - 1) sums[warp()] = upto;
        __syncthreads();  // the warps' sums are there
        std::int32_t warps_upto = sums[lane()];
        for (int o = 1; o < kWarp; o *= 2) {
            const std::int32_t below = __shfl_up_sync(kAllLanes, warps_upto, static_cast<unsigned>(o));
            if (lane() >= o) warps_upto += below;
        }
        const std::int32_t earlier_warps = __shfl_sync(kAllLanes, warps_upto, warp() - 1 < 0 ? 0 : warp() - 1);
        if (i < n) counts[i] = before + (warp() == 0 ? 0 : earlier_warps) + upto - own;
        before += __shfl_sync(kAllLanes, warps_upto, kWarp - 1);
        __syncthreads();  // every warp has read the sums: they may be overwritten
    }
}

// 256 indices a round, in order. A warp finds out with eight votes which of its lanes have the same digit; then thread d adds up,
// warp by warp, where each warp's first index with digit d goes.
__global__ void __launch_bounds__(kBlock) scatter_kernel(Pass pass) {
    std::int32_t* next = shared<std::int32_t>(kWarps * kDigits);  // [warp, digit]: first a number, then a place
    std::int32_t* own = next + warp() * kDigits;
    const int thread = thread_in_block();
    std::int32_t place = pass.counts[thread * pass.tiles + blockIdx.x];  // where the next index with digit `thread` goes
    for (int round = 0; round < kRounds; ++round) {
        for (int d = lane(); d < kDigits; d += kWarp) own[d] = 0;
        __syncwarp();  // the warp's counters are zero
        const std::int64_t i = std::int64_t{blockIdx.x} * kTile + round * kBlock + thread;
        const bool inside = i < pass.n;
        const std::int32_t index = inside ? pass.index(i) : 0;
        const int digit = pass.digit(index);
        unsigned same = __ballot_sync(kAllLanes, inside);
        for (int bit = 0; bit < kBits; ++bit) {
            const unsigned set = __ballot_sync(kAllLanes, digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        const int rank = __popc(same & ((1u << lane()) - 1));
        if (inside && rank == 0) own[digit] = __popc(same);
        __syncthreads();  // all warps have counted
        for (int w = 0; w < kWarps; ++w) {
            const std::int32_t count = next[w * kDigits + thread];
            next[w * kDigits + thread] = place;
            place += count;
        }
        __syncthreads();  // every digit's thread has said where each warp begins
        if (inside) {
            const std::int32_t to = own[digit] + rank;
            pass.sorted_indices[to] = index;
            pass.sorted_places[to] = pass.places == nullptr ? static_cast<std::int32_t>(i) : pass.places[i];
        }
        __syncwarp();  // the warp has read its counters: the next round zeroes them
    }
}

}  // namespace

SortedPlaces sorted_places_cuda(const Tensor& indices, std::int64_t bound) {
    const std::int64_t n = indices.numel();
    if (n >= INT32_MAX || bound >= INT32_MAX) fail("gather: CUDA sorts fewer than 2^31 indices below 2^31");
    const auto fresh = [&](std::int64_t count) { return Tensor::empty({count}, DType::i32, Device::cuda); };
    const std::int64_t tiles = blocks_for(n, kTile);
    Tensor counts = fresh(kDigits * tiles);
    SortedPlaces from{indices, Tensor()};
    for (int shift = 0; shift == 0 || bound >> shift > 0; shift += kBits) {
        SortedPlaces to{fresh(n), fresh(n)};
        const Pass pass{from.indices.data<std::int32_t>(),
                        from.places.defined() ? from.places.data<std::int32_t>() : nullptr,
                        counts.mutable_data<std::int32_t>(),
                        to.indices.mutable_data<std::int32_t>(),
                        to.places.mutable_data<std::int32_t>(),
                        n,
                        tiles,
                        static_cast<std::int32_t>(bound),
                        shift};
        const auto grid = static_cast<unsigned>(tiles);
        launch({.grid = grid, .block = kBlock, .shared = SharedSize().take<std::int32_t>(kDigits).bytes()}, count_digits_kernel,
               pass);
        launch({.grid = n == 0 ? 0u : 1u, .block = kScanBlock, .shared = SharedSize().take<std::int32_t>(kWarp).bytes()},
               scan_kernel, pass.counts, kDigits * tiles);
        launch({.grid = grid, .block = kBlock, .shared = SharedSize().take<std::int32_t>(kWarps * kDigits).bytes()},
               scatter_kernel, pass);
        from = to;
    }
    return from;
}

}  // namespace heddle::kernels
