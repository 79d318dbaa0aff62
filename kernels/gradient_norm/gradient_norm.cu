// The gradient's norm on CUDA; gradient_norm.h has the formulas.
//
// Two stages: up to 1024 blocks sum the squares of their share of every active range in f64, then one block adds the blocks' sums
// up and turns them into norm and factor. Which element goes to which thread, and every order of adding, depends on the ranges
// alone.
//
// Memory traffic: the gradient is read once, s bytes an element; 8 bytes a block are written and read.
#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/sweep.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1024;

// Block b and thread t take the vectors 256 b + t, and so on with the stride of the whole grid, of each range; the first
// threads also take the elements before a range's first whole vector and after its last one.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) gradient_squares_kernel(const T* gradients,          // [n]
                                                                    const std::int32_t* ranges,  // [count, 2]: start, length
                                                                    std::int64_t count, double* partial) {  // [blocks]
    double* scratch = shared<double>(kBlockReduce);
    const std::int64_t own = std::int64_t{blockIdx.x} * kThreads + thread_in_block(), stride = std::int64_t{gridDim.x} * kThreads;
    double total = 0;
    for (std::int64_t range = 0; range < count; ++range) {
        const std::int64_t start = ranges[2 * range], length = ranges[2 * range + 1];
        const T* from = gradients + start;
        const std::int64_t head = min((N - start % N) % N, length), tail = (length - head) % N;
        const auto add = [&]<int M>(Width<M>, std::int64_t i) {
            const Vector<T, M> g = load_vector<M>(from + i);
#pragma unroll
            for (int j = 0; j < M; ++j) total += static_cast<double>(load(g[j])) * static_cast<double>(load(g[j]));
        };
        if (own < head) add(Width<1>(), own);
        for (std::int64_t i = own * N; i < length - head - tail; i += stride * N) add(Width<N>(), head + i);
        if (own < tail) add(Width<1>(), length - tail + own);
    }
    total = block_sum(total, scratch);
    if (thread_in_block() == 0) partial[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads) gradient_norm_kernel(const double* partial,  // [blocks]
                                                                 std::int64_t blocks, double max_norm, double scale,
                                                                 double* result) {  // [2]: norm, factor
    double* scratch = shared<double>(kBlockReduce);
    double total = 0;
    for (std::int64_t block = thread_in_block(); block < blocks; block += kThreads) total += partial[block];
    total = block_sum(total, scratch);
    if (thread_in_block() != 0) return;
    const double norm = sqrt(total) * fabs(scale);
    const double clip = max_norm / (norm + 1e-6);
    result[0] = norm;
    result[1] = max_norm == 0 || clip > 1 ? scale : scale * clip;  // a NaN stays
}

template <class T>
__global__ void __launch_bounds__(kThreads) scale_gradients_kernel(T* gradients,  // [n]
                                                                   std::int64_t n, Accumulator<T> factor) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + thread_in_block();
    if (i < n) gradients[i] = store<T>(load(gradients[i]) * factor);
}

template <class T>
void sum_squares(const Tensor& gradients, const Spans& active, std::int64_t blocks, Tensor& partial) {
    constexpr int N = kVector<T>;
    const Tensor ranges = active.on_device();
    const bool fit = vectors_fit(gradients.data<T>(), N, N);
    launch({.grid = blocks_for(blocks, 1), .block = kThreads, .shared = kBlockReduce * sizeof(double)},
           fit ? gradient_squares_kernel<T, N> : gradient_squares_kernel<T, 1>, gradients.data<T>(), ranges.data<std::int32_t>(),
           active.size(), partial.mutable_data<double>());
}

}  // namespace

void measure_gradients_cuda(const Tensor& gradients, const Spans& active, double max_norm, double scale, Tensor& result) {
    const std::int64_t blocks = std::min(kMostBlocks, (active.tokens() + 4095) / 4096);
    Tensor partial = Tensor::empty({std::max<std::int64_t>(blocks, 1)}, DType::f64, Device::cuda);
    if (blocks > 0)
        dispatch("gradient_norm", gradients.dtype(),
                 [&]<class T>(TypeTag<T>) { sum_squares<T>(gradients, active, blocks, partial); });
    launch({.block = kThreads, .shared = kBlockReduce * sizeof(double)}, gradient_norm_kernel, partial.data<double>(), blocks,
           max_norm, scale, result.mutable_data<double>());
}

void scale_gradients_cuda(Tensor& gradients, double factor) {
    dispatch("scale_gradients", gradients.dtype(), [&]<class T>(TypeTag<T>) {
        launch({.grid = blocks_for(gradients.numel(), kThreads), .block = kThreads}, scale_gradients_kernel<T>,
               gradients.mutable_data<T>(), gradients.numel(), static_cast<Accumulator<T>>(factor));
    });
}

}  // namespace heddle::kernels
