// Attention forward, the simplest fused form: f32 and f64 by multiply-add, any head of up to 256 columns, every rule.
//
//     S = scale Q K^T,   P = softmax(S),   O = (P * F) V        for one sentence and one head (attention.h)
//
// The scores never see memory. A block owns a few query rows of one head and walks over the keys, a tile of 32 at a time:
//
//     K, V tile -> shared memory
//     s   = log2(e) (scale q . k + bias)         lane = key      (attention_plain.h)
//     m'  = max(m, max over the tile of s)       over the lanes
//     p   = 2^(s - m')
//     l   = l 2^(m - m') + p                     each lane sums its own keys; the lanes are added at the end
//     O   = O 2^(m - m') + p V                   lane = column
//
// and at the end O / l is the output, m ln 2 + ln l its log-sum-exp. Powers of two instead of e because that is what the chip
// computes: log2(e) is folded into the scale, and one multiplication less is made for each score.
//
// clang-format off
// Owns     block: kForwardRows query rows a warp, 4 warps, of one head. Warp: its rows' m, l and O, in registers. Lane: a key,
//          then columns.
// Traffic  Q and O once; K and V once per block, so rows / (4 kForwardRows) times, mostly from the L2 cache. 4 bytes of L per row
//          and head.
// Limits   each multiply-add of the products needs its operands from shared memory: with 8 rows a warp there are 8 per number of
//          K. That is why the bf16 path (attention_mma.cu) uses tensor cores, whose operands are tiles.
// clang-format on
#include "kernels/attention/plain/attention_plain.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::warp;

template <class T, int D>
__global__ void __launch_bounds__((PlainSizes<T, D>::kThreads))
    attention_forward_kernel(AttentionTask<T> task, DeviceRows<T> output,  // output [rows, heads * dv]
                             device::Accumulator<T>* log_sum) {            // [rows, heads] or null
    using Sizes = PlainSizes<T, D>;
    using A = device::Accumulator<T>;
    constexpr int kRows = Sizes::kForwardRows;
    if (zero_gaps(task.gaps)) return;
    const AttentionPlace at = attention_place(task, blockIdx.x);

    device::SharedArena arena;
    A* const queries = arena.take<A>(Sizes::kWarps * kRows * Sizes::kPitch);  // [4 kRows, kPitch]
    A* const keys = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const values = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const weights = arena.take<A>(Sizes::kWarps * kRows * kWarp) + warp() * kRows * kWarp;  // this warp's [kRows, 32]

    const int own = at.first + warp() * kRows;  // this warp's first query
    RunningRows<T, D> rows;
    load_rows<Sizes::kWarps * kRows, D>(queries, task.query, at.query_start + at.first, at.head, task.vectors,
                                        [&](int r) { return at.first + r < at.queries; });
    const int last = min(at.queries, at.first + Sizes::kWarps * kRows) - 1;
    const int end = visible_keys(task, at, last);    // the last query sees the most
    const int own_end = own < at.queries ? end : 0;  // a warp past the sentence's end only helps to load
    for (int key = 0; key < end; key += Sizes::kTile) {
        const auto takes_part = [&](int r) { return key_takes_part(task, at, key + r); };
        load_rows<Sizes::kTile, D>(keys, task.key, at.key_start + key, at.key_head, task.vectors, takes_part);
        load_rows<Sizes::kTile, D>(values, task.value, at.key_start + key, at.key_head, task.vectors, takes_part);
        __syncthreads();  // the tiles are there, before the first one the queries, too

        if (key < own_end) rows.meet(task, at, own, key, queries + warp() * kRows * Sizes::kPitch, keys, values, weights);
        __syncthreads();  // no thread reads the tiles or the weights any more: the next round overwrites them
    }
    rows.finish(task, at, own, output, log_sum);
}

}  // namespace

template <class T>
void attention_forward_plain(AttentionTask<T> task, const AttentionRules& rules, DeviceRows<T> output,
                             device::Accumulator<T>* log_sum) {
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = std::is_same_v<T, bf16> ? 256 : width;  // narrow heads of bf16 go over tensor cores, nearly always
        using Sizes = PlainSizes<T, D>;
        using A = device::Accumulator<T>;
        constexpr int kQueries = Sizes::kWarps * Sizes::kForwardRows;
        const Tensor tiles = attention_tiles(rules.query_spans, kQueries);
        task.tiles = tiles.data<std::int32_t>();
        constexpr auto kShared = device::SharedSize()
                                     .take<A>(kQueries * Sizes::kPitch)
                                     .template take<A>(Sizes::kTile * Sizes::kPitch)
                                     .template take<A>(Sizes::kTile * Sizes::kPitch)
                                     .template take<A>(kQueries * kWarp);
        device::launch({.grid = task.gaps.grid(device::blocks_for(attention_items(tiles, rules.heads), 1)),
                        .block = Sizes::kThreads,
                        .shared = kShared.bytes()},
                       attention_forward_kernel<T, D>, task, output, log_sum);
    });
}

template void attention_forward_plain<float>(AttentionTask<float>, const AttentionRules&, DeviceRows<float>, float*);
template void attention_forward_plain<double>(AttentionTask<double>, const AttentionRules&, DeviceRows<double>, double*);
template void attention_forward_plain<bf16>(AttentionTask<bf16>, const AttentionRules&, DeviceRows<bf16>, float*);

}  // namespace heddle::kernels
