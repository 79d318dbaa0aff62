// Layer norm of each row, y = gamma (x - mean) rstd + beta, in five steps. Each keeps what the one before it taught and adds one
// idea; what backward needs besides y is left out.
//
// The variance is a mean of (x - mean)^2, so it seems to need the mean first, and the result needs both: three passes over a row.
// As with softmax (softmax_ladder.cu), what counts is how often the row crosses the memory bus and whether a warp asks for its
// bytes side by side.
//
//     step        who owns a row    x is read    a warp's 32 reads lie
//     naive       a thread          3 times      in 32 rows: 32 sectors
//     warp        a warp            3 times      side by side: 4 sectors
//     one_pass    a warp            twice        side by side
//     registers   a warp            once         side by side
//     vectors     a warp            once         side by side, 16 bytes a lane
//
// The last one is the library's kernel for rows of up to 1024 columns (layer_norm.cu) without the residual connection and without
// its second look at rows whose squares overflow.
#include <string>

#include "kernels/device/element.h"
#include "kernels/device/inspect.h"
#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/rows.h"
#include "kernels/layer_norm/layer_norm_ladder.h"

namespace heddle::kernels {
namespace {

using namespace device;

struct NormalisedRows {
    const float* x;      // [rows, cols]
    const float* gamma;  // [cols]
    const float* beta;   // [cols]
    float* y;            // [rows, cols]
    std::int64_t rows, cols;
    float eps;
};

// Element c of a row of y.
__device__ __forceinline__ float normalised(float x, float mean, float rstd, float gamma, float beta) {
    return (x - mean) * rstd * gamma + beta;
}

// ---- 1. naive: three loops, a thread a row
//
// Lane l of a warp reads column c of row l: 32 sectors of 32 bytes for 32 numbers of 4 bytes. gamma and beta are the exception:
// all lanes ask for the same number, which is one sector.
constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) layer_norm_naive_kernel(NormalisedRows a) {
    const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (row >= a.rows) return;
    const float* const x = a.x + row * a.cols;
    const auto n = static_cast<float>(a.cols);
    float sum = 0;
    for (std::int64_t c = 0; c < a.cols; ++c) sum += read_one(x + c);
    const float mean = sum / n;
    float squares = 0;
    for (std::int64_t c = 0; c < a.cols; ++c) {
        const float deviation = read_one(x + c) - mean;
        squares += deviation * deviation;
    }
    const float rstd = inverse_root(squares / n + a.eps);
    for (std::int64_t c = 0; c < a.cols; ++c)
        write_one(a.y + row * a.cols + c, normalised(read_one(x + c), mean, rstd, read_one(a.gamma + c), read_one(a.beta + c)));
}

// ---- 2. warp: neighbours read neighbours
//
// A warp takes a row, lane l the columns l, l + 32, ...: a read is 32 numbers side by side, 4 sectors, every byte of use. The
// lanes' sums are joined by shuffles (warp_sum, kernels/device/reduce.h): no shared memory, no barrier.
__global__ void __launch_bounds__(kNarrowWarps* kWarp) layer_norm_warp_kernel(NormalisedRows a) {
    const std::int64_t row = narrow_row();  // warp w of a block takes row 4 blockIdx.x + w
    if (row >= a.rows) return;
    const float* const x = a.x + row * a.cols;
    const auto n = static_cast<float>(a.cols);
    float sum = 0;
    for (std::int64_t c = lane(); c < a.cols; c += kWarp) sum += read_one(x + c);
    const float mean = warp_sum(sum) / n;
    float squares = 0;
    for (std::int64_t c = lane(); c < a.cols; c += kWarp) {
        const float deviation = read_one(x + c) - mean;
        squares += deviation * deviation;
    }
    const float rstd = inverse_root(warp_sum(squares) / n + a.eps);
    for (std::int64_t c = lane(); c < a.cols; c += kWarp)
        write_one(a.y + row * a.cols + c, normalised(read_one(x + c), mean, rstd, read_one(a.gamma + c), read_one(a.beta + c)));
}

// ---- 3. one pass: mean and variance together
//
// The obvious way, sum x and sum x^2 with variance = mean(x^2) - mean(x)^2, is wrong in f32: for a mean of 1000 and a variance of
// 1 it subtracts two numbers near 10^6 of which only seven digits are known. Instead keep mean and m2 = sum (x - mean)^2 of what
// has been seen, and correct both with each number (Welford 1962). Two such triples of count, mean and m2 join into one (Chan,
// Golub and LeVeque 1979), which five shuffles do for 32 lanes. It costs a division a number; memory is what a warp waits for.
struct Moments {
    float count = 0, mean = 0, m2 = 0;

    __device__ __forceinline__ void add(float x) {
        count += 1;
        const float deviation = x - mean;
        mean += deviation / count;
        m2 += deviation * (x - mean);
    }
    __device__ __forceinline__ void join(const Moments& other) {
        const float both = count + other.count;
        if (both == 0) return;
        const float deviation = other.mean - mean, share = other.count / both;
        mean += deviation * share;
        m2 += other.m2 + deviation * deviation * count * share;
        count = both;
    }
};
// Lanes o apart exchange what they have. Each joins in its own order, so the results may differ in the last bit: all take lane
// 0's.
__device__ __forceinline__ Moments joined(Moments own) {
#pragma unroll
    for (int o = kWarp / 2; o > 0; o /= 2)
        own.join({__shfl_xor_sync(kAllLanes, own.count, o), __shfl_xor_sync(kAllLanes, own.mean, o),
                  __shfl_xor_sync(kAllLanes, own.m2, o)});
    return {own.count, __shfl_sync(kAllLanes, own.mean, 0), __shfl_sync(kAllLanes, own.m2, 0)};
}

__global__ void __launch_bounds__(kNarrowWarps* kWarp) layer_norm_one_pass_kernel(NormalisedRows a) {
    const std::int64_t row = narrow_row();
    if (row >= a.rows) return;
    const float* const x = a.x + row * a.cols;
    Moments own;
    for (std::int64_t c = lane(); c < a.cols; c += kWarp) own.add(read_one(x + c));
    const Moments all = joined(own);
    const float rstd = inverse_root(all.m2 / all.count + a.eps);
    for (std::int64_t c = lane(); c < a.cols; c += kWarp)
        write_one(a.y + row * a.cols + c,
                  normalised(read_one(x + c), all.mean, rstd, read_one(a.gamma + c), read_one(a.beta + c)));
}

// ---- 4. registers: the row stays where it is
//
// A row of up to 1024 columns fits into the registers of a warp, 32 numbers a lane. Then it is read once, further passes cost no
// access, and the plain two passes of step 2 are back, without a division a number. One thing is added for free: the mean of the
// deviations, which the first mean's rounding leaves, corrects mean and variance.
//
// ---- 5. vectors: four numbers an instruction
//
// The same kernel with N = 4: a lane moves 16 bytes at a time, of x, gamma, beta and y, a quarter of the instructions for the
// same sectors. All rows must begin at multiples of 16 bytes; all others take N = 1.
constexpr int kKept = 32;  // numbers a lane

template <int N>
__global__ void __launch_bounds__(kNarrowWarps* kWarp) layer_norm_kept_kernel(NormalisedRows a) {
    const std::int64_t row = narrow_row();
    if (row >= a.rows) return;
    const auto n = static_cast<float>(a.cols);
    Vector<float, N> kept[kKept / N];
    float sum = 0;
    // Unrolled, so that each kept[i] is a register: registers cannot be indexed.
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        const int c = (i * kWarp + lane()) * N;
        if (c >= a.cols) break;
        kept[i] = load_vector<N>(a.x + row * a.cols + c);
#pragma unroll
        for (int e = 0; e < N; ++e) sum += kept[i][e];
    }
    const float first = warp_sum(sum) / n;
    float deviations = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        if ((i * kWarp + lane()) * N >= a.cols) break;
#pragma unroll
        for (int e = 0; e < N; ++e) {
            const float deviation = kept[i][e] - first;
            deviations += deviation;
            squares += deviation * deviation;
        }
    }
    const float correction = warp_sum(deviations) / n, variance = warp_sum(squares) / n - correction * correction;
    const float mean = first + correction, rstd = inverse_root((variance < 0 ? 0.0f : variance) + a.eps);
#pragma unroll
    for (int i = 0; i < kKept / N; ++i) {
        const int c = (i * kWarp + lane()) * N;
        if (c >= a.cols) break;
        const Vector<float, N> gamma = load_vector<N>(a.gamma + c), beta = load_vector<N>(a.beta + c);
#pragma unroll
        for (int e = 0; e < N; ++e) kept[i][e] = normalised(kept[i][e], mean, rstd, gamma[e], beta[e]);
        store_vector(a.y + row * a.cols + c, kept[i]);
    }
}

}  // namespace

Tensor layer_norm_ladder(LayerNormStep step, const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
    for (const Tensor& one : {x, gamma, beta})
        if (one.dtype() != DType::f32 || one.device() != Device::cuda)
            fail("layer_norm_ladder: wanted x, gamma and beta in f32 on the CUDA device");
    if (x.rank() != 2 || gamma.shape() != Shape({x.dim(1)}) || beta.shape() != gamma.shape())
        fail("layer_norm_ladder: wanted x [rows, cols], gamma [cols] and beta [cols]");
    Tensor y = Tensor::empty(x.shape(), DType::f32, Device::cuda);
    if (x.numel() == 0) return y;
    const NormalisedRows a{.x = x.data<float>(),
                           .gamma = gamma.data<float>(),
                           .beta = beta.data<float>(),
                           .y = y.mutable_data<float>(),
                           .rows = x.dim(0),
                           .cols = x.dim(1),
                           .eps = static_cast<float>(eps)};
    if (step >= LayerNormStep::registers && a.cols > kKept * kWarp)
        fail("layer_norm_ladder: the steps registers and vectors keep rows of up to 1024 columns; x has " +
             std::to_string(a.cols));
    switch (step) {
        case LayerNormStep::naive:
            launch({.grid = blocks_for(a.rows, kThreads), .block = kThreads}, layer_norm_naive_kernel, a);
            break;
        case LayerNormStep::warp: launch(narrow_rows(a.rows), layer_norm_warp_kernel, a); break;
        case LayerNormStep::one_pass: launch(narrow_rows(a.rows), layer_norm_one_pass_kernel, a); break;
        case LayerNormStep::registers: launch(narrow_rows(a.rows), layer_norm_kept_kernel<1>, a); break;
        case LayerNormStep::vectors: {
            const auto fit = [&](const float* rows) { return vectors_fit(rows, a.cols, 4); };
            const bool all_fit = fit(a.x) && fit(a.gamma) && fit(a.beta) && fit(a.y);
            launch(narrow_rows(a.rows), all_fit ? layer_norm_kept_kernel<4> : layer_norm_kept_kernel<1>, a);
        }
    }
    return y;
}

int layer_norm_ladder_registers(LayerNormStep step) {
    switch (step) {
        case LayerNormStep::naive: return registers_of(layer_norm_naive_kernel);
        case LayerNormStep::warp: return registers_of(layer_norm_warp_kernel);
        case LayerNormStep::one_pass: return registers_of(layer_norm_one_pass_kernel);
        case LayerNormStep::registers: return registers_of(layer_norm_kept_kernel<1>);
        case LayerNormStep::vectors: return registers_of(layer_norm_kept_kernel<4>);
    }
    return 0;
}

}  // namespace heddle::kernels
