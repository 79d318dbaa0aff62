// Attention forward in bf16 for sentences of up to 64 tokens: what a translator's batches are made of, 64 to 256 sentences of 10
// to 60 tokens.
//
// attention_mma.cu gives such a sentence one block of 128 rows, of which most would be empty, and a pipeline that never fills.
// Here all keys of a sentence fit into shared memory at once:
//
// clang-format off
//   - a warp does one query tile of 16 rows by itself: Q, K, V into its own shared memory, S, the softmax, O, done. It waits for
//     no other warp: no barrier of the block, and a batch of sentences of any lengths keeps all warps of the chip busy.
//   - only as many keys are loaded and multiplied as there are, in steps of 16, and a warp has room for as many as the batch's
//     longest sentence has, or for a batch within a capacity could have.
//   - all keys meet the softmax at once, which is one of attention_mma.cu's steps. So a sentence has the same bits here and in a
//     batch that goes there.
//
// Owns     warp: 16 query rows of one sentence and head. Block: a few warps, neighbours in the work list, which share nothing.
// Traffic  Q and O once; K and V once per 16 query rows, 4 times for 64 tokens, mostly from the first-level cache.
// Waits    one for the copies, then __syncwarp: the tiles were loaded by the lanes of this warp only.
// clang-format on
#include "kernels/attention/mma/attention_mma.h"

namespace heddle::kernels {
namespace {

using device::lane, device::warp;

template <int D>
struct ShortSizes {
    static constexpr int kWarps = D == 128 ? 2 : 4;
};

template <int D, bool Biased>
__global__ void __launch_bounds__(ShortSizes<D>::kWarps* device::kWarp)
    attention_forward_short_kernel(AttentionTask<bf16> task, DeviceRows<bf16> output,  // output [rows, heads * dv]
                                   bool output_vectors,  // its rows may be written 16 bytes at a time
                                   float* log_sum,       // [rows, heads] or null
                                   std::int64_t items,
                                   int room) {  // for how many keys a warp has memory
    using Sizes = ShortSizes<D>;
    constexpr int kKeys = kSoftmaxKeys;
    static_assert(kKeys == kShortSentence);
    if (zero_gaps(task.gaps)) return;
    const int mine = (16 + 2 * room) * D;  // elements
    device::SharedArena arena;
    bf16* const query_tile = arena.take<bf16>(Sizes::kWarps * mine, 1024) + warp() * mine;  // [16, D]
    bf16* const keys = query_tile + 16 * D;                                                 // `room` rows of a tile [kKeys, D]
    bf16* const values = keys + room * D;                                                   // the same
    const std::int64_t item = std::int64_t{blockIdx.x} * Sizes::kWarps + warp();
    if (item >= items) return;  // the whole warp

    const AttentionPlace at = attention_place(task, item);
    const float scale = task.scale_log2;
    const int end = visible_keys(task, at, min(at.queries, at.first + 16) - 1);
    const int count = (end + 15) / 16 * 16;  // rows that are multiplied
    device::Pipeline<1> pipeline;
    begin_tile<D, 16, device::kWarp>(query_tile, task.query, at.query_start + at.first, at.head, task.vectors, lane(),
                                     [&](int r) { return at.first + r < at.queries; });
    begin_key_tiles<D, kKeys, device::kWarp>(keys, values, task, at, 0, lane(), count);
    pipeline.commit();
    pipeline.wait();
    __syncwarp();  // the other lanes' copies are there, too

    const OwnRows<D, 16, 1, 0> q{query_tile, 0};
    Accumulator16x8 mean[1][D / 8];
    Running running;
    if (end > 0) {
        Accumulator16x8 score[1][kKeys / 8];
        FragmentA weights[1][kKeys / 16];
        products<D, kKeys>(score, q, keys, count);
        if constexpr (Biased) add_bias<kKeys>(score[0], task, at, at.first, 0);
        hide_scores<kKeys>(score[0], task, at, at.first, 0);
        softmax_tile<D, kKeys>(score[0], running, mean[0], scale);
        drop_and_pack<kKeys>(weights[0], score[0], task, at, at.first, 0, count);
        update<D, kKeys>(mean, weights, values, count);
    }
    float factor[Accumulator16x8::kRows];
    finish_softmax(factor, running, task, at, at.first, scale, log_sum);
    write_rows<D>(output, at.query_start + at.first, at.head, at.queries - at.first, output_vectors, mean[0], factor, query_tile,
                  0);
}

}  // namespace

void attention_forward_short(AttentionTask<bf16> task, const AttentionRules& rules, DeviceRows<bf16> output, float* log_sum) {
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = width < 256 ? width : 128;
        using Sizes = ShortSizes<D>;
        const Tensor tiles = attention_tiles(rules.query_spans, 16);
        task.tiles = tiles.data<std::int32_t>();
        const std::int64_t items = attention_items(tiles, rules.heads);
        const int longest = static_cast<int>(rules.key_spans.longest());
        const int room = (longest + 15) / 16 * 16;
        const auto shared = sizeof(bf16) * static_cast<std::size_t>(Sizes::kWarps * (16 + 2 * room) * D);
        device::launch({.grid = task.gaps.grid(device::blocks_for(items, Sizes::kWarps)),
                        .block = Sizes::kWarps * device::kWarp,
                        .shared = shared},
                       task.bias == nullptr ? attention_forward_short_kernel<D, false> : attention_forward_short_kernel<D, true>,
                       task, output, vectors_fit(output), log_sum, items, room);
    });
}

}  // namespace heddle::kernels
