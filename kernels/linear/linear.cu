// The gradients of biases: db[j] += sum over i of dy[i, j], dy [rows, cols], for several dy in one launch.
//
// Rows are many (tokens of a batch), columns few. One thread per column would leave most of a GPU idle and add up to 100,000
// numbers in one chain; atomic adds would come in another order, and so with other bits, at each run. So the sum has two stages:
//
// 1. dy [rows, cols] -> partial [parts, cols]: a block sums 128 rows (more when rows are very many) of 32 vectors of columns.
// 2. partial -> db += ..: by the block that finishes last of those with the same columns (kernels/device/fence.h). The number of
//    parts depends on the rows alone.
//
// Each of these sums is little work, and a Transformer has a dozen biases a layer pair: so a launch takes up to kMostSums of
// them, each with blocks of its own.
//
// A block is eight warps. Lane x of warp y owns N neighbouring columns, which it loads with one access of 16 bytes, and every
// eighth row; a warp thus reads 512 bytes in a row. The eight sums of a column meet in shared memory and are added in the order
// of y. Memory traffic: dy is read once, partial [parts, cols] is written and read once (less than 1 % of dy in f32).
#include "kernels/linear/linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/device/dispatch.h"
#include "kernels/device/fence.h"
#include "kernels/device/launch.h"
#include "kernels/device/shared.h"
#include "kernels/device/tickets.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {
namespace {

using device::Accumulator;

constexpr int kWidth = device::kWarp, kHeight = 8;  // threads of a block: warps
constexpr std::int64_t kPartRows = 128;             // the least that a block sums
constexpr std::int64_t kMostParts = 256;            // so that the second stage stays small
constexpr int kMostSums = 16;                       // of a launch: its parameters are copied with it

// One dy and its db.
template <class T>
struct RowSum {
    const T* dy;              // [rows, cols]
    Accumulator<T>* partial;  // [parts, cols]
    T* own;                   // [cols]: db, one of the two
    Accumulator<T>* wide;     // [cols]
    std::int64_t rows, cols, part_rows;
    unsigned first, parts, groups;  // its blocks: from `first` on `parts` times `groups`, each group with 32 N columns
    unsigned ticket;                // of its first group
};
template <class T>
struct RowSums {
    RowSum<T> sums[kMostSums];
    unsigned* tickets;
    int count;
};

// total[j] of the thread = the sum of the columns' numbers in rows begin + y, begin + y + 8, .. before `end`; then sums of the
// block in `meet` [kHeight][N][kWidth], where lanes lie side by side in the banks.
template <int N, class A>
__device__ __forceinline__ void meet_rows(const A (&sum)[N], A* meet) {
    const int x = device::lane(), y = device::warp();
#pragma unroll
    for (int j = 0; j < N; ++j) meet[(y * N + j) * kWidth + x] = sum[j];
    __syncthreads();  // the sums of all eight rows of threads are there
}
template <int N, class A>
__device__ __forceinline__ A over_rows(A total, const A* meet, int j) {
    for (int row = 0; row < kHeight; ++row) total += meet[(row * N + j) * kWidth + device::lane()];
    return total;
}

template <class T, int N>
__global__ void __launch_bounds__(kWidth* kHeight) row_sums_kernel(RowSums<T> all) {
    using A = Accumulator<T>;
    device::SharedArena arena;
    A* const meet = arena.take<A>(kHeight * kWidth * N);
    int* const flag = arena.take<int>(1);
    int which = 0;
    while (which + 1 < all.count && blockIdx.x >= all.sums[which + 1].first) ++which;
    const RowSum<T>& a = all.sums[which];
    const unsigned block = blockIdx.x - a.first, group = block % a.groups, part = block / a.groups;
    const int x = device::lane(), y = device::warp();

    const std::int64_t col = (std::int64_t{group} * kWidth + x) * N;
    const std::int64_t begin = part * a.part_rows, end = min(a.rows, begin + a.part_rows);
    A sum[N] = {};
    if (col < a.cols)  // with N > 1 the columns are a multiple of N
        for (std::int64_t i = begin + y; i < end; i += kHeight) {
            const auto values = device::load_vector<N>(a.dy + i * a.cols + col);
#pragma unroll
            for (int j = 0; j < N; ++j) sum[j] += device::load(values[j]);
        }
    meet_rows<N>(sum, meet);
    // Thread row y adds up columns y, y + 8, .. of each lane's N.
    for (int j = y; j < N; j += kHeight)
        if (col + j < a.cols) a.partial[part * a.cols + col + j] = over_rows<N>(A{0}, meet, j);

    if (!device::last_block(all.tickets + a.ticket + group, a.parts, flag)) return;
    // The group's columns again, now neighbouring lanes with neighbouring columns.
    const std::int64_t from = std::int64_t{group} * kWidth * N + x;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        sum[j] = 0;
        const std::int64_t column = from + j * kWidth;
        if (column < a.cols)
            for (unsigned p = static_cast<unsigned>(y); p < a.parts; p += kHeight) sum[j] += a.partial[p * a.cols + column];
    }
    meet_rows<N>(sum, meet);
    for (int j = y; j < N; j += kHeight) {
        const std::int64_t column = from + j * kWidth;
        if (column >= a.cols) continue;
        if (a.own != nullptr)
            a.own[column] = device::store<T>(over_rows<N>(static_cast<A>(device::load(a.own[column])), meet, j));
        else
            a.wide[column] = over_rows<N>(a.wide[column], meet, j);
    }
}

template <class T, int N>
void launch_sums(std::span<BiasSum> sums) {
    using A = Accumulator<T>;
    RowSums<T> all = {};
    std::vector<Tensor> partials;
    unsigned blocks = 0, tickets = 0;
    for (BiasSum& sum : sums) {
        const std::int64_t rows = sum.dy.rows(), cols = sum.dy.cols();
        RowSum<T>& a = all.sums[all.count++];
        a.dy = sum.dy.data<T>();
        a.rows = rows;
        a.cols = cols;
        a.part_rows = std::max(kPartRows, (rows + kMostParts - 1) / kMostParts);
        a.parts = device::blocks_for(rows, a.part_rows);
        a.groups = device::blocks_for(cols, kWidth * N);
        partials.push_back(Tensor::empty(Shape({std::int64_t{a.parts}, cols}), dtype_of<A>(), Device::cuda));
        a.partial = partials.back().template mutable_data<A>();
        if (sum.dbias.dtype() == sum.dy.dtype())
            a.own = sum.dbias.template mutable_data<T>();
        else
            a.wide = sum.dbias.template mutable_data<A>();
        a.first = std::exchange(blocks, blocks + a.parts * a.groups);
        a.ticket = std::exchange(tickets, tickets + a.groups);
    }
    all.tickets = device::tickets(tickets);
    device::launch({.grid = blocks,
                    .block = kWidth * kHeight,
                    .shared = device::SharedSize().take<A>(kHeight * kWidth * N).template take<int>(1).bytes()},
                   row_sums_kernel<T, N>, all);
}

// The same sums, as many in a launch as there may be; all are of dtype T, and in vectors of N.
template <class T, int N>
void sum_rows(std::vector<BiasSum>& sums) {
    for (std::size_t first = 0; first < sums.size(); first += kMostSums)
        launch_sums<T, N>(std::span(sums).subspan(first, std::min<std::size_t>(kMostSums, sums.size() - first)));
}

}  // namespace

void linear_backward_biases_cuda(std::span<BiasSum> sums) {
    std::vector<BiasSum> of[3][2];  // by dtype, and whether vectors fit
    for (BiasSum& sum : sums) {
        if (sum.dy.numel() == 0) continue;
        device::dispatch("linear_backward", sum.dy.dtype(), [&]<class T>(TypeTag<T>) {
            const bool fits = device::vectors_fit(sum.dy.data<T>(), sum.dy.cols(), device::kVector<T>);
            of[std::is_same_v<T, double> ? 0 : std::is_same_v<T, float> ? 1 : 2][fits].push_back(sum);
        });
    }
    const auto run = [&]<class T>(int dtype, TypeTag<T>) {
        sum_rows<T, 1>(of[dtype][0]);
        sum_rows<T, device::kVector<T>>(of[dtype][1]);
    };
    run(0, TypeTag<double>{});
    run(1, TypeTag<float>{});
    run(2, TypeTag<bf16>{});
}

}  // namespace heddle::kernels
