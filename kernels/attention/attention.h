// Scaled dot-product attention, multi-head, on packed batches.
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), equation 1 and section 3.2. For one sentence and one head, with
// Q [Tq, dk], K [Tk, dk], V [Tk, dv]:
//
//     S = scale Q K^T + B                S_ij = -inf where query i may not attend to key j; B: a bias, 0 without one
//     P = softmax over j of S            a row where nothing may be attended to: zeros
//     O = (P * F) V                      F_ij = 0 or 1 / (1 - p): dropout of the weights; F = 1 without it
//
// Backward, from dO, with L_i = log sum_j e^{S_ij} (saved) and P_ij = e^{S_ij - L_i} computed again:
//
//     D_i  = sum_d dO_id O_id            equals sum_j P_ij dP_ij: the softmax's row sum, without any row of P
//     dV   = (P * F)^T dO
//     dP   = (dO V^T) * F
//     dS   = P * (dP - D)
//     dQ   = scale dS K
//     dK   = scale dS^T Q
//     dB   = dS, summed over the sentences (and over the heads, when they share B)
//
// With grouped keys (Ainslie et al., "GQA", 2023) several heads of queries share the keys and values of one head: head h takes
// those of key head h / (heads / key_heads), whose dK and dV are the sums over its query heads.
//
// P is never stored as a whole: keys are read in tiles, and the softmax is updated with each (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). Memory grows with time, not with its square.
// Tiles are counted from the start of the sentence, and each query row is computed by itself in a fixed order: its bits do not
// depend on its neighbours, its place in the batch, the number of query rows, or the number of threads.
#pragma once

#include <optional>

#include "core/random.h"
#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/attention/attention_variant.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Who attends to whom, and how.
struct AttentionRules {
    Spans query_spans;  ///< the i-th query span attends to the i-th key span
    Spans key_spans;
    std::int64_t heads = 1;
    /// Heads of key and value, which divide `heads`: as many query heads share each. 0: as many as `heads`.
    std::int64_t key_heads = 0;
    /// Query i of Tq attends to keys j <= i + Tk - Tq: aligned to the end, so that a query may be the last rows of its keys.
    bool causal = false;
    /// u8 [query_time, key_time], [sentences, query_time, key_time] or [sentences or 1, heads or 1, query_time, key_time],
    /// counted from the start of the spans, at least as large as the longest of them; nonzero = may attend. Undefined: no mask.
    Tensor mask = {};
    /// [heads or 1, query_time, key_time] of the query's dtype, or f32 beside bf16: added to the scaled scores, counted as the
    /// mask's. -inf gives the weight 0. Undefined: no bias.
    Tensor bias = {};
    std::optional<double> scale = {};  ///< default 1 / sqrt(dk)
    Dropout dropout = {};              ///< of the weights; counter (key / 8, query, head, sentence)

    /// key_heads with its default put in.
    std::int64_t heads_of_keys() const { return key_heads == 0 ? heads : key_heads; }
};

struct AttentionResult {
    Tensor output;   ///< [rows, heads * dv]; rows outside the query spans are zero
    Tensor log_sum;  ///< [rows, heads]: L; +inf where nothing may be attended to, 0 outside the query spans; or undefined
};

/// query [rows, heads * dk], key [rows', key_heads * dk], value [rows', key_heads * dv], all f32 or all f64; head h owns columns
/// [h dk, (h + 1) dk). Backward needs the inputs and both results. Error when shapes, spans or dtypes do not fit together. All
/// tensors on one device; on CUDA also bf16 (log_sum is f32), and heads have up to 256 columns.
AttentionResult attention_forward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                  bool with_log_sum = true);

/// Where the gradients go: slices of the widths of query, key and value, each in a tensor with as many rows. They are
/// overwritten, rows outside the spans with zeros; other columns are left alone. Slices without a base are not computed. Slices
/// of one tensor must not overlap. `bias` is of the bias' shape, f32 for bf16 and else of their dtype; undefined: it is not
/// computed.
struct AttentionGradients {
    Columns query;
    Columns key;
    Columns value;
    Tensor bias = {};
};

/// `forward` is what attention_forward returned for the same arguments, d_output [rows, heads * dv].
void attention_backward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                        const AttentionResult& forward, const Tensor& d_output, AttentionGradients gradients);

/// P before dropout, for pictures and tests: [sentences, heads, longest query, longest key], zeros where nothing attends. Unlike
/// the functions above, this one holds all of P.
Tensor attention_weights(const Columns& query, const Columns& key, const AttentionRules& rules);

/// The plain loops of attention.cpp, which the functions above use for f64 only; f32 goes through attention_fast.cpp and
/// attention_backward_fast.cpp.
AttentionResult attention_forward_reference(const Columns& query, const Columns& key, const Columns& value,
                                            const AttentionRules& rules, bool with_log_sum = true);
void attention_backward_reference(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                                  const AttentionResult& forward, const Tensor& d_output, AttentionGradients gradients);

// ---- the CUDA side (attention.cu): arguments are checked and results allocated by attention.cpp

/// The widest head that the kernels take, dk and dv.
inline constexpr std::int64_t kWidestCudaHead = 256;

/// Fills result.output [rows, heads * dv] and, where it is defined, result.log_sum [rows, heads] (f32; f64 for f64).
HEDDLE_CUDA_FUNCTION(void attention_forward_cuda(AttentionVariant variant, const Columns& query, const Columns& key,
                                                 const Columns& value, const AttentionRules& rules, AttentionResult& result))
/// Fills those gradients that have a base.
HEDDLE_CUDA_FUNCTION(void attention_backward_cuda(AttentionVariant variant, const Columns& query, const Columns& key,
                                                  const Columns& value, const AttentionRules& rules,
                                                  const AttentionResult& forward, const Tensor& d_output,
                                                  AttentionGradients& gradients))
/// Writes P into `weights` [sentences, heads, query_time, key_time], which holds zeros.
HEDDLE_CUDA_FUNCTION(void attention_weights_cuda(const Columns& query, const Columns& key, const AttentionRules& rules,
                                                 Tensor& weights))

}  // namespace heddle::kernels
