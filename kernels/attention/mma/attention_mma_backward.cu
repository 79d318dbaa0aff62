// Attention backward in bf16 on tensor cores, for heads of up to 128 columns: the two passes of attention_plain_backward.cu with
// the tiles of attention_mma.cu.
//
//     d_query kernel   own rows: queries    S = Q K^T, dP = dO V^T, dS in registers, dQ += dS K
//     d_key kernel     own rows: keys       S^T = K Q^T, dP^T = V dO^T, then dV += (P F)^T dO and dK += dS^T Q, for one head of
//                                           queries after the other that shares these keys
//
// The second works with the transposed scores, so that in both passes the rows of an accumulator are the warp's own: P and dS
// become left operands of the next product without leaving the registers, and nothing is exchanged between warps. What is saved
// or computed per query (L and D) belongs to rows in the first pass and to columns in the second, where it comes through shared
// memory with the tile.
//
// Owns     block: 128 query (key) rows of one head, of heads of more than 64 columns 64; warp: a quarter, and all of dQ's (dK's
// and
//          dV's) columns for them, in f32. A warp's 32 rows are two tiles, as in forward; with 128 columns only one fits into the
//          registers.
// Traffic  as attention_plain_backward.cu, with 128 (64) own rows a block.
// Barriers one a tile, as in attention_mma.cu.
// Rounding P F and dS are rounded to bf16 before their second product.
#include "kernels/attention/mma/attention_mma_backward.h"

namespace heddle::kernels {
namespace {

using device::warp;

template <int D>
struct BackwardSizes {
    static constexpr int kWarps = 4;
    static constexpr int kThreads = kWarps * device::kWarp;
    static constexpr int kM = D == 128 ? 1 : 2;         // 16-row tiles of a warp: each operand it reads is used so often
    static constexpr int kRows = kWarps * kM * 16;      // own rows of a block
    static constexpr int kKeys = 32;                    // of a tile that meets queries
    static constexpr int kQueries = D == 32 ? 32 : 16;  // of a tile that meets keys: dK and dV leave few registers
    // Of the own rows' columns, how many times 16 stay in registers: all of them beside dQ, what dK and dV leave room for.
    static constexpr int kHeld = D / 16;
    static constexpr int kHeldKeys = D == 64 ? 0 : D / 16;
    static constexpr int kHeldValues = D == 32 ? D / 16 : D == 64 ? 0 : 2;
    static constexpr std::size_t kSharedOfQuery = sizeof(bf16) * D * (2 * kRows + 4 * kKeys);
    static constexpr std::size_t kSharedOfKey =  // with L and D of two tiles of queries
        sizeof(bf16) * D * (2 * kRows + 4 * kQueries) + sizeof(float) * 4 * kQueries;
};

template <int D, bool Biased>
__global__ void __launch_bounds__(BackwardSizes<D>::kThreads)
    attention_d_query_mma_kernel(AttentionTask<bf16> task, AttentionBackwardTask<bf16> back) {
    using Sizes = BackwardSizes<D>;
    constexpr int kM = Sizes::kM, kRows = Sizes::kRows, kKeys = Sizes::kKeys, kSlots = Accumulator16x8::kRows;
    const AttentionPlace at = attention_place(task, blockIdx.x);

    device::SharedArena arena;
    bf16* const queries = arena.take<bf16>(kRows * D, 1024);    // [kRows, D]
    bf16* const d_outputs = arena.take<bf16>(kRows * D, 1024);  // [kRows, D]
    bf16* const keys = arena.take<bf16>(2 * kKeys * D, 1024);   // two tiles [kKeys, D]
    bf16* const values = arena.take<bf16>(2 * kKeys * D, 1024);

    const int thread = device::thread_in_block();
    const int own = at.first + warp() * kM * 16;  // this warp's first query
    const int end = visible_keys(task, at, min(at.queries, at.first + kRows) - 1);
    const int own_end = own < at.queries ? visible_keys(task, at, min(at.queries, own + kM * 16) - 1) : 0;
    device::Pipeline<1> pipeline;
    const auto begin_keys = [&](int key) {
        const int stage = key / kKeys % 2 * kKeys * D;
        pipeline.acquire();
        begin_key_tiles<D, kKeys, Sizes::kThreads>(keys + stage, values + stage, task, at, key, thread);
        pipeline.commit();
    };

    OwnRows<D, kRows, kM, Sizes::kHeld> q{queries, warp() * kM * 16};
    OwnRows<D, kRows, kM, Sizes::kHeld> d_o{d_outputs, warp() * kM * 16};
    Accumulator16x8 d_query[kM][D / 8];
    float level[kM][kSlots], delta[kM][kSlots];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int s = 0; s < kSlots; ++s) {
            const int i = own + 16 * m + Accumulator16x8::row(2 * s);
            const std::int64_t row = (at.query_start + i) * task.heads + at.head;
            const bool takes_part = query_takes_part(task, at, i, back.log_sum);
            level[m][s] = takes_part ? back.log_sum[row] * static_cast<float>(kLog2E) : 0;
            delta[m][s] = takes_part ? back.delta[row] : 0;
        }
    if (end > 0) {
        const auto there = [&](int r) { return query_takes_part(task, at, at.first + r, back.log_sum); };
        begin_tile<D, kRows, Sizes::kThreads>(queries, task.query, at.query_start + at.first, at.head, task.vectors, thread,
                                              there);
        begin_tile<D, kRows, Sizes::kThreads>(d_outputs, back.d_output, at.query_start + at.first, at.head, back.vectors, thread,
                                              there);
        begin_keys(0);
    }
    for (int key = 0; key < end; key += kKeys) {
        pipeline.wait();
        __syncthreads();  // this tile is there for all, and no thread reads the one before any more
        if (key + kKeys < end) begin_keys(key + kKeys);
        if (key == 0) q.hold(), d_o.hold();
        if (key >= own_end) continue;  // this warp's queries see none of these

        const int stage = key / kKeys % 2 * kKeys * D;
        add_d_query<D, kKeys, Biased>(d_query, task, at, q, d_o, level, delta, own, key, keys + stage, values + stage);
        pipeline.release();
    }
    const float factor[kSlots] = {task.scale, task.scale};
#pragma unroll
    for (int m = 0; m < kM; ++m)
        write_rows<D>(back.d_query, at.query_start + own + 16 * m, at.head, at.queries - own - 16 * m, back.store_vectors,
                      d_query[m], factor, queries, (warp() * kM + m) * 16);
}

template <int D, bool Biased>
__global__ void __launch_bounds__(BackwardSizes<D>::kThreads)
    attention_d_key_mma_kernel(AttentionTask<bf16> task, AttentionBackwardTask<bf16> back) {
    using Sizes = BackwardSizes<D>;
    constexpr int kM = Sizes::kM, kRows = Sizes::kRows, kQueries = Sizes::kQueries, kSlots = Accumulator16x8::kRows;
    AttentionPlace at = attention_key_place(task, blockIdx.x);

    device::SharedArena arena;
    bf16* const keys = arena.take<bf16>(kRows * D, 1024);            // [kRows, D]
    bf16* const values = arena.take<bf16>(kRows * D, 1024);          // [kRows, D]
    bf16* const queries = arena.take<bf16>(2 * kQueries * D, 1024);  // two tiles [kQueries, D]
    bf16* const d_outputs = arena.take<bf16>(2 * kQueries * D, 1024);
    float* const log_sums = arena.take<float>(2 * kQueries);  // two tiles [kQueries]
    float* const deltas = arena.take<float>(2 * kQueries);

    const int thread = device::thread_in_block();
    const int own = at.first + warp() * kM * 16;  // this warp's first key
    device::Pipeline<1> pipeline;
    const auto begin_queries = [&](int head, int query, int half) {
        AttentionPlace from_head = at;
        from_head.head = head;
        const auto takes_part = [&](int r) { return query_takes_part(task, from_head, query + r, back.log_sum); };
        const std::int64_t row = at.query_start + query;
        pipeline.acquire();
        begin_tile<D, kQueries, Sizes::kThreads>(queries + half * kQueries * D, task.query, row, head, task.vectors, thread,
                                                 takes_part);
        begin_tile<D, kQueries, Sizes::kThreads>(d_outputs + half * kQueries * D, back.d_output, row, head, back.vectors, thread,
                                                 takes_part);
        if (thread < kQueries) {
            const int valid = takes_part(thread) ? 4 : 0;
            const std::int64_t from = valid == 0 ? 0 : (row + thread) * task.heads + head;
            device::copy_async<4>(log_sums + half * kQueries + thread, back.log_sum + from, valid);
            device::copy_async<4>(deltas + half * kQueries + thread, back.delta + from, valid);
        }
        pipeline.commit();
    };

    OwnRows<D, kRows, kM, Sizes::kHeldKeys> k{keys, warp() * kM * 16};
    OwnRows<D, kRows, kM, Sizes::kHeldValues> v{values, warp() * kM * 16};
    Accumulator16x8 d_key[kM][D / 8], d_value[kM][D / 8];
    // When causal, the block's first key is seen from query first - offset on.
    const int begin = task.causal ? max(0, at.first - at.offset()) / kQueries * kQueries : 0;
    if (begin < at.queries) {
        const auto there = [&](int r) { return key_takes_part(task, at, at.first + r); };
        begin_tile<D, kRows, Sizes::kThreads>(keys, task.key, at.key_start + at.first, at.key_head, task.vectors, thread, there);
        begin_tile<D, kRows, Sizes::kThreads>(values, task.value, at.key_start + at.first, at.key_head, task.vectors, thread,
                                              there);
        begin_queries(at.head, begin, 0);
    }
    int half = 0;  // of the double buffer: which tile this is, over all heads
    for (const int heads_end = at.head + task.group; at.head < heads_end; ++at.head)
        for (int query = begin; query < at.queries; query += kQueries, half ^= 1) {
            pipeline.wait();
            __syncthreads();  // this tile is there for all, and no thread reads the one before any more
            if (query + kQueries < at.queries)
                begin_queries(at.head, query + kQueries, half ^ 1);
            else if (at.head + 1 < heads_end)
                begin_queries(at.head + 1, begin, half ^ 1);
            if (query == begin) k.hold(), v.hold();
            if (own >= at.keys || (task.causal && query + kQueries <= own - at.offset()))
                continue;  // none of these queries sees this warp's keys

            add_d_key<D, kQueries, Biased>(d_key, d_value, task, at, k, v, log_sums + half * kQueries, deltas + half * kQueries,
                                           own, query, queries + half * kQueries * D, d_outputs + half * kQueries * D);
            pipeline.release();
        }
    // Read again and not kept, as in attention_mma.cu.
    const AttentionPlace here = attention_key_place(task, blockIdx.x);
    const int first = here.first + warp() * kM * 16;
    const float scales[kSlots] = {task.scale, task.scale}, ones[kSlots] = {1, 1};
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        const std::int64_t row = here.key_start + first + 16 * m;
        const int rows = here.keys - first - 16 * m, staging = (warp() * kM + m) * 16;
        if (back.d_key.data != nullptr)
            write_rows<D>(back.d_key, row, here.key_head, rows, back.store_vectors, d_key[m], scales, keys, staging);
        if (back.d_value.data != nullptr)
            write_rows<D>(back.d_value, row, here.key_head, rows, back.store_vectors, d_value[m], ones, values, staging);
    }
}

}  // namespace

void attention_backward_mma(AttentionTask<bf16> task, const AttentionRules& rules, const AttentionBackwardTask<bf16>& back) {
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = width < 256 ? width : 128;
        using Sizes = BackwardSizes<D>;
        if (back.d_query.data != nullptr) {
            const Tensor tiles = attention_tiles(rules.query_spans, Sizes::kRows);
            task.tiles = tiles.data<std::int32_t>();
            device::launch({.grid = device::blocks_for(attention_items(tiles, rules.heads), 1),
                            .block = Sizes::kThreads,
                            .shared = Sizes::kSharedOfQuery},
                           task.bias == nullptr ? attention_d_query_mma_kernel<D, false> : attention_d_query_mma_kernel<D, true>,
                           task, back);
        }
        if (back.d_key.data != nullptr || back.d_value.data != nullptr) {
            const Tensor tiles = attention_tiles(rules.key_spans, Sizes::kRows);
            task.tiles = tiles.data<std::int32_t>();
            device::launch({.grid = device::blocks_for(attention_items(tiles, rules.heads_of_keys()), 1),
                            .block = Sizes::kThreads,
                            .shared = Sizes::kSharedOfKey},
                           task.bias == nullptr ? attention_d_key_mma_kernel<D, false> : attention_d_key_mma_kernel<D, true>,
                           task, back);
        }
    });
}

}  // namespace heddle::kernels
