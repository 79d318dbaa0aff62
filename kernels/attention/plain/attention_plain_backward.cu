// Attention backward, the plain form: f32 and f64 by multiply-add, any head of up to 256 columns, every rule.
//
//     D_i = dO_i . O_i                         delta: one pass over two tensors
//     P   = e^{S - L}, made again from Q, K and the saved L
//     dV  = (P * F)^T dO,    dP = (dO V^T) * F,    dS = P * (dP - D),    dQ = scale dS K,    dK = scale dS^T Q
//
// dQ sums over keys, dK and dV over queries. A single pass that sums both ways needs atomics, whose order differs from run to
// run. So there are two passes, and each computes S and dP itself (7 products where 5 are needed), but every sum has one owner
// and one order: the same bits each time.
//
//     d_query kernel   a block owns query rows and walks over the keys     (as forward: attention_plain.cu)
//     d_key kernel     a block owns key rows and walks over the queries    (the same with the roles exchanged: dK and dV)
//
// Traffic  delta: reads O and dO. d_query: Q, dO and dQ once, K and V once per block. d_key: K, V, dK, dV once, Q and dO once per
// block.
#include "kernels/attention/plain/attention_plain.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::lane, device::warp;

// D of the query rows of one tile and head, a row a warp at a time.
template <class T>
__global__ void __launch_bounds__(128)
    attention_delta_kernel(AttentionTask<T> task, AttentionBackwardTask<T> back, int tile_rows) {
    using A = device::Accumulator<T>;
    if (zero_gaps(task.gaps)) return;
    const AttentionPlace at = attention_place(task, blockIdx.x);
    const int end = min(at.queries, at.first + tile_rows);
    for (int i = at.first + warp(); i < end; i += 4) {
        const std::int64_t row = at.query_start + i;
        const T* const output = back.output.at(row, at.head);
        const T* const d_output = back.d_output.at(row, at.head);
        constexpr int kN = device::kVector<T>;
        const int width = task.value.width;
        A sum = 0;
        for (int c = lane() * kN; c < width; c += kWarp * kN)
            sum += dot(load_columns<kN>(output, c, width, back.vectors), load_columns<kN>(d_output, c, width, back.vectors));
        sum = device::warp_sum(sum);
        if (lane() == 0) back.delta[row * task.heads + at.head] = sum;
    }
}

// Owns kBackwardRows query rows a warp. Per tile of keys: S and dP with a key in each lane, dS through shared memory, dQ += dS K.
template <class T, int D>
__global__ void __launch_bounds__((PlainSizes<T, D>::kThreads))
    attention_d_query_kernel(AttentionTask<T> task, AttentionBackwardTask<T> back) {
    using Sizes = PlainSizes<T, D>;
    using A = device::Accumulator<T>;
    constexpr int kRows = Sizes::kBackwardRows;
    const AttentionPlace at = attention_place(task, blockIdx.x);

    device::SharedArena arena;
    A* const queries = arena.take<A>(Sizes::kWarps * kRows * Sizes::kPitch);    // [4 kRows, kPitch]
    A* const d_outputs = arena.take<A>(Sizes::kWarps * kRows * Sizes::kPitch);  // [4 kRows, kPitch]
    A* const keys = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const values = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const weights = arena.take<A>(Sizes::kWarps * kRows * kWarp) + warp() * kRows * kWarp;  // this warp's dS [kRows, 32]

    const int own = at.first + warp() * kRows;
    const auto there = [&](int r) { return at.first + r < at.queries; };
    load_rows<Sizes::kWarps * kRows, D>(queries, task.query, at.query_start + at.first, at.head, task.vectors, there);
    load_rows<Sizes::kWarps * kRows, D>(d_outputs, back.d_output, at.query_start + at.first, at.head, back.vectors, there);
    A level[kRows], delta[kRows], sum[kRows][Sizes::kColumns] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = (at.query_start + own + r) * task.heads + at.head;
        level[r] = own + r < at.queries ? in_twos(back.log_sum[row]) : A{0};
        delta[r] = own + r < at.queries ? back.delta[row] : A{0};
    }
    const int end = visible_keys(task, at, min(at.queries, at.first + Sizes::kWarps * kRows) - 1);
    for (int key = 0; key < end; key += Sizes::kTile) {
        const auto takes_part = [&](int r) { return key_takes_part(task, at, key + r); };
        load_rows<Sizes::kTile, D>(keys, task.key, at.key_start + key, at.key_head, task.vectors, takes_part);
        load_rows<Sizes::kTile, D>(values, task.value, at.key_start + key, at.key_head, task.vectors, takes_part);
        __syncthreads();  // the tiles are there, before the first one the queries, too

        if (own < at.queries) {  // a warp past the sentence's end only helps to load
            const int count = tile_rows<Sizes::kTile>(at.keys - key);
            A score[kRows], d_weight[kRows];
            products<T, D>(score, queries + warp() * kRows * Sizes::kPitch, keys, task.query.width, count);
            products<T, D>(d_weight, d_outputs + warp() * kRows * Sizes::kPitch, values, task.value.width, count);
            const KeptKeys<kRows> kept(task, at, own, key);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const BackwardWeight<A> of_key(task, at, own + r, key + lane(),
                                               lane() < Sizes::kTile && may_attend(task, at, own + r, key + lane()), kept(r),
                                               score[r], d_weight[r], level[r], delta[r]);
                weights[r * kWarp + lane()] = of_key.d_score;
            }
            __syncwarp();  // all lanes' dS are there
            update<T, D>(sum, weights, keys, count);
        }
        __syncthreads();  // no thread reads the tiles or dS any more: the next round overwrites them
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
        if (own + r < at.queries)
            write_row(back.d_query.at(at.query_start + own + r, at.head), sum[r], task.scale, task.query.width);
}

// Owns kBackwardRows rows of a head of keys a warp. Per tile of queries of each head that uses it: S^T and dP^T with a query in
// each lane, then dV += P^T dO and dK += dS^T Q.
template <class T, int D>
__global__ void __launch_bounds__((PlainSizes<T, D>::kThreads))
    attention_d_key_kernel(AttentionTask<T> task, AttentionBackwardTask<T> back) {
    using Sizes = PlainSizes<T, D>;
    using A = device::Accumulator<T>;
    constexpr int kRows = Sizes::kBackwardRows;
    static_assert(8 % kRows == 0, "a warp's keys lie in one group of eight");
    AttentionPlace at = attention_key_place(task, blockIdx.x);

    device::SharedArena arena;
    A* const keys = arena.take<A>(Sizes::kWarps * kRows * Sizes::kPitch);    // [4 kRows, kPitch]
    A* const values = arena.take<A>(Sizes::kWarps * kRows * Sizes::kPitch);  // [4 kRows, kPitch]
    A* const queries = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const d_outputs = arena.take<A>(Sizes::kTile * Sizes::kPitch);
    A* const weights = arena.take<A>(Sizes::kWarps * kRows * kWarp) + warp() * kRows * kWarp;   // this warp's (P F)^T [kRows, 32]
    A* const d_scores = arena.take<A>(Sizes::kWarps * kRows * kWarp) + warp() * kRows * kWarp;  // this warp's dS^T [kRows, 32]

    const int own = at.first + warp() * kRows;  // this warp's first key
    const auto in_sentence = [&](int r) { return at.first + r < at.keys; };
    load_rows<Sizes::kWarps * kRows, D>(keys, task.key, at.key_start + at.first, at.key_head, task.vectors, in_sentence);
    load_rows<Sizes::kWarps * kRows, D>(values, task.value, at.key_start + at.first, at.key_head, task.vectors, in_sentence);
    A d_key[kRows][Sizes::kColumns] = {}, d_value[kRows][Sizes::kColumns] = {};
    // When causal, the tile's first key is seen from query first - offset on.
    const int begin = task.causal ? max(0, at.first - at.offset()) / Sizes::kTile * Sizes::kTile : 0;
    for (const int end = at.head + task.group; at.head < end; ++at.head) {
        for (int query = begin; query < at.queries; query += Sizes::kTile) {
            const std::int64_t row = at.query_start + query;
            const auto takes_part = [&](int r) { return query_takes_part(task, at, query + r, back.log_sum); };
            load_rows<Sizes::kTile, D>(queries, task.query, row, at.head, task.vectors, takes_part);
            load_rows<Sizes::kTile, D>(d_outputs, back.d_output, row, at.head, back.vectors, takes_part);
            const bool there = lane() < Sizes::kTile && query + lane() < at.queries;
            const A log_sum = there ? back.log_sum[(row + lane()) * task.heads + at.head] : A{0};
            const A delta = there ? back.delta[(row + lane()) * task.heads + at.head] : A{0};
            __syncthreads();  // the tiles are there, before the first one the keys, too

            if (own < at.keys) {
                const int count = tile_rows<Sizes::kTile>(at.queries - query);
                A score[kRows], d_weight[kRows];
                products<T, D>(score, keys + warp() * kRows * Sizes::kPitch, queries, task.query.width, count);
                products<T, D>(d_weight, values + warp() * kRows * Sizes::kPitch, d_outputs, task.value.width, count);
                const unsigned kept = task.dropout.active() ? kept_keys(task, at, query + lane(), own / 8) : 0xffu;
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const BackwardWeight<A> of_query(
                        task, at, query + lane(), own + r, there && may_attend(task, at, query + lane(), own + r),
                        (kept >> (own + r) % 8 & 1) != 0, score[r], d_weight[r], in_twos(log_sum), delta);
                    weights[r * kWarp + lane()] = of_query.weight;
                    d_scores[r * kWarp + lane()] = of_query.d_score;
                }
                __syncwarp();  // all lanes' P and dS are there
                update<T, D>(d_value, weights, d_outputs, count);
                update<T, D>(d_key, d_scores, queries, count);
            }
            __syncthreads();  // no thread reads the tiles, P or dS any more: the next round overwrites them
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        if (own + r >= at.keys) continue;
        const std::int64_t row = at.key_start + own + r;
        if (back.d_key.data != nullptr) write_row(back.d_key.at(row, at.key_head), d_key[r], task.scale, task.query.width);
        if (back.d_value.data != nullptr) write_row(back.d_value.at(row, at.key_head), d_value[r], A{1}, task.value.width);
    }
}

}  // namespace

template <class T>
void attention_backward_plain(AttentionTask<T> task, const AttentionRules& rules, const AttentionBackwardTask<T>& back) {
    with_head_width(std::max(task.query.width, task.value.width), [&](auto width) {
        constexpr int D = std::is_same_v<T, bf16> ? 256 : width;  // narrow heads of bf16 go over tensor cores, nearly always
        using Sizes = PlainSizes<T, D>;
        using A = device::Accumulator<T>;
        constexpr int kRows = Sizes::kWarps * Sizes::kBackwardRows;
        const auto shared = [](int weights) {
            device::SharedSize size;
            size.take<A>(kRows * Sizes::kPitch).template take<A>(kRows * Sizes::kPitch);
            size.take<A>(Sizes::kTile * Sizes::kPitch).template take<A>(Sizes::kTile * Sizes::kPitch);
            for (int i = 0; i < weights; ++i) size.take<A>(kRows * kWarp);
            return size.bytes();
        };
        if (back.d_query.data != nullptr) {
            const Tensor tiles = attention_tiles(rules.query_spans, kRows);
            task.tiles = tiles.data<std::int32_t>();
            device::launch({.grid = device::blocks_for(attention_items(tiles, rules.heads), 1),
                            .block = Sizes::kThreads,
                            .shared = shared(1)},
                           attention_d_query_kernel<T, D>, task, back);
        }
        if (back.d_key.data != nullptr || back.d_value.data != nullptr) {
            const Tensor tiles = attention_tiles(rules.key_spans, kRows);
            task.tiles = tiles.data<std::int32_t>();
            device::launch({.grid = device::blocks_for(attention_items(tiles, rules.heads_of_keys()), 1),
                            .block = Sizes::kThreads,
                            .shared = shared(2)},
                           attention_d_key_kernel<T, D>, task, back);
        }
    });
}

template <class T>
void attention_delta(AttentionTask<T> task, const AttentionRules& rules, const AttentionBackwardTask<T>& back) {
    constexpr int kRows = 16;
    const Tensor tiles = attention_tiles(rules.query_spans, kRows);
    task.tiles = tiles.data<std::int32_t>();
    const unsigned blocks = device::blocks_for(attention_items(tiles, rules.heads), 1);
    device::launch({.grid = task.gaps.grid(blocks), .block = 128}, attention_delta_kernel<T>, task, back, kRows);
}

template void attention_delta<float>(AttentionTask<float>, const AttentionRules&, const AttentionBackwardTask<float>&);
template void attention_delta<double>(AttentionTask<double>, const AttentionRules&, const AttentionBackwardTask<double>&);
template void attention_delta<bf16>(AttentionTask<bf16>, const AttentionRules&, const AttentionBackwardTask<bf16>&);
template void attention_backward_plain<float>(AttentionTask<float>, const AttentionRules&, const AttentionBackwardTask<float>&);
template void attention_backward_plain<double>(AttentionTask<double>, const AttentionRules&,
                                               const AttentionBackwardTask<double>&);
template void attention_backward_plain<bf16>(AttentionTask<bf16>, const AttentionRules&, const AttentionBackwardTask<bf16>&);

}  // namespace heddle::kernels
