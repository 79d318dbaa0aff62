// A linear map of few rows on tensor cores, with the norm before it and activation and residual sum behind it; few_rows.h has the
// formula.
//
// What matters here is latency and how fast the weights come, each of which is used for 16 rows only. So the columns are dealt
// out to many blocks, the terms of each sum to the warps of a block, and the weights go from memory to the registers that the
// tensor cores read, 16 bytes a lane, through no shared memory.
//
// clang-format off
//     1  the block brings its rows of x, 16 or, where there are more than 128, 32, to shared memory and, with a norm, normalises
//        them; every block that has these rows does so itself, which takes less time than a launch
//     2  warp w multiplies them with its 32 rows of W over the terms [32 (w + 4 i), 32 (w + 4 i) + 32), i = 0, 1, ..
//     3  the four warps' sums meet in shared memory and are added in the order of the warps; bias, activation, residual, y
// clang-format on
//
// The order of terms. Lane (g, t) = (lane / 4, lane % 4) of a fragment holds the terms 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of 16
// (mma.h). A sum may take its terms in any order if both operands do, so the lane is given the terms 8 t .. 8 t + 7 of 32
// neighbours instead, 16 bytes of memory: the first four for one product, the others for a second one.
//
// Owns     block: 16 or 32 rows and 32 columns of y. Warp: a quarter of the terms. Lane: pieces as mma.h says.
// Traffic  W once per 16 or 32 rows, x once per 32 columns, mostly from the second-level cache; y once.
#include <algorithm>

#include "kernels/device/activation.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/launch.h"
#include "kernels/device/mma.h"
#include "kernels/device/reduce.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/few_rows/few_rows.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kColumns = 32, kWarps = 4, kThreads = kWarps * kWarp;
constexpr int kTiles = kColumns / 8;      // of 8 columns: one product's
constexpr int kTerms = 32;                // of two products
constexpr int kSumsPitch = kColumns + 8;  // of sums: 16 lanes store 8 floats of four rows at once, on different banks

struct Task {
    const bf16* x;         // [rows, in]
    const bf16* gamma;     // [in], or null: no norm
    const bf16* beta;      // [in]
    const bf16* weight;    // [out, in]
    const bf16* bias;      // [out] or null
    const bf16* residual;  // [rows, out] or null
    bf16* y;               // [rows, head]: one of the two
    float* wide_y;         // [rows, head]
    bf16* tail;            // [tail_rows, out - head] or null
    std::int64_t tail_rows, tail_row;
    Growth tail_growth;
    bf16* normed;  // [rows, in] or null
    std::int64_t out, head;
    int rows, in;
    float eps;
    int activation;  // of Activation, or -1
};

/// Elements from a row in shared memory to the next one. Eight lanes read two rows' 64 bytes at once: an odd number of 64 bytes
/// between the rows puts these on different banks. (`in` is a multiple of 32.)
__host__ __device__ constexpr int pitch_of(int in) { return in % 64 == 0 ? in + 32 : in; }

/// Four 32-bit registers with eight neighbours.
__device__ __forceinline__ Vector<std::uint32_t, 4> load_eight(const bf16* from) {
    const Vector<bf16, 8> values = load_vector<8>(from);
    Vector<std::uint32_t, 4> pairs;
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = pack(values[2 * i], values[2 * i + 1]);
    return pairs;
}

// rows [Rows, pitch]: row r becomes its norm, and goes to `normed` with `write`; a warp has every fourth one, and a lane
// touches its own columns only.
template <int Rows>
__device__ __forceinline__ void normalise(const Task& a, bf16* rows, std::int64_t first_row, bool write) {
    const auto n = static_cast<float>(a.in);
    for (int r = warp(); r < Rows; r += kWarps) {
        if (first_row + r >= a.rows) continue;  // zeros
        bf16* const row = rows + r * pitch_of(a.in);
        const auto sum_of = [&](auto&& term) {
            float sum = 0;
            for (int c = lane() * 8; c < a.in; c += kWarp * 8) {
                const Vector<bf16, 8> values = load_vector<8>(row + c);
#pragma unroll
                for (int i = 0; i < 8; ++i) sum += term(load(values[i]));
            }
            return warp_sum(sum);
        };
        // The deviations' own mean corrects the mean's rounding, as in layer_norm.cu.
        const float first = sum_of([](float x) { return x; }) / n;
        const float correction = sum_of([&](float x) { return x - first; }) / n;
        float variance = sum_of([&](float x) { return (x - first) * (x - first); }) / n - correction * correction;
        if (variance < 0) variance = 0;  // a NaN stays
        const float mean = first + correction, rstd = inverse_root(variance + a.eps);
        for (int c = lane() * 8; c < a.in; c += kWarp * 8) {
            Vector<bf16, 8> values = load_vector<8>(row + c);
            const Vector<bf16, 8> gamma = load_vector<8>(a.gamma + c), beta = load_vector<8>(a.beta + c);
#pragma unroll
            for (int i = 0; i < 8; ++i) values[i] = store<bf16>((load(values[i]) - mean) * rstd * load(gamma[i]) + load(beta[i]));
            store_vector(row + c, values);
            if (write) store_vector(a.normed + (first_row + r) * a.in + c, values);
        }
    }
}

__device__ __forceinline__ float activate(float u, int activation) {
    if (activation < 0) return u;
    if (activation == static_cast<int>(Activation::relu)) return relu(u);
    if (activation == static_cast<int>(Activation::silu)) return silu(u);
    return activation == static_cast<int>(Activation::gelu) ? gelu(u) : gelu_tanh(u);
}

// Block b: rows [16 M (b / blocks), ..) and columns [32 (b % blocks), ..), `blocks` of them side by side.
template <int M>
__global__ void __launch_bounds__(kThreads) few_rows_linear_kernel(Task a, unsigned blocks) {
    constexpr int kRows = 16 * M;
    SharedArena arena;
    bf16* const rows = arena.take<bf16>(kRows * pitch_of(a.in));         // [kRows, in], padded
    float* const sums = arena.take<float>(kWarps * kRows * kSumsPitch);  // [warps, kRows, kColumns], padded
    const std::int64_t first_row = std::int64_t{blockIdx.x / blocks} * kRows;
    const std::int64_t first_column = std::int64_t{blockIdx.x % blocks} * kColumns;
    const int chunks = a.in / 8;  // of a row
    for (int i = thread_in_block(); i < kRows * chunks; i += kThreads) {
        const int r = i / chunks, c = i % chunks * 8;
        Vector<bf16, 8> values = {};
        if (first_row + r < a.rows) values = load_vector<8>(a.x + (first_row + r) * a.in + c);
        store_vector(rows + r * pitch_of(a.in) + c, values);
    }
    __syncthreads();  // the rows are there
    if (a.gamma != nullptr) {
        normalise<kRows>(a, rows, first_row, a.normed != nullptr && first_column == 0);
        __syncthreads();  // their norms are there
    }

    const int g = lane() / 4, t = lane() % 4;
    const bf16* const left = rows + g * pitch_of(a.in) + 8 * t;
    const bf16* right[kTiles];  // row g of each tile's rows of W; beyond the last one that one again, whose results go nowhere
#pragma unroll
    for (int n = 0; n < kTiles; ++n) right[n] = a.weight + min(first_column + 8 * n + g, a.out - 1) * a.in + 8 * t;
    Accumulator16x8 y[M][kTiles];
#pragma unroll 2
    for (int k = warp() * kTerms; k < a.in; k += kWarps * kTerms) {
        Vector<std::uint32_t, 4> upper[M], lower[M];
#pragma unroll
        for (int m = 0; m < M; ++m) {
            upper[m] = load_eight(left + 16 * m * pitch_of(a.in) + k);
            lower[m] = load_eight(left + (16 * m + 8) * pitch_of(a.in) + k);
        }
        Vector<std::uint32_t, 4> w[kTiles];
#pragma unroll
        for (int n = 0; n < kTiles; ++n) w[n] = load_eight(right[n] + k);
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int m = 0; m < M; ++m) {
                const FragmentA x{{upper[m][2 * half], lower[m][2 * half], upper[m][2 * half + 1], lower[m][2 * half + 1]}};
#pragma unroll
                for (int n = 0; n < kTiles; ++n) mma(y[m][n], x, FragmentB{{w[n][2 * half], w[n][2 * half + 1]}});
            }
    }
    float* const own_sums = sums + (warp() * kRows + Accumulator16x8::row(0)) * kSumsPitch + Accumulator16x8::col(0);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
            for (int half = 0; half < Accumulator16x8::kRows; ++half)
                store_vector(own_sums + (16 * m + 8 * half) * kSumsPitch + 8 * n,
                             Vector<float, 2>{{y[m][n][2 * half], y[m][n][2 * half + 1]}});
    std::int64_t tail_row = 0;
    if (a.tail != nullptr) {
        tail_row = a.tail_row + a.tail_growth.now();
        require(tail_row + a.rows <= a.tail_rows, "few_rows_linear: the tail has too few rows");
    }
    __syncthreads();  // all warps' sums are there

    for (int i = thread_in_block(); i < kRows * kColumns; i += kThreads) {
        const int r = i / kColumns, c = i % kColumns;
        const std::int64_t row = first_row + r, column = first_column + c;
        if (row >= a.rows || column >= a.out) continue;
        float total = 0;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) total += sums[(w * kRows + r) * kSumsPitch + c];
        if (a.bias != nullptr) total += load(a.bias[column]);
        total = activate(total, a.activation);
        if (a.residual != nullptr) total += load(a.residual[row * a.out + column]);
        if (column >= a.head)
            a.tail[(tail_row + row) * (a.out - a.head) + column - a.head] = store<bf16>(total);
        else if (a.y != nullptr)
            a.y[row * a.head + column] = store<bf16>(total);
        else
            a.wide_y[row * a.head + column] = total;
    }
}

constexpr std::size_t kSharedOfBlock = 99 * 1024;  // on sm_86 and sm_89
constexpr int kRowsForTwoTiles = 128;              // more rows: one tile would read W more than eight times

constexpr std::size_t shared_bytes(int rows, int in) {
    return SharedSize().take<bf16>(rows * pitch_of(in)).take<float>(kWarps * rows * kSumsPitch).bytes();
}

}  // namespace

void few_rows_linear_cuda(const FewRowsLinear& call, FewRowsResult& result) {
    const auto data = [](const Tensor& tensor) { return tensor.defined() ? tensor.data<bf16>() : nullptr; };
    const auto mutable_data = [](Tensor& tensor) { return tensor.defined() ? tensor.mutable_data<bf16>() : nullptr; };
    const bool norm = call.norm.has_value(), wide = result.y.dtype() == DType::f32;
    const Task task{.x = data(call.x),
                    .gamma = norm ? data(call.norm->gamma) : nullptr,
                    .beta = norm ? data(call.norm->beta) : nullptr,
                    .weight = data(call.weight),
                    .bias = data(call.bias),
                    .residual = data(call.residual),
                    .y = wide ? nullptr : mutable_data(result.y),
                    .wide_y = wide ? result.y.mutable_data<float>() : nullptr,
                    .tail = mutable_data(result.tail),
                    .tail_rows = result.tail.defined() ? result.tail.dim(0) : 0,
                    .tail_row = result.tail_row,
                    .tail_growth = result.tail_growth,
                    .normed = mutable_data(result.normed),
                    .out = call.weight.dim(0),
                    .head = result.y.cols(),
                    .rows = static_cast<int>(call.x.rows()),
                    .in = static_cast<int>(call.x.cols()),
                    .eps = norm ? static_cast<float>(call.norm->eps) : 0.0F,
                    .activation = call.activation.has_value() ? static_cast<int>(*call.activation) : -1};
    static_assert(shared_bytes(16, kFewRowsWidest) <= kSharedOfBlock);
    const unsigned blocks = blocks_for(task.out, kColumns);
    const auto start = [&]<int M>(std::integral_constant<int, M>) {
        launch({.grid = blocks * blocks_for(task.rows, 16 * M), .block = kThreads, .shared = shared_bytes(16 * M, task.in)},
               few_rows_linear_kernel<M>, task, blocks);
    };
    if (task.rows > kRowsForTwoTiles && shared_bytes(32, task.in) <= kSharedOfBlock)
        return start(std::integral_constant<int, 2>());
    start(std::integral_constant<int, 1>());
}

}  // namespace heddle::kernels
