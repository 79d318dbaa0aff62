// One tile of backward on tensor cores, from either side: what attention_mma_backward.cu does tile after tile, and
// attention_short_backward.cu once.
#pragma once

#include "kernels/attention/detail/attention_mma.h"

namespace heddle::kernels {

/// dQ of the warp's queries [own, own + 16) += dS K, for the keys [key, key + N) in shared memory, `count` of them there (a
/// multiple of 16). `level` and `delta` are L log2(e) and D of this lane's rows.
template <int D, int N, bool Biased, int Rows, bool Held>
__device__ __forceinline__ void add_d_query(Accumulator16x8 (&d_query)[1][D / 8], const AttentionTask<bf16>& task,
                                            const AttentionPlace& at, const OwnRows<D, Rows, 1, Held>& q,
                                            const OwnRows<D, Rows, 1, Held>& d_o, const float (&level)[Accumulator16x8::kRows],
                                            const float (&delta)[Accumulator16x8::kRows], int own, int key, const bf16* keys,
                                            const bf16* values, int count = N) {  // keys, values [N, D]
    const float scale = task.scale_log2, kept_scale = task.kept_scale;
    Accumulator16x8 score[1][N / 8], d_weight[1][N / 8];
    products<D, N>(score, q, keys, count);
    if constexpr (Biased) add_bias<N>(score[0], task, at, own, key);
    products<D, N>(d_weight, d_o, values, count);
    const bool inside = task.mask == nullptr && key + N <= at.keys && (!task.causal || key + N - 1 <= own + at.offset());
    if (!inside) hide_scores<N>(score[0], task, at, own, key);
    if (task.dropout.active()) {
#pragma unroll
        for (int n = 0; n < N / 8; n += 2) {
            const unsigned kept = kept_in_rows(task, at, own, key / 8 + n);
#pragma unroll
            for (int e = 0; e < 2 * Accumulator16x8::kElements; ++e)
                d_weight[0][n + e / 4][e % 4] =
                    device::product(d_weight[0][n + e / 4][e % 4], (kept >> e & 1) != 0 ? kept_scale : 0);
        }
    }
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            const int s = Accumulator16x8::slot(e);
            score[0][n][e] =
                device::power_of_two(device::multiply_add(score[0][n][e], scale, -level[s])) * (d_weight[0][n][e] - delta[s]);
        }
    FragmentA weights[1][N / 16];
    pack_weights<N>(weights[0], score[0]);
    update<D, N>(d_query, weights, keys, count);
}

/// dV and dK of the warp's keys [own, own + 16) += (P F)^T dO and dS^T Q, for the queries [query, query + N) in shared memory,
/// `count` of them there (a multiple of 16). `log_sum` and `delta` [N] are L and D of these queries.
template <int D, int N, bool Biased, int Rows, bool Held>
__device__ __forceinline__ void add_d_key(Accumulator16x8 (&d_key)[1][D / 8], Accumulator16x8 (&d_value)[1][D / 8],
                                          const AttentionTask<bf16>& task, const AttentionPlace& at,
                                          const OwnRows<D, Rows, 1, Held>& k, const OwnRows<D, Rows, 1, Held>& v,
                                          const float* log_sum, const float* delta, int own, int query, const bf16* queries,
                                          const bf16* d_outputs, int count = N) {  // queries, d_outputs [N, D]
    const float scale = task.scale_log2, kept_scale = task.kept_scale;
    Accumulator16x8 score[1][N / 8], d_weight[1][N / 8];
    products<D, N>(score, k, queries, count);
    if constexpr (Biased) add_bias_transposed<N>(score[0], task, at, own, query);
    products<D, N>(d_weight, v, d_outputs, count);
    const bool inside = task.mask == nullptr && query + N <= at.queries && own + 16 <= at.keys &&
                        (!task.causal || own + 15 <= query + at.offset());
    if (!inside) hide_scores_transposed<N>(score[0], task, at, own, query);
    unsigned kept = ~0u;  // bit 4 n + element
    if (task.dropout.active()) {
        kept = 0;
#pragma unroll
        for (int n = 0; n < N / 8; n += 2) kept |= kept_in_columns(task, at, query + 8 * n, own / 8) << (4 * n);
    }
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int e = 0; e < Accumulator16x8::kElements; ++e) {
            if (8 * n >= count) continue;
            const int col = 8 * n + Accumulator16x8::col(e);
            const float p =
                device::power_of_two(device::multiply_add(score[0][n][e], scale, -(log_sum[col] * static_cast<float>(kLog2E))));
            const float factor = (kept >> (4 * n + e) & 1) != 0 ? kept_scale : 0;
            score[0][n][e] = p * factor;
            d_weight[0][n][e] = p * device::multiply_add(factor, d_weight[0][n][e], -delta[col]);
        }
    FragmentA weights[1][N / 16];
    pack_weights<N>(weights[0], score[0]);
    update<D, N>(d_value, weights, d_outputs, count);
    pack_weights<N>(weights[0], d_weight[0]);
    update<D, N>(d_key, weights, queries, count);
}

}  // namespace heddle::kernels
