// The gradient of attention's bias: dB = dS, summed over the sentences and, when they share a bias, over the heads.
//
//     P  = 2^{log2(e) (S - L)},    dS = P * ((dO V^T) * F - D)         as in attention_plain_backward.cu, from the saved L and D
//     dB[head, i, j] = sum over sentences of dS_ij                     a sentence without query i or key j adds nothing
//
// The other backward kernels own rows of one sentence; a number of dB belongs to all of them. So here a block owns a square of dB
// and walks over the sentences, and the sum of a number stays in one register: no atomics, one order, the same bits each time. Of
// many sentences each block takes kChunk (sentence, head) pairs, and a second kernel adds the chunks up in order; the size of a
// chunk is a constant, so the bits depend on nothing else.
//
// One kernel for all dtypes, by multiply-adds: it costs two of backward's products more, and only where a bias learns.
//
// clang-format off
// Owns     block: rows [first, first + 4 kRows) and 32 columns of one head of dB, for the pairs of one chunk. Warp: kRows of the
//          rows. Lane: a column.
// Traffic  per pair and square: Q and dO of the rows, K and V of the columns, B once; 4 bytes of dB per square and chunk.
// clang-format on
#include "kernels/attention/plain/attention_plain.h"

namespace heddle::kernels {
namespace {

using device::lane, device::warp;

constexpr int kChunk = 16;  // (sentence, head) pairs

// The shape of dB and how it is cut.
struct BiasSquares {
    int heads, queries, keys;    // of dB
    int query_tiles, key_tiles;  // squares of a head
    std::int64_t pairs;          // (sentence, head) that add to one head of dB
};

template <class T, int D>
__global__ void __launch_bounds__((PlainSizes<T, D>::kThreads))
    attention_bias_gradient_kernel(AttentionTask<T> task, AttentionBackwardTask<T> back, BiasSquares squares,
                                   device::Accumulator<T>* d_bias) {  // d_bias [chunks, heads, queries, keys]
    using Sizes = PlainSizes<T, D>;
    using A = device::Accumulator<T>;
    constexpr int kRows = Sizes::kForwardRows, kQueries = Sizes::kWarps * kRows;
    std::int64_t item = blockIdx.x;
    const int key = static_cast<int>(item % squares.key_tiles) * Sizes::kTile;
    item /= squares.key_tiles;
    const int first = static_cast<int>(item % squares.query_tiles) * kQueries;
    item /= squares.query_tiles;
    const int bias_head = static_cast<int>(item % squares.heads);
    const std::int64_t chunk = item / squares.heads;
    const A scale = task.scale_log2;

    device::SharedArena arena;
    A* const queries = arena.take<A>(kQueries * Sizes::kPitch);
    A* const d_outputs = arena.take<A>(kQueries * Sizes::kPitch);
    A* const keys = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const values = arena.take<A>(Sizes::kTile * Sizes::kPitch);

    const int own = first + warp() * kRows;  // this warp's first row
    A sum[kRows] = {};
    for (std::int64_t pair = chunk * kChunk; pair < min(squares.pairs, (chunk + 1) * kChunk); ++pair) {
        const bool shared = task.bias_head == 0;
        const AttentionPlace at = attention_place(task, static_cast<int>(shared ? pair / task.heads : pair),
                                                  shared ? static_cast<int>(pair % task.heads) : bias_head, first);
        if (first >= at.queries || key >= visible_keys(task, at, min(at.queries, first + kQueries) - 1)) continue;  // all threads
        const auto query_there = [&](int r) { return query_takes_part(task, at, first + r, back.log_sum); };
        const auto key_there = [&](int r) { return key_takes_part(task, at, key + r); };
        load_rows<kQueries, D>(queries, task.query, at.query_start + first, at.head, task.vectors, query_there);
        load_rows<kQueries, D>(d_outputs, back.d_output, at.query_start + first, at.head, back.vectors, query_there);
        load_rows<Sizes::kTile, D>(keys, task.key, at.key_start + key, at.key_head, task.vectors, key_there);
        load_rows<Sizes::kTile, D>(values, task.value, at.key_start + key, at.key_head, task.vectors, key_there);
        __syncthreads();  // the tiles are there

        const int count = tile_rows<Sizes::kTile>(at.keys - key);
        A score[kRows], d_weight[kRows];
        products<T, D>(score, queries + warp() * kRows * Sizes::kPitch, keys, task.query.width, count);
        products<T, D>(d_weight, d_outputs + warp() * kRows * Sizes::kPitch, values, task.value.width, count);
        const KeptKeys<kRows> kept(task, at, own, key);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const A factor = kept(r) ? task.kept_scale : A{0};
            const int i = own + r, j = key + lane();
            if (lane() >= Sizes::kTile || !may_attend(task, at, i, j)) continue;
            const std::int64_t place = (at.query_start + i) * task.heads + at.head;
            const A level = in_twos(back.log_sum[place]) - bias_in_twos(task, at, i, j);
            sum[r] += device::power_of_two(score[r] * scale - level) * (factor * d_weight[r] - back.delta[place]);
        }
        __syncthreads();  // no thread reads the tiles any more: the next pair overwrites them
    }
    if (lane() >= Sizes::kTile || key + lane() >= squares.keys) return;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
        if (own + r < squares.queries)
            d_bias[((chunk * squares.heads + bias_head) * squares.queries + own + r) * squares.keys + key + lane()] = sum[r];
}

// d_bias[i] = sum over the chunks of parts[chunk, i], in their order: a thread a number.
template <class A>
__global__ void __launch_bounds__(256) attention_bias_sum_kernel(const A* parts,  // [chunks, numbers]
                                                                 std::int64_t chunks, std::int64_t numbers,
                                                                 A* d_bias) {  // [numbers]
    const std::int64_t i = std::int64_t{blockIdx.x} * 256 + device::thread_in_block();
    if (i >= numbers) return;
    A sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += parts[chunk * numbers + i];
    d_bias[i] = sum;
}

}  // namespace

template <class T>
void attention_bias_gradient(const AttentionTask<T>& task, const AttentionRules& rules, const AttentionBackwardTask<T>& back,
                             Tensor& d_bias) {
    using A = device::Accumulator<T>;
    if (d_bias.numel() == 0) return;
    const std::int64_t pairs = rules.query_spans.size() * (task.bias_head == 0 ? task.heads : 1);
    const std::int64_t chunks = std::max<std::int64_t>(1, (pairs + kChunk - 1) / kChunk);
    Tensor parts = chunks == 1 ? d_bias : Tensor::empty({chunks, d_bias.numel()}, d_bias.dtype(), Device::cuda);
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = width;
        using Sizes = PlainSizes<T, D>;
        constexpr int kQueries = Sizes::kWarps * Sizes::kForwardRows;
        const BiasSquares squares{.heads = static_cast<int>(d_bias.dim(0)),
                                  .queries = static_cast<int>(d_bias.dim(1)),
                                  .keys = static_cast<int>(d_bias.dim(2)),
                                  .query_tiles = static_cast<int>((d_bias.dim(1) + kQueries - 1) / kQueries),
                                  .key_tiles = static_cast<int>((d_bias.dim(2) + Sizes::kTile - 1) / Sizes::kTile),
                                  .pairs = pairs};
        constexpr auto kShared = device::SharedSize()
                                     .take<A>(kQueries * Sizes::kPitch)
                                     .template take<A>(kQueries * Sizes::kPitch)
                                     .template take<A>(Sizes::kTile * Sizes::kPitch)
                                     .template take<A>(Sizes::kTile * Sizes::kPitch);
        device::launch({.grid = device::blocks_for(chunks * squares.heads * squares.query_tiles * squares.key_tiles, 1),
                        .block = Sizes::kThreads,
                        .shared = kShared.bytes()},
                       attention_bias_gradient_kernel<T, D>, task, back, squares, parts.mutable_data<A>());
    });
    if (chunks > 1)
        device::launch({.grid = device::blocks_for(d_bias.numel(), 256), .block = 256}, attention_bias_sum_kernel<A>,
                       parts.data<A>(), chunks, d_bias.numel(), d_bias.mutable_data<A>());
}

template void attention_bias_gradient<float>(const AttentionTask<float>&, const AttentionRules&,
                                             const AttentionBackwardTask<float>&, Tensor&);
template void attention_bias_gradient<double>(const AttentionTask<double>&, const AttentionRules&,
                                              const AttentionBackwardTask<double>&, Tensor&);
template void attention_bias_gradient<bf16>(const AttentionTask<bf16>&, const AttentionRules&, const AttentionBackwardTask<bf16>&,
                                            Tensor&);

}  // namespace heddle::kernels
