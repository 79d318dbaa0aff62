// The table of a cache on CUDA; cache_table.h has the formula.
//
// A block takes a hypothesis: its threads copy the parent's numbers, neighbours neighbouring ones, and one of them adds the new
// one. The result is a table of its own, so a parent's row is unchanged while other blocks copy it.
//
// Memory traffic: 8 bytes for each token that a hypothesis has read, where its keys and values in one layer are 4 d_model bytes
// and more.
#include "kernels/cache_table/cache_table.h"
#include "kernels/device/cuda.h"
#include "kernels/device/launch.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kThreads = 64;

__global__ void __launch_bounds__(kThreads) cache_table_kernel(const std::int32_t* table,  // [former, capacity]
                                                               std::int64_t former, std::int64_t capacity,
                                                               const std::int32_t* parents,  // [hypotheses] or null
                                                               std::int64_t position, std::int64_t first_row,
                                                               std::int32_t* result) {  // [hypotheses, capacity]
    const std::int64_t hypothesis = blockIdx.x;
    const std::int64_t parent = parents == nullptr ? hypothesis : parents[hypothesis];
    device::require(parent >= 0 && parent < former, "cache_table: a hypothesis goes on from one that does not exist");
    const std::int32_t* from = table + parent * capacity;
    std::int32_t* to = result + hypothesis * capacity;
    for (std::int64_t t = threadIdx.x; t <= position; t += kThreads)
        to[t] = t < position ? from[t] : static_cast<std::int32_t>(first_row + hypothesis);
}

}  // namespace

void extended_cache_table_cuda(const Tensor& table, const Tensor& parents, std::int64_t position, std::int64_t first_row,
                               Tensor& result) {
    device::launch({.grid = device::blocks_for(result.dim(0), 1), .block = kThreads}, cache_table_kernel,
                   table.data<std::int32_t>(), table.dim(0), table.dim(1),
                   parents.defined() ? parents.data<std::int32_t>() : nullptr, position, first_row,
                   result.mutable_data<std::int32_t>());
}

}  // namespace heddle::kernels
