// Softmax of each row, y_j = e^(x_j - m) / sum_i e^(x_i - m) with m = max x, in six steps. Each keeps what the one before it
// taught and adds one idea.
//
// There is next to no arithmetic in a softmax: what counts is how often a row crosses the memory bus, and whether a warp asks for
// its bytes side by side. At least, x must be read once and y written once.
//
//     step        who owns a row     x is read    a warp's 32 reads lie            barriers
//     naive       a thread           3 times      in 32 rows: 32 sectors           none
//     block       128 threads        3 times      side by side: 4 sectors          18 a row
//     warp        32 threads         3 times      side by side                     none: shuffles
//     online      32 threads         twice        side by side                     none
//     registers   32 threads         once         side by side                     none
//     vectors     32 threads         once         side by side, 16 bytes a lane    none
//
// The last one is the library's kernel for rows of up to 1024 columns (softmax.cu) without masks, scale and bias. The library's
// kernel for wider rows joins `block` and `online`, and keeps the row in shared memory.
#include <string>

#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/rows.h"
#include "kernels/softmax/softmax_ladder.h"

namespace heddle::kernels {
namespace {

using namespace device;

// What is subtracted from every number of a row: its maximum. In a row of -inf alone 0, for -inf - -inf would be NaN; then every
// exponential is 0, and so is the result.
__device__ __forceinline__ float shift_of(float largest) { return largest == lowest<float>() ? 0.0f : largest; }
__device__ __forceinline__ float inverse_of(float sum) { return sum == 0 ? 0.0f : 1 / sum; }

// ---- 1. naive: three loops, a thread a row
//
// The formula as it stands. Lane l of a warp reads column c of row l, so one read of the warp touches 32 rows: 32 sectors of 32
// bytes for 32 numbers of 4 bytes. Seven of eight bytes that move are of no use yet, and the caches must keep them until the
// next columns are asked for.
constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) softmax_naive_kernel(const float* x,  // [rows, cols]
                                                                 float* y,        // [rows, cols]
                                                                 std::int64_t rows, std::int64_t cols) {
    const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (row >= rows) return;
    const float* const from = x + row * cols;
    float* const to = y + row * cols;
    float largest = lowest<float>();
    for (std::int64_t c = 0; c < cols; ++c) largest = larger(largest, read_one(from + c));
    const float shift = shift_of(largest);
    float sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) sum += exponential(read_one(from + c) - shift);
    const float inverse = inverse_of(sum);
    for (std::int64_t c = 0; c < cols; ++c) write_one(to + c, exponential(read_one(from + c) - shift) * inverse);
}

// ---- 2. block: neighbours read neighbours
//
// A block takes a row, thread t the columns t, t + 128, ... A warp's 32 numbers now lie side by side, in 4 sectors: every byte
// that moves is used at once. The price: the row's maximum and sum are spread over 128 threads. They are joined in shared memory
// by halves, 128 numbers to 64, 32, ... to 1, with a barrier before each half, because a thread reads what another one wrote.

// op over the numbers of all threads; every thread gets it. `shared` [kThreads].
template <class Op>
__device__ __forceinline__ float join_by_halves(float value, Op op, float* shared) {
    const int t = static_cast<int>(threadIdx.x);
    write_one(shared + t, value);
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();  // the numbers that this half joins are there
        if (t < half) write_one(shared + t, op(read_one(shared + t), read_one(shared + t + half)));
    }
    __syncthreads();  // the result is there
    value = read_one(shared);
    __syncthreads();  // everybody has read it: the next call overwrites it
    return value;
}

__global__ void __launch_bounds__(kThreads) softmax_block_kernel(const float* x,  // [rows, cols]
                                                                 float* y,        // [rows, cols]
                                                                 std::int64_t cols) {
    float* const scratch = shared<float>(kThreads);
    const float* const from = x + blockIdx.x * cols;
    float* const to = y + blockIdx.x * cols;
    float largest = lowest<float>();
    for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) largest = larger(largest, read_one(from + c));
    const float shift = shift_of(join_by_halves(largest, Max(), scratch));
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) sum += exponential(read_one(from + c) - shift);
    const float inverse = inverse_of(join_by_halves(sum, Sum(), scratch));
    for (std::int64_t c = threadIdx.x; c < cols; c += kThreads)
        write_one(to + c, exponential(read_one(from + c) - shift) * inverse);
}

// ---- 3. warp: shuffles instead of shared memory
//
// The 32 lanes of a warp read one another's registers by shuffles. Five of them join 32 numbers: lanes 16 apart exchange theirs,
// then lanes 8 apart, 4, 2, 1 (warp_max and warp_sum, kernels/device/reduce.h). So a warp takes a row by itself. No warp waits
// for another one, and four rows share a block for no other reason than that a processor takes few blocks.
__global__ void __launch_bounds__(kNarrowWarps* kWarp) softmax_warp_kernel(const float* x,  // [rows, cols]
                                                                           float* y,        // [rows, cols]
                                                                           std::int64_t rows, std::int64_t cols) {
    const std::int64_t row = narrow_row();  // warp w of a block takes row 4 blockIdx.x + w
    if (row >= rows) return;
    const float* const from = x + row * cols;
    float* const to = y + row * cols;
    float largest = lowest<float>();
    for (std::int64_t c = lane(); c < cols; c += kWarp) largest = larger(largest, read_one(from + c));
    const float shift = shift_of(warp_max(largest));
    float sum = 0;
    for (std::int64_t c = lane(); c < cols; c += kWarp) sum += exponential(read_one(from + c) - shift);
    const float inverse = inverse_of(warp_sum(sum));
    for (std::int64_t c = lane(); c < cols; c += kWarp) write_one(to + c, exponential(read_one(from + c) - shift) * inverse);
}

// ---- 4. online: a pass less
//
// The sum needs the maximum, but not the final one: keep the sum for the largest number so far, and when a larger one comes,
// scale it by e^(old - new) (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). One pass gives both; x
// is read twice. A lane has a maximum of its own, so its sum is brought to the row's maximum before the lanes' sums are added.
__global__ void __launch_bounds__(kNarrowWarps* kWarp) softmax_online_kernel(const float* x,  // [rows, cols]
                                                                             float* y,        // [rows, cols]
                                                                             std::int64_t rows, std::int64_t cols) {
    const std::int64_t row = narrow_row();
    if (row >= rows) return;
    const float* const from = x + row * cols;
    float* const to = y + row * cols;
    float own = lowest<float>(), sum = 0;
    for (std::int64_t c = lane(); c < cols; c += kWarp) {
        const float value = read_one(from + c), next = larger(own, value);
        if (next == lowest<float>()) continue;  // nothing but -inf so far
        sum = sum * exponential(own - next) + exponential(value - next);
        own = next;
    }
    const float shift = shift_of(warp_max(own));
    const float inverse = inverse_of(warp_sum(sum * exponential(own - shift)));
    for (std::int64_t c = lane(); c < cols; c += kWarp) write_one(to + c, exponential(read_one(from + c) - shift) * inverse);
}

// ---- 5. registers: the row stays where it is
//
// A row of up to 1024 columns fits into the registers of a warp, 32 numbers a lane. Then it is read once, and further passes over
// it cost no access: so the plain maximum and sum are back, and the exponentials of the sum are those of the result.
//
// ---- 6. vectors: four numbers an instruction
//
// The same kernel with N = 4: a lane reads and writes 16 bytes at a time, a quarter of the instructions for the same sectors.
// Rows must begin at multiples of 16 bytes; all others take N = 1.
constexpr int kKept = 32;  // numbers a lane

template <int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) softmax_kept_kernel(const float* x,  // [rows, cols], cols <= 1024
                                                                           float* y,        // [rows, cols]
                                                                           std::int64_t rows, std::int64_t cols) {
    const std::int64_t row = narrow_row();
    if (row >= rows) return;
    Vector<float, N> kept[kKept / N];
    float largest = lowest<float>();
    // Unrolled, so that each kept[i] is a register: registers cannot be indexed.
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        const int c = (i * kWarp + lane()) * N;
        if (c >= cols) break;
        kept[i] = load_vector<N>(x + row * cols + c);
#pragma unroll
        for (int n = 0; n < N; ++n) largest = larger(largest, kept[i][n]);
    }
    const float shift = shift_of(warp_max(largest));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        if ((i * kWarp + lane()) * N >= cols) break;
#pragma unroll
        for (int n = 0; n < N; ++n) {
            kept[i][n] = exponential(kept[i][n] - shift);
            sum += kept[i][n];
        }
    }
    const float inverse = inverse_of(warp_sum(sum));
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        const int c = (i * kWarp + lane()) * N;
        if (c >= cols) break;
#pragma unroll
        for (int n = 0; n < N; ++n) kept[i][n] *= inverse;
        store_vector(y + row * cols + c, kept[i]);
    }
}

}  // namespace

Tensor softmax_ladder(SoftmaxStep step, const Tensor& x) {
    if (x.rank() != 2 || x.dtype() != DType::f32 || x.device() != Device::cuda)
        fail("softmax_ladder: wanted x [rows, cols] in f32 on the CUDA device");
    Tensor y = Tensor::empty(x.shape(), DType::f32, Device::cuda);
    if (x.numel() == 0) return y;
    const std::int64_t rows = x.dim(0), cols = x.dim(1);
    const float* const from = x.data<float>();
    float* const to = y.mutable_data<float>();
    if (step >= SoftmaxStep::registers && cols > kKept * kWarp)
        fail("softmax_ladder: the steps registers and vectors keep rows of up to 1024 columns; x has " + std::to_string(cols));
    switch (step) {
        case SoftmaxStep::naive:
            launch({.grid = blocks_for(rows, kThreads), .block = kThreads}, softmax_naive_kernel, from, to, rows, cols);
            break;
        case SoftmaxStep::block:
            launch({.grid = blocks_for(rows, 1), .block = kThreads, .shared = SharedSize().take<float>(kThreads).bytes()},
                   softmax_block_kernel, from, to, cols);
            break;
        case SoftmaxStep::warp: launch(narrow_rows(rows), softmax_warp_kernel, from, to, rows, cols); break;
        case SoftmaxStep::online: launch(narrow_rows(rows), softmax_online_kernel, from, to, rows, cols); break;
        case SoftmaxStep::registers: launch(narrow_rows(rows), softmax_kept_kernel<1>, from, to, rows, cols); break;
        case SoftmaxStep::vectors: {
            const bool fits = vectors_fit(from, cols, 4) && vectors_fit(to, cols, 4);
            launch(narrow_rows(rows), fits ? softmax_kept_kernel<4> : softmax_kept_kernel<1>, from, to, rows, cols);
        }
    }
    return y;
}

int softmax_ladder_registers(SoftmaxStep step) {
    switch (step) {
        case SoftmaxStep::naive: return registers_of(softmax_naive_kernel);
        case SoftmaxStep::block: return registers_of(softmax_block_kernel);
        case SoftmaxStep::warp: return registers_of(softmax_warp_kernel);
        case SoftmaxStep::online: return registers_of(softmax_online_kernel);
        case SoftmaxStep::registers: return registers_of(softmax_kept_kernel<1>);
        case SoftmaxStep::vectors: return registers_of(softmax_kept_kernel<4>);
    }
    return 0;
}

}  // namespace heddle::kernels
