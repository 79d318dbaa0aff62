#include "tests/kernels/device_layer_kernels.h"

#include <cuda_runtime.h>

#include "core/device.h"
#include "core/error.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/fence.h"
#include "kernels/device/launch.h"
#include "kernels/device/mma.h"
#include "kernels/device/pipeline.h"
#include "kernels/device/random.h"
#include "kernels/device/reduce.h"
#include "kernels/device/swizzle.h"
#include "kernels/device/vector.h"

namespace heddle::testing_kernels {
namespace {

using namespace heddle::device;

// y [n]: first, first + 1, .. divided
__global__ void quotients_kernel(std::int64_t first, Divisor by, double* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = static_cast<double>((first + i) / by);
}

// kept [rows, 8 groups]; a thread a group
__global__ void dropout_kernel(DropoutRule rule, std::uint8_t* kept, std::int64_t rows, std::int64_t groups) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= rows * groups) return;
    const unsigned bits = kept_in_row(rule, i / groups, i % groups);
    for (int j = 0; j < 8; ++j) kept[i * 8 + j] = static_cast<std::uint8_t>(bits >> j & 1u);
}

__global__ void to_bf16_kernel(const float* x, bf16* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = store<bf16>(x[i]);
}

__global__ void from_bf16_kernel(const bf16* x, float* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = load(x[i]);
}

template <class T>
__global__ void functions_kernel(const T* x, T* y, std::int64_t n) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const T magnitude = x[i] < 0 ? -x[i] : x[i];
    y[i] = exponential(x[i]);
    y[n + i] = logarithm(magnitude);
    y[2 * n + i] = inverse_root(magnitude);
    y[3 * n + i] = larger(x[i], T(0.5));
}

__global__ void reductions_kernel(const float* x, float* y) {
    float* scratch = shared<float>(kBlockReduce);
    const int i = thread_in_block();
    y += 8 * i;
    y[0] = warp_sum(x[i]);
    y[1] = warp_max(x[i]);
    y[2] = warp_sum<8>(x[i]);
    y[3] = warp_max<8>(x[i]);
    y[4] = warp_sum<2>(x[i]);
    y[5] = warp_max<2>(x[i]);
    y[6] = block_sum(x[i], scratch);
    y[7] = block_max(x[i], scratch);
}

template <class T, int N>
__global__ void vectors_kernel(const T* x, T* y, std::int64_t n) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * N;
    if (i < n) store_vector<N>(y + i, load_vector<N>(x + i));
}

// One block of 32 threads: lane l owns elements [4 l, 4 l + 4) of each tile of 128, but stores its neighbour's.
__global__ void pipeline_kernel(const float* x, float* y, std::int64_t n, float* beyond) {
    SharedArena arena;
    float* tiles = arena.take<float>(2 * 128);
    const int lane = static_cast<int>(threadIdx.x), neighbour = (lane + 1) % 32;
    const std::int64_t count = (n + 127) / 128;
    Pipeline<2> pipeline;
    const auto fetch = [&](std::int64_t tile) {
        pipeline.acquire();
        if (tile < count) {
            const std::int64_t at = tile * 128 + 4 * lane;
            const int valid = at + 4 <= n ? 16 : at < n ? static_cast<int>(n - at) * 4 : 0;
            copy_async(tiles + tile % 2 * 128 + 4 * lane, valid > 0 ? x + at : x, valid);
        }
        pipeline.commit();
    };
    fetch(0);
    float sum = 0;
    for (std::int64_t tile = 0; tile < count; ++tile) {
        fetch(tile + 1);
        pipeline.wait();
        __syncthreads();  // the neighbour's copies have landed
        for (int j = 0; j < 4; ++j) {
            const std::int64_t at = tile * 128 + 4 * neighbour + j;
            const float value = tiles[tile % 2 * 128 + 4 * neighbour + j];
            if (at < n)
                y[at] = value;
            else
                sum += value;
        }
        __syncthreads();  // the tile may be overwritten
        pipeline.release();
    }
    pipeline.wait_all();
    sum = warp_sum(sum);
    if (lane == 0) *beyond = sum;
}

// Copies a bf16 matrix [rows, cols] into swizzled tiles of 64 columns; cols is 16 or 64, narrower rows leave the rest of a tile
// unused.
__device__ void stage(const bf16* from, bf16* to, int rows, int cols) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * cols / 8; i += 32) {
        const int row = i / (cols / 8), col = i % (cols / 8) * 8;
        store_vector<8>(to + swizzled<bf16, 64>(row, col, rows), load_vector<8>(from + row * cols + col));
    }
}

// The A fragment of columns [k, k + 16) of a [16, 64].
__device__ FragmentA fragment_a(const bf16* tile, int k) {
    const int l = lane();
    FragmentA a;
    load_a(a, tile + swizzled<bf16, 64>(l % 16, k + l / 16 * 8, 16));
    return a;
}

// The B fragments of rows [k, k + 16) of b [64, 16], both column halves, staged as it is ([k, n]) or transposed ([n, k]).
__device__ void fragments_b(const bf16* tile, bool transposed, int k, int rows, FragmentB& left, FragmentB& right) {
    const int l = lane();
    if (transposed)
        load_b_pair(left, right, tile + swizzled<bf16, 64>(l % 8 + l / 16 * 8, k + l / 8 % 2 * 8, 16));
    else
        load_b_pair_transposed(left, right, tile + swizzled<bf16, 64>(k + l % 16, l / 16 * 8, rows));
}

__global__ void product_bf16_kernel(const bf16* a, const bf16* b, bool b_transposed, float* d) {
    SharedArena arena;
    bf16* a_tile = arena.take<bf16>(16 * 64, 1024);
    bf16* b_tile = arena.take<bf16>(64 * 64, 1024);
    stage(a, a_tile, 16, 64);
    stage(b, b_tile, b_transposed ? 16 : 64, b_transposed ? 64 : 16);
    __syncwarp();  // the tiles are there
    Accumulator16x8 left_sum, right_sum;
    for (int k = 0; k < 64; k += 16) {
        const FragmentA fragment = fragment_a(a_tile, k);
        FragmentB left, right;
        fragments_b(b_tile, b_transposed, k, 64, left, right);
        mma(left_sum, fragment, left);
        mma(right_sum, fragment, right);
    }
    for (int i = 0; i < Accumulator16x8::kElements; ++i) {
        d[left_sum.row(i) * 16 + left_sum.col(i)] = left_sum[i];
        d[right_sum.row(i) * 16 + 8 + right_sum.col(i)] = right_sum[i];
    }
}

__global__ void product_of_product_kernel(const bf16* a, const bf16* b, const bf16* c, float* d) {
    SharedArena arena;
    bf16* a_tile = arena.take<bf16>(16 * 64, 1024);
    bf16* b_tile = arena.take<bf16>(64 * 64, 1024);
    bf16* c_tile = arena.take<bf16>(16 * 64, 1024);
    stage(a, a_tile, 16, 64);
    stage(b, b_tile, 64, 16);
    stage(c, c_tile, 16, 16);
    __syncwarp();  // the tiles are there
    Accumulator16x8 left_sum, right_sum, result;
    FragmentB left, right;
    for (int k = 0; k < 64; k += 16) {
        const FragmentA fragment = fragment_a(a_tile, k);
        fragments_b(b_tile, false, k, 64, left, right);
        mma(left_sum, fragment, left);
        mma(right_sum, fragment, right);
    }
    fragments_b(c_tile, false, 0, 16, left, right);
    mma(result, as_a(left_sum, right_sum), left);
    for (int i = 0; i < Accumulator16x8::kElements; ++i) d[result.row(i) * 8 + result.col(i)] = result[i];
}

__global__ void last_block_kernel(const float* x, std::int64_t n, float* partial, unsigned* ticket, float* y) {
    SharedArena arena;
    float* scratch = arena.take<float>(kBlockReduce);
    int* flag = arena.take<int>(1);
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    const float sum = block_sum(i < n ? x[i] : 0.0f, scratch);
    const unsigned writer = blockDim.x - 1;  // any thread may write, not only the one that draws the ticket
    if (threadIdx.x == writer) partial[blockIdx.x] = sum;
    if (!last_block(ticket, gridDim.x, flag)) return;
    if (threadIdx.x != writer) return;
    *flag = 0;  // its memory may be used again
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
    *y = total;
}

__global__ void nothing_kernel(float*) {}

__global__ void lanes_of_two_axes_kernel() { require(lane() >= 0, "a lane is negative"); }

__global__ void require_positive_kernel(const float* x) { require(x[threadIdx.x] >= 0, "a number is negative"); }

}  // namespace

void dropout_decisions(const Dropout& dropout, Tensor& kept) {
    const std::int64_t groups = kept.cols() / 8;
    launch({.grid = blocks_for(kept.rows() * groups, 64), .block = 64}, dropout_kernel, DropoutRule(dropout),
           kept.mutable_data<std::uint8_t>(), kept.rows(), groups);
}

void to_bf16(const Tensor& x, Tensor& y) {
    launch({.grid = blocks_for(x.numel(), 128), .block = 128}, to_bf16_kernel, x.data<float>(), y.mutable_data<bf16>(),
           x.numel());
}

void from_bf16(const Tensor& x, Tensor& y) {
    launch({.grid = blocks_for(x.numel(), 128), .block = 128}, from_bf16_kernel, x.data<bf16>(), y.mutable_data<float>(),
           x.numel());
}

void functions(const Tensor& x, Tensor& y) {
    const LaunchConfig config{.grid = blocks_for(x.numel(), 128), .block = 128};
    if (x.dtype() == DType::f64)
        launch(config, functions_kernel<double>, x.data<double>(), y.mutable_data<double>(), x.numel());
    else
        launch(config, functions_kernel<float>, x.data<float>(), y.mutable_data<float>(), x.numel());
}

void reductions(const Tensor& x, Tensor& y) {
    launch({.grid = 1, .block = static_cast<unsigned>(x.numel()), .shared = SharedSize().take<float>(kBlockReduce).bytes()},
           reductions_kernel, x.data<float>(), y.mutable_data<float>());
}

void copy_by_vectors(const Tensor& x, Tensor& y, int width) {
    const LaunchConfig config{.grid = blocks_for(x.numel(), 32 * width), .block = 32};
    const auto copy = [&]<class T>(TypeTag<T>) {
        const auto with = [&](auto kernel) { launch(config, kernel, x.data<T>(), y.mutable_data<T>(), x.numel()); };
        if (width == 1) with(vectors_kernel<T, 1>);
        if (width == 2) with(vectors_kernel<T, 2>);
        if (width == 4) with(vectors_kernel<T, 4>);
        if constexpr (sizeof(T) == 2)
            if (width == 8) with(vectors_kernel<T, 8>);
    };
    if (x.dtype() == DType::bf16)
        copy(TypeTag<bf16>{});
    else
        copy(TypeTag<float>{});
}

void copy_by_pipeline(const Tensor& x, Tensor& y, Tensor& beyond) {
    launch({.grid = 1, .block = 32, .shared = SharedSize().take<float>(2 * 128).bytes()}, pipeline_kernel, x.data<float>(),
           y.mutable_data<float>(), x.numel(), beyond.mutable_data<float>());
}

void product_bf16(const Tensor& a, const Tensor& b, bool b_transposed, Tensor& d) {
    const std::size_t shared = SharedSize().take<bf16>(16 * 64, 1024).take<bf16>(64 * 64, 1024).bytes();
    launch({.grid = 1, .block = 32, .shared = shared}, product_bf16_kernel, a.data<bf16>(), b.data<bf16>(), b_transposed,
           d.mutable_data<float>());
}

void product_of_product(const Tensor& a, const Tensor& b, const Tensor& c, Tensor& d) {
    const std::size_t shared = SharedSize().take<bf16>(16 * 64, 1024).take<bf16>(64 * 64, 1024).take<bf16>(16 * 64, 1024).bytes();
    launch({.grid = 1, .block = 32, .shared = shared}, product_of_product_kernel, a.data<bf16>(), b.data<bf16>(), c.data<bf16>(),
           d.mutable_data<float>());
}

void sum_by_last_block(const Tensor& x, Tensor& partial, Tensor& ticket, Tensor& y) {
    launch(
        {.grid = blocks_for(x.numel(), 128), .block = 128, .shared = SharedSize().take<float>(kBlockReduce).take<int>(1).bytes()},
        last_block_kernel, x.data<float>(), x.numel(), partial.mutable_data<float>(),
        reinterpret_cast<unsigned*>(ticket.mutable_data<std::int32_t>()), y.mutable_data<float>());
}

void on_another_stream(const std::function<void()>& body) {
    // Never destroyed: memory that was taken in its order is given back in it.
    static const cudaStream_t stream = [] {
        cudaStream_t made = nullptr;
        if (cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) != cudaSuccess) throw Error("no stream");
        return made;
    }();
    const device::WithStream with(stream);
    body();
    device::synchronize();
}

void quotients(std::int64_t first, std::int64_t by, Tensor& y) {
    launch({.grid = blocks_for(y.numel(), 64), .block = 64}, quotients_kernel, first, by, y.mutable_data<double>(), y.numel());
}

void launch_with(Tensor& y, unsigned grid_y, unsigned threads, std::size_t shared) {
    launch({.grid = dim3(1, grid_y), .block = threads, .shared = shared}, nothing_kernel, y.mutable_data<float>());
}

void lanes_of_two_axes() { launch({.grid = 1, .block = dim3(16, 2)}, lanes_of_two_axes_kernel); }

void require_positive(const Tensor& x) {
    launch({.grid = 1, .block = static_cast<unsigned>(x.numel())}, require_positive_kernel, x.data<float>());
}

int swizzled_place(int row, int col, int rows) { return swizzled<bf16, 128>(row, col, rows); }

}  // namespace heddle::testing_kernels
