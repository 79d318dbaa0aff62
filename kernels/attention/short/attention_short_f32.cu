// Attention forward in f32 for sentences of up to 64 tokens and heads of up to 64 columns: what a translator's batches are made
// of.
//
// attention_plain.cu brings K and V of such a sentence once for every 32 queries, a tile of 32 keys at a time, with two barriers
// a tile. Here all of them fit into shared memory at once: they come by asynchronous copies, one barrier says that they are
// there, and from then on no warp waits for another.
//
// clang-format off
//     all warps   bring K and V; each brings 8 queries of its own
//     barrier     all of it is there
//     warp w      meets the keys 32 at a time (attention_plain.h): S, the softmax, O; then writes O and L of its queries
// clang-format on
//
// The 32 keys at a time are the plain kernel's tiles, and so are all sums: a sentence has the same bits here and in a batch that
// goes there.
//
// Owns     block: a sentence and a head, with a warp for every 8 queries that the batch's longest sentence has. Warp: 8 queries.
// Traffic  Q and O once; K and V once for each head of queries.
#include "kernels/attention/plain/attention_plain.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::warp;

template <int D>
__global__ void __launch_bounds__(kShortSentence / 8 * kWarp)
    attention_forward_short_f32_kernel(AttentionTask<float> task, DeviceRows<float> output,  // output [rows, heads * dv]
                                       float* log_sum,                                       // [rows, heads] or null
                                       int room) {                                           // for how many keys there is memory
    using Sizes = PlainSizes<float, D>;
    constexpr int kRows = Sizes::kForwardRows;
    static_assert(kRows == 8);
    if (zero_gaps(task.gaps)) return;
    const auto heads = static_cast<unsigned>(task.heads);
    const AttentionPlace at =
        attention_place(task, static_cast<int>(blockIdx.x / heads), static_cast<int>(blockIdx.x % heads), 0);
    const int threads = static_cast<int>(blockDim.x), warps = threads / kWarp;

    device::SharedArena arena;
    float* const keys = arena.take<float>(room * Sizes::kPitch);                                               // [room, kPitch]
    float* const values = arena.take<float>(room * Sizes::kPitch);                                             // [room, kPitch]
    float* const queries = arena.take<float>(warps * kRows * Sizes::kPitch) + warp() * kRows * Sizes::kPitch;  // this warp's
    float* const weights = arena.take<float>(warps * kRows * kWarp) + warp() * kRows * kWarp;  // this warp's [kRows, 32]

    const int own = warp() * kRows;  // this warp's first query
    const int count = tile_rows<kShortSentence>(at.keys);
    const auto key_there = [&](int r) { return key_takes_part(task, at, r); };
    const int thread = device::thread_in_block();
    device::Pipeline<1> pipeline;
    begin_rows<D, Sizes::kPitch>(keys, task.key, at.key_start, at.key_head, task.vectors, thread, threads, count, key_there);
    begin_rows<D, Sizes::kPitch>(values, task.value, at.key_start, at.key_head, task.vectors, thread, threads, count, key_there);
    begin_rows<D, Sizes::kPitch>(queries, task.query, at.query_start + own, at.head, task.vectors, device::lane(), kWarp, kRows,
                                 [&](int r) { return own + r < at.queries; });
    pipeline.commit();
    pipeline.wait();
    __syncthreads();  // the copies of all threads are there
    if (own >= at.queries) return;

    RunningRows<float, D> rows;
    const int own_end = visible_keys(task, at, min(at.queries, own + kRows) - 1);
    for (int key = 0; key < own_end; key += Sizes::kTile) {
        rows.meet(task, at, own, key, queries, keys + key * Sizes::kPitch, values + key * Sizes::kPitch, weights);
        __syncwarp();  // no lane reads the weights any more: the next keys' overwrite them
    }
    rows.finish(task, at, own, output, log_sum);
}

}  // namespace

void attention_forward_short(AttentionTask<float> task, const AttentionRules& rules, DeviceRows<float> output, float* log_sum) {
    const auto launch = [&](auto width) {
        constexpr int D = width;
        using Sizes = PlainSizes<float, D>;
        const int warps = short_warps(rules.query_spans.longest()), rows = warps * Sizes::kForwardRows;
        const int room = 8 * short_warps(rules.key_spans.longest());
        device::SharedSize shared;
        shared.take<float>(room * Sizes::kPitch).template take<float>(room * Sizes::kPitch);
        shared.take<float>(rows * Sizes::kPitch).template take<float>(rows * kWarp);
        device::launch({.grid = task.gaps.grid(device::blocks_for(rules.query_spans.size() * rules.heads, 1)),
                        .block = static_cast<unsigned>(warps * kWarp),
                        .shared = shared.bytes()},
                       attention_forward_short_f32_kernel<D>, task, output, log_sum, room);
    };
    if (std::max(task.query.width, task.value.width) <= 32) return launch(std::integral_constant<int, 32>{});
    return launch(std::integral_constant<int, kShortHead>{});
}

}  // namespace heddle::kernels
