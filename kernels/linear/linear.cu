// The gradient of a bias: db[j] += sum over i of dy[i, j], dy [rows, cols].
//
// Rows are many (tokens of a batch), columns few. One thread per column would leave most of a GPU idle and add up to 100,000
// numbers in one chain; atomic adds would come in another order, and so with other bits, at each run. So the sum has two stages
// of the same kernel:
//
// 1. dy [rows, cols] -> partial [parts, cols]: a block sums 128 rows (more when rows are very many) of 32 vectors of columns.
// 2. partial -> db += ..: one part. The number of parts depends on the rows alone.
//
// A block is 32 x 8 threads. Thread (x, y) owns N neighbouring columns, which it loads with one access of 16 bytes, and every
// eighth row; a warp thus reads 512 bytes in a row. The eight sums of a column meet in shared memory and are added in the order
// of y. Memory traffic: dy is read once, partial [parts, cols] is written and read once (less than 1 % of dy in f32).
#include "kernels/linear/linear_cuda.h"

#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {
namespace {

using device::Accumulator;

constexpr int kWidth = 32, kHeight = 8;   // threads of a block
constexpr std::int64_t kPartRows = 128;   // the least that a block sums
constexpr std::int64_t kMostParts = 256;  // so that the second stage stays small

// out[part, j] = (add ? out[part, j] : 0) + sum of in[i, j] over the rows of the part
// in [rows, cols], out [parts, cols]; blockIdx.x counts groups of kWidth * N columns, blockIdx.y parts
template <class In, class Out, int N>
__global__ void __launch_bounds__(kWidth* kHeight)
    column_sums_kernel(const In* in, Out* out, std::int64_t rows, std::int64_t cols, std::int64_t part_rows, bool add) {
    using Sum = Accumulator<In>;
    Sum* const sums = device::shared<Sum>(kHeight * kWidth * N);  // [kHeight][N][kWidth]: lanes lie side by side in the banks
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const std::int64_t col = (std::int64_t{blockIdx.x} * kWidth + x) * N;
    const std::int64_t first = std::int64_t{blockIdx.y} * part_rows, last = min(rows, first + part_rows);
    Sum sum[N] = {};
    if (col < cols)  // with N > 1 the columns are a multiple of N
        for (std::int64_t i = first + y; i < last; i += kHeight) {
            const auto values = device::load_vector<N>(in + i * cols + col);
#pragma unroll
            for (int j = 0; j < N; ++j) sum[j] += device::load(values[j]);
        }
#pragma unroll
    for (int j = 0; j < N; ++j) sums[(y * N + j) * kWidth + x] = sum[j];
    __syncthreads();  // the sums of all eight rows of threads are there
    // Thread row y adds up columns y, y + 8, .. of each lane's N.
    for (int j = y; j < N; j += kHeight) {
        if (col + j >= cols) continue;
        Out* const to = out + std::int64_t{blockIdx.y} * cols + col + j;
        Sum total = add ? static_cast<Sum>(device::load(*to)) : Sum{0};
        for (int row = 0; row < kHeight; ++row) total += sums[(row * N + j) * kWidth + x];
        *to = device::store<Out>(total);
    }
}

template <class In, class Out, int N>
void column_sums(const In* in, Out* out, std::int64_t rows, std::int64_t cols, std::int64_t part_rows, bool add) {
    const unsigned parts = device::blocks_for(rows, part_rows);
    device::launch({.grid = dim3(device::blocks_for(cols, kWidth * N), parts),
                    .block = dim3(kWidth, kHeight),
                    .shared = device::SharedSize().take<Accumulator<In>>(kHeight * kWidth * N).bytes()},
                   column_sums_kernel<In, Out, N>, in, out, rows, cols, part_rows, add);
}

// out [cols] += the sums of `partial` [parts, cols]
template <class Sum, class Out>
void add_parts(const Tensor& partial, Tensor& out) {
    column_sums<Sum, Out, 1>(partial.data<Sum>(), out.data<Out>(), partial.rows(), partial.cols(), partial.rows(), true);
}

}  // namespace

void linear_backward_bias_cuda(const Tensor& dy, Tensor& dbias) {
    const std::int64_t rows = dy.rows(), cols = dy.cols();
    if (rows == 0 || cols == 0) return;
    const std::int64_t part_rows = std::max(kPartRows, (rows + kMostParts - 1) / kMostParts);
    const std::int64_t parts = (rows + part_rows - 1) / part_rows;
    device::dispatch("linear_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        using Sum = Accumulator<T>;
        constexpr int kN = device::kVector<T>;
        const Tensor partial = Tensor::empty({parts, cols}, dtype_of<Sum>(), Device::cuda);
        const T* from = dy.data<T>();
        if (device::vectors_fit(from, cols, kN))
            column_sums<T, Sum, kN>(from, partial.data<Sum>(), rows, cols, part_rows, false);
        else
            column_sums<T, Sum, 1>(from, partial.data<Sum>(), rows, cols, part_rows, false);
        if constexpr (std::is_same_v<T, bf16>) {
            if (dbias.dtype() == DType::bf16) return add_parts<Sum, bf16>(partial, dbias);
        }
        add_parts<Sum, Sum>(partial, dbias);
    });
}

}  // namespace heddle::kernels
