// Attention forward in bf16 on tensor cores, for heads of up to 128 columns: the tiles of attention_plain.cu, each product a
// matrix instruction.
//
// What is new against attention_plain.cu, and why:
//
// clang-format off
//   - a warp owns 32 query rows (two tiles of 16) and all of a tile's keys: S, the softmax and O stay in its registers, and warps
//     share K and V only (Dao, "FlashAttention-2", 2023, section 3.3). Two tiles, so that each operand read from shared memory is
//     used twice: with one, reading takes as long as multiplying.
//   - the scores come as accumulators, whose lanes hold parts of rows: row(e) and col(e) say which. A row's maximum is taken over
//     the four lanes that share it; its sum stays in parts until the end.
//   - P goes into the second product without leaving the registers: the accumulator of S, rounded to bf16, is its left operand.
//   - K and V have two places each (a double buffer): the next tile is on its way while this one is computed with. One barrier a
//     tile: behind it this tile is there for everybody, and everybody is done with the one before, whose place the next copies
//     take. They begin only behind that barrier: no more than one tile is ever on its way, and waiting for all waits for it.
//     Heads of 128 columns would so take 96 KB, one block of an A100's multiprocessor. They have one place each and two barriers:
//     V comes while the weights are computed, the next K with P V. With 64 keys a tile instead of 32 that is as many barriers a key.
//   - only tiles at an edge (the sentence's end, the causal diagonal, a mask) look at single scores.
//
// Owns     block: 128 query rows of one head. Warp: 32 of them. Lane: pieces of their rows as mma.h says.
// Traffic  Q and O once, K and V once per 128 query rows, 4 bytes of L per row and head. Per score 4 D operations on tensor
//          cores, and about 8 instructions elsewhere, one of them a power of two, at 16 a cycle: that unit is nearly as busy as
//          the tensor cores.
// Rounding P is rounded to bf16 before it meets V; sums, maxima and O are f32 until the end.
// clang-format on
#include "kernels/attention/mma/attention_mma.h"

namespace heddle::kernels {
namespace {

using device::warp;

template <int D>
struct ForwardSizes {
    static constexpr int kWarps = 4;
    static constexpr int kThreads = kWarps * device::kWarp;
    static constexpr int kM = 2;                       // 16-row tiles of a warp
    static constexpr int kRows = kWarps * kM * 16;     // queries of a block
    static constexpr int kKeys = kSoftmaxKeys;         // of a tile: what the registers hold
    static constexpr int kHeld = D < 64 ? D / 16 : 0;  // of the queries' columns, how many times 16 stay in registers
    static constexpr int kPlaces = D == 128 ? 1 : 2;   // of a tile of keys, and of one of values, in shared memory
    static constexpr std::size_t kShared =
        sizeof(bf16) * D * (kRows + 2 * kPlaces * kKeys);  // a multiple of 1024 each: nothing is lost between them
};

template <int D, bool Biased>
__global__ void __launch_bounds__(ForwardSizes<D>::kThreads)
    attention_forward_mma_kernel(AttentionTask<bf16> task, DeviceRows<bf16> output,  // output [rows, heads * dv]
                                 bool output_vectors,                                // its rows may be written 16 bytes at a time
                                 float* log_sum) {                                   // [rows, heads] or null
    using Sizes = ForwardSizes<D>;
    constexpr int kM = Sizes::kM, kKeys = Sizes::kKeys;
    if (zero_gaps(task.gaps)) return;
    const AttentionPlace at = attention_place(task, blockIdx.x);
    const float scale = task.scale_log2;

    device::SharedArena arena;
    bf16* const queries = arena.take<bf16>(Sizes::kRows * D, 1024);           // [128, D]
    bf16* const keys = arena.take<bf16>(Sizes::kPlaces * kKeys * D, 1024);    // tiles [kKeys, D]
    bf16* const values = arena.take<bf16>(Sizes::kPlaces * kKeys * D, 1024);  // tiles [kKeys, D]

    const int thread = device::thread_in_block();
    const int own = at.first + warp() * kM * 16;                                           // this warp's first query
    const int end = visible_keys(task, at, min(at.queries, at.first + Sizes::kRows) - 1);  // for the block
    const int own_end = own < at.queries ? visible_keys(task, at, min(at.queries, own + kM * 16) - 1) : 0;  // for this warp
    device::Pipeline<1> pipeline;
    const auto stage = [](int key) { return key / kKeys % Sizes::kPlaces * kKeys * D; };
    const auto begin = [&](bool with_keys, bool with_values, int key) {
        pipeline.acquire();
        if (with_keys) begin_keys<D, kKeys, Sizes::kThreads>(keys + stage(key), task.key, task, at, key, thread);
        if (with_values) begin_keys<D, kKeys, Sizes::kThreads>(values + stage(key), task.value, task, at, key, thread);
        pipeline.commit();
    };

    OwnRows<D, Sizes::kRows, kM, Sizes::kHeld> q{queries, warp() * kM * 16};
    Accumulator16x8 mean[kM][D / 8];
    Running running[kM];

    if (end > 0) {
        begin_tile<D, Sizes::kRows, Sizes::kThreads>(queries, task.query, at.query_start + at.first, at.head, task.vectors,
                                                     thread, [&](int r) { return at.first + r < at.queries; });
        begin(true, Sizes::kPlaces == 2, 0);
    }
    for (int key = 0; key < end; key += kKeys) {
        pipeline.wait();
        __syncthreads();  // this tile is there for all, and no thread reads the one before any more
        if constexpr (Sizes::kPlaces == 1)
            begin(false, true, key);
        else if (key + kKeys < end)
            begin(true, true, key + kKeys);
        if (key == 0) q.hold();

        const bool sees = key < own_end;  // whether this warp's queries see any of these
        FragmentA weights[kM][kKeys / 16];
        if (sees) {
            Accumulator16x8 score[kM][kKeys / 8];
            products<D, kKeys>(score, q, keys + stage(key));
            const bool inside =
                task.mask == nullptr && key + kKeys <= at.keys && (!task.causal || key + kKeys - 1 <= own + at.offset());
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                if constexpr (Biased) add_bias<kKeys>(score[m], task, at, own + 16 * m, key);
                if (!inside) hide_scores<kKeys>(score[m], task, at, own + 16 * m, key);
                softmax_tile<D, kKeys>(score[m], running[m], mean[m], scale);
                drop_and_pack<kKeys>(weights[m], score[m], task, at, own + 16 * m, key);
            }
        }
        if constexpr (Sizes::kPlaces == 1) {
            pipeline.wait();
            __syncthreads();  // the values are there for all, and no thread reads the keys any more
            if (key + kKeys < end) begin(true, false, key + kKeys);
        }
        if (sees) update<D, kKeys>(mean, weights, values + stage(key));
        pipeline.release();
    }
    // Read again and not kept: within the loop all registers are taken.
    const AttentionPlace here = attention_place(task, blockIdx.x);
    const int first = here.first + warp() * kM * 16;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        float factor[Accumulator16x8::kRows];
        finish_softmax(factor, running[m], task, here, first + 16 * m, scale, log_sum);
        write_rows<D>(output, here.query_start + first + 16 * m, here.head, here.queries - first - 16 * m, output_vectors,
                      mean[m], factor, queries, warp() * kM * 16 + 16 * m);
    }
}

}  // namespace

void attention_forward_mma(AttentionTask<bf16> task, const AttentionRules& rules, DeviceRows<bf16> output, float* log_sum) {
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = width < 256 ? width : 128;
        using Sizes = ForwardSizes<D>;
        const Tensor tiles = attention_tiles(rules.query_spans, Sizes::kRows);
        task.tiles = tiles.data<std::int32_t>();
        device::launch({.grid = task.gaps.grid(device::blocks_for(attention_items(tiles, rules.heads), 1)),
                        .block = Sizes::kThreads,
                        .shared = Sizes::kShared},
                       task.bias == nullptr ? attention_forward_mma_kernel<D, false> : attention_forward_mma_kernel<D, true>,
                       task, output, vectors_fit(output), log_sum);
    });
}

}  // namespace heddle::kernels
