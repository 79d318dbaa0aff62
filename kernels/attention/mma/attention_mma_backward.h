// One tile of backward on tensor cores, from either side: what attention_mma_backward.cu does tile after tile, and
// attention_short_backward.cu once.
#pragma once

#include "kernels/attention/mma/attention_mma.h"

namespace heddle::kernels {

/// Which of this lane's weights in a row of N / 8 tiles dropout keeps: bit 4 tile + element. `two_tiles(n)` says it for the tiles
/// n and n + 1. One call after the other: four of Philox side by side would take the registers that keep a tile's scores.
template <int N, class TwoTiles>
__device__ __forceinline__ unsigned kept_weights(const AttentionTask<bf16>& task, const TwoTiles& two_tiles) {
    static_assert(N <= 64, "32 bits for 4 elements of each tile");
    if (!task.dropout.active()) return ~0u;
    unsigned kept = 0;
#pragma unroll 1
    for (int n = 0; n < N / 8; n += 2) kept |= two_tiles(n) << (4 * n);
    return kept;
}

/// dQ of the warp's queries [own, own + 16 M) += dS K, for the keys [key, key + N) in shared memory, `count` of them there (a
/// multiple of 16). `level` and `delta` are L log2(e) and D of this lane's rows.
template <int D, int N, bool Biased, int Rows, int M, int Held>
__device__ __forceinline__ void add_d_query(Accumulator16x8 (&d_query)[M][D / 8], const AttentionTask<bf16>& task,
                                            const AttentionPlace& at, const OwnRows<D, Rows, M, Held>& q,
                                            const OwnRows<D, Rows, M, Held>& d_o, const float (&level)[M][Accumulator16x8::kRows],
                                            const float (&delta)[M][Accumulator16x8::kRows], int own, int key, const bf16* keys,
                                            const bf16* values, int count = N) {  // keys, values [N, D]
    const float scale = task.scale_log2, kept_scale = task.kept_scale;
    Accumulator16x8 score[M][N / 8], d_weight[M][N / 8];
    products<D, N>(score, q, keys, count);
    products<D, N>(d_weight, d_o, values, count);
    const bool inside = task.mask == nullptr && key + N <= at.keys && (!task.causal || key + N - 1 <= own + at.offset());
    FragmentA weights[M][N / 16];
#pragma unroll
    for (int m = 0; m < M; ++m) {
        if constexpr (Biased) add_bias<N>(score[m], task, at, own + 16 * m, key);
        if (!inside) hide_scores<N>(score[m], task, at, own + 16 * m, key);
        if (task.dropout.active()) {
            const unsigned kept = kept_weights<N>(task, [&](int n) { return kept_in_rows(task, at, own + 16 * m, key / 8 + n); });
#pragma unroll
            for (int n = 0; n < N / 8; ++n)
#pragma unroll
                for (int e = 0; e < Accumulator16x8::kElements; ++e)
                    d_weight[m][n][e] = device::product(d_weight[m][n][e], (kept >> (4 * n + e) & 1) != 0 ? kept_scale : 0);
        }
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < Accumulator16x8::kElements; ++e) {
                const int s = Accumulator16x8::slot(e);
                score[m][n][e] = device::power_of_two(device::multiply_add(score[m][n][e], scale, -level[m][s])) *
                                 (d_weight[m][n][e] - delta[m][s]);
            }
        pack_weights<N>(weights[m], score[m]);
    }
    update<D, N>(d_query, weights, keys, count);
}

/// dV and dK of the warp's keys [own, own + 16 M) += (P F)^T dO and dS^T Q, for the queries [query, query + N) in shared memory,
/// `count` of them there (a multiple of 16). `log_sum` and `delta` [N] are L and D of these queries.
template <int D, int N, bool Biased, int Rows, int M, int HeldKeys, int HeldValues>
__device__ __forceinline__ void add_d_key(Accumulator16x8 (&d_key)[M][D / 8], Accumulator16x8 (&d_value)[M][D / 8],
                                          const AttentionTask<bf16>& task, const AttentionPlace& at,
                                          const OwnRows<D, Rows, M, HeldKeys>& k, const OwnRows<D, Rows, M, HeldValues>& v,
                                          const float* log_sum, const float* delta, int own, int query, const bf16* queries,
                                          const bf16* d_outputs, int count = N) {  // queries, d_outputs [N, D]
    const float scale = task.scale_log2, kept_scale = task.kept_scale;
    Accumulator16x8 score[M][N / 8], d_weight[M][N / 8];
    products<D, N>(score, k, queries, count);
    products<D, N>(d_weight, v, d_outputs, count);
    const bool inside = task.mask == nullptr && query + N <= at.queries && own + 16 * M <= at.keys &&
                        (!task.causal || own + 16 * M - 1 <= query + at.offset());
    FragmentA weights[M][N / 16], d_scores[M][N / 16];
#pragma unroll
    for (int m = 0; m < M; ++m) {
        if constexpr (Biased) add_bias_transposed<N>(score[m], task, at, own + 16 * m, query);
        if (!inside) hide_scores_transposed<N>(score[m], task, at, own + 16 * m, query);
        const unsigned kept =
            kept_weights<N>(task, [&](int n) { return kept_in_columns(task, at, query + 8 * n, own / 8 + 2 * m); });
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < Accumulator16x8::kElements; ++e) {
                if (8 * n >= count) continue;
                const int col = 8 * n + Accumulator16x8::col(e);
                const float p = device::power_of_two(
                    device::multiply_add(score[m][n][e], scale, -(log_sum[col] * static_cast<float>(kLog2E))));
                const float factor = (kept >> (4 * n + e) & 1) != 0 ? kept_scale : 0;
                score[m][n][e] = p * factor;
                d_weight[m][n][e] = p * device::multiply_add(factor, d_weight[m][n][e], -delta[col]);
            }
        pack_weights<N>(weights[m], score[m]);
        pack_weights<N>(d_scores[m], d_weight[m]);
    }
    update<D, N>(d_value, weights, d_outputs, count);
    update<D, N>(d_key, d_scores, queries, count);
}

}  // namespace heddle::kernels
