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
#include "kernels/device/sweep.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kThreads = 64;

__global__ void __launch_bounds__(kThreads)
    cache_table_kernel(const std::int32_t* table,  // [former, capacity]
                       std::int64_t former, std::int64_t capacity,
                       const std::int32_t* parents,  // [hypotheses] or null
                       std::int64_t position, device::Growth positions, std::int64_t first_row, device::Growth rows,
                       std::int32_t* result) {  // [hypotheses, capacity]
    const std::int64_t hypothesis = blockIdx.x;
    position += positions.now();
    device::require(position < capacity, "cache_table: there is no room for another token");
    first_row += rows.now();
    const std::int64_t parent = parents == nullptr ? hypothesis : parents[hypothesis];
    device::require(parent >= 0 && parent < former, "cache_table: a hypothesis goes on from one that does not exist");
    const std::int32_t* from = table + parent * capacity;
    std::int32_t* to = result + hypothesis * capacity;
    for (std::int64_t t = threadIdx.x; t <= position; t += kThreads)
        to[t] = t < position ? from[t] : static_cast<std::int32_t>(first_row + hypothesis);
}

__global__ void count_replay_kernel(std::int32_t* count) { ++*count; }

// Rows of `bytes` bytes, B at a time; a block takes a row.
template <int B>
__global__ void __launch_bounds__(kThreads)
    store_in_cache_kernel(const std::uint8_t* from, std::int64_t pitch, std::int64_t bytes, std::int64_t first_row,
                          device::Growth rows, std::int64_t slots, std::uint8_t* cache) {  // cache [slots, bytes]
    const std::int64_t row = first_row + rows.now() + blockIdx.x;
    device::require(row < slots, "cache_table: the newest keys lie beyond the cache");
    for (std::int64_t i = threadIdx.x * B; i < bytes; i += kThreads * B)
        device::store_vector(cache + row * bytes + i, device::load_vector<B>(from + blockIdx.x * pitch + i));
}

}  // namespace

void count_replay_cuda(std::int32_t* count) { device::launch({.grid = 1, .block = 1}, count_replay_kernel, count); }

void store_in_cache_cuda(const Columns& columns, std::int64_t first_row, const device::Growth& rows, Tensor& cache) {
    const std::int64_t size = size_of(cache.dtype()), bytes = columns.count * size, pitch = columns.pitch() * size;
    const auto* const from = reinterpret_cast<const std::uint8_t*>(columns.base.bytes_data() + columns.begin * size);
    auto* const to = reinterpret_cast<std::uint8_t*>(cache.mutable_bytes_data());
    device::with_bytes(
        {device::address(from), device::address(to), static_cast<std::uint64_t>(pitch), static_cast<std::uint64_t>(bytes)},
        [&]<int B>(device::Width<B>) {
            device::launch({.grid = device::blocks_for(columns.rows(), 1), .block = kThreads}, store_in_cache_kernel<B>, from,
                           pitch, bytes, first_row, rows, cache.dim(0), to);
        });
}

void extended_cache_table_cuda(const Tensor& table, const Tensor& parents, std::int64_t position, const device::Growth& positions,
                               std::int64_t first_row, const device::Growth& rows, Tensor& result) {
    device::launch({.grid = device::blocks_for(result.dim(0), 1), .block = kThreads}, cache_table_kernel,
                   table.data<std::int32_t>(), table.dim(0), table.dim(1),
                   parents.defined() ? parents.data<std::int32_t>() : nullptr, position, positions, first_row, rows,
                   result.mutable_data<std::int32_t>());
}

}  // namespace heddle::kernels
