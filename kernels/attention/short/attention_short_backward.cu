// Attention backward in bf16 for sentences of up to 64 tokens and heads of up to 64 columns: all gradients of one sentence and
// head by one block.
//
// Q, K, V and dO of a short sentence fit into shared memory together. So they are read once, and what attention_mma_backward.cu
// does in two kernels, one from the side of the queries and one from that of the keys, happens in one, and D with it:
//
// clang-format off
//     all warps   bring Q, K, V, dO, L and make D = rowsum(dO O): each thread from pieces of dO that it copied itself
//     barrier     all of it is there
//     warp w      dQ of the queries [16 w, 16 w + 16), then dK and dV of the keys [16 w, 16 w + 16): own sums, in registers
// clang-format on
//
// dQ leaves by way of shared memory of its own before dK and dV begin: what the two need does not lie in registers together.
// When several heads of queries share the keys, they take turns in one block: K and V stay, and dK and dV grow from head to head.
//
// Owns     block: a sentence and a head of keys; warp: 16 of its keys and 16 of its queries.
// Traffic  each of Q, K, V, O, dO, dQ, dK, dV once.
#include "kernels/attention/mma/attention_mma_backward.h"

namespace heddle::kernels {
namespace {

using device::warp;

constexpr int kRows = kShortSentence;
constexpr int kWarps = kRows / 16, kThreads = kWarps * device::kWarp;
// Rows that a warp's rows meet at a time. With 64, S and dP took 254 registers and spilled; with 32, the registers of heads of 32
// columns leave room for three blocks.
constexpr int kTile = 32;

// Biased: the form for calls with a bias or with shared heads of keys. The loop over heads costs registers that the other has
// not.
template <int D, bool Biased>
__global__ void __launch_bounds__(kThreads)
    attention_backward_short_kernel(AttentionTask<bf16> task, AttentionBackwardTask<bf16> back) {
    constexpr int kSlots = Accumulator16x8::kRows;
    if (zero_gaps(task.gaps)) return;
    const auto key_heads = static_cast<unsigned>(task.group == 1 ? task.heads : task.heads / task.group);
    AttentionPlace at =
        attention_place(task, static_cast<int>(blockIdx.x / key_heads), static_cast<int>(blockIdx.x % key_heads) * task.group, 0);

    device::SharedArena arena;
    bf16* const queries = arena.take<bf16>(kRows * D, 1024);  // [64, D]
    bf16* const d_outputs = arena.take<bf16>(kRows * D, 1024);
    bf16* const keys = arena.take<bf16>(kRows * D, 1024);
    bf16* const values = arena.take<bf16>(kRows * D, 1024);
    bf16* const staging = arena.take<bf16>(kRows * D, 1024);  // a warp's 16 rows carry its results out
    float* const log_sums = arena.take<float>(kRows);         // [64]
    float* const deltas = arena.take<float>(kRows);

    const int thread = device::thread_in_block();
    const int query_count = (at.queries + 15) / 16 * 16, key_count = (at.keys + 15) / 16 * 16;
    device::Pipeline<1> pipeline;
    const auto query_there = [&](int r) { return query_takes_part(task, at, r, back.log_sum); };
    const auto key_there = [&](int r) { return key_takes_part(task, at, r); };
    begin_tile<D, kRows, kThreads>(keys, task.key, at.key_start, at.key_head, task.vectors, thread, key_there, key_count);
    begin_tile<D, kRows, kThreads>(values, task.value, at.key_start, at.key_head, task.vectors, thread, key_there, key_count);
    const int own = warp() * 16;
    Accumulator16x8 d_key[1][D / 8], d_value[1][D / 8];
    const float scales[kSlots] = {task.scale, task.scale}, ones[kSlots] = {1, 1};
    for (const int heads_end = at.head + (Biased ? task.group : 1);;) {
        begin_tile<D, kRows, kThreads>(queries, task.query, at.query_start, at.head, task.vectors, thread, query_there,
                                       query_count);
        begin_tile<D, kRows, kThreads>(d_outputs, back.d_output, at.query_start, at.head, back.vectors, thread, query_there,
                                       query_count);
        pipeline.commit();
        // L, and O for D, while the copies are under way. A thread takes the pieces of O that it copies of dO (begin_tile deals
        // them out): no barrier stands between the copy and its reading.
        if (thread < query_count)
            log_sums[thread] = query_there(thread) ? back.log_sum[(at.query_start + thread) * task.heads + at.head] : 0;
        constexpr int kLanes = D / 8;  // of a row, 8 columns each
        device::Vector<bf16, 8> outputs[kRows * kLanes / kThreads] = {};
#pragma unroll
        for (int n = 0; n < kRows * kLanes / kThreads; ++n) {
            const int row = (thread + n * kThreads) / kLanes, c = thread % kLanes * 8;
            if (row < query_count && query_there(row))
                outputs[n] = load_columns<8>(back.output.at(at.query_start + row, at.head), c, task.value.width, back.vectors);
        }
        pipeline.wait();
#pragma unroll
        for (int n = 0; n < kRows * kLanes / kThreads; ++n) {
            const int row = (thread + n * kThreads) / kLanes, c = thread % kLanes * 8;
            if (row >= query_count) continue;  // the whole warp: the count is a multiple of 16
            const auto piece = device::load_vector<8>(d_outputs + tile_place<D>(row, c));
            const float sum = device::warp_sum<kLanes>(dot(outputs[n], piece));
            if (thread % kLanes == 0) deltas[row] = sum;
        }
        __syncthreads();  // the tiles, L and D are there for all

        if (own < at.queries) {
            const OwnRows<D, kRows, 1, 0> q{queries, own}, d_o{d_outputs, own};
            Accumulator16x8 d_query[1][D / 8];
            float level[1][kSlots], delta[1][kSlots];
#pragma unroll
            for (int s = 0; s < kSlots; ++s) {
                level[0][s] = log_sums[own + Accumulator16x8::row(2 * s)] * static_cast<float>(kLog2E);
                delta[0][s] = deltas[own + Accumulator16x8::row(2 * s)];
            }
#pragma unroll 1
            for (int key = 0; key < key_count; key += kTile)
                add_d_query<D, kTile, Biased>(d_query, task, at, q, d_o, level, delta, own, key, keys + key * D, values + key * D,
                                              key_count - key);
            if (back.d_query.data != nullptr)
                write_rows<D>(back.d_query, at.query_start + own, at.head, at.queries - own, back.store_vectors, d_query[0],
                              scales, staging, own);
        }
        if (own < at.keys) {
            const OwnRows<D, kRows, 1, 0> k{keys, own}, v{values, own};
#pragma unroll 1
            for (int query = 0; query < query_count; query += kTile)
                add_d_key<D, kTile, Biased>(d_key, d_value, task, at, k, v, log_sums + query, deltas + query, own, query,
                                            queries + query * D, d_outputs + query * D, query_count - query);
        }
        if (++at.head == heads_end) break;
        __syncthreads();  // no thread reads this head's tiles, L and D any more: the next head's overwrite them
    }
    if (own >= at.keys) return;
    if (back.d_key.data != nullptr)
        write_rows<D>(back.d_key, at.key_start + own, at.key_head, at.keys - own, back.store_vectors, d_key[0], scales, staging,
                      own);
    if (back.d_value.data != nullptr)
        write_rows<D>(back.d_value, at.key_start + own, at.key_head, at.keys - own, back.store_vectors, d_value[0], ones, staging,
                      own);
}

}  // namespace

void attention_backward_short(AttentionTask<bf16> task, const AttentionRules& rules, const AttentionBackwardTask<bf16>& back) {
    const auto launch = [&](auto width) {
        constexpr int D = width;
        constexpr std::size_t kShared = sizeof(bf16) * D * 5 * kRows + sizeof(float) * 2 * kRows;
        device::launch({.grid = task.gaps.grid(device::blocks_for(rules.query_spans.size() * rules.heads_of_keys(), 1)),
                        .block = kThreads,
                        .shared = kShared},
                       task.bias == nullptr && task.group == 1 ? attention_backward_short_kernel<D, false>
                                                               : attention_backward_short_kernel<D, true>,
                       task, back);
    };
    if (std::max(task.query.width, task.value.width) <= 32) return launch(std::integral_constant<int, 32>{});
    return launch(std::integral_constant<int, 64>{});
}

}  // namespace heddle::kernels
