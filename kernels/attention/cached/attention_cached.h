// Attention of single query rows over a cache of keys and values: decoding, token by token.
//
// A hypothesis has no copy of its keys, but the indices of the cache rows that hold them. A beam search reorders its
// hypotheses by rewriting these indices; hypotheses with a common prefix share its rows.
#pragma once

#include <optional>
#include <span>

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/device/growth.h"

namespace heddle::kernels {

struct CachedKeys {
    Columns key;                            ///< [slots, key_heads * dk]
    Columns value;                          ///< [slots, key_heads * dv]
    Tensor table;                           ///< i32 [rows, time]: row r's keys lie in the cache rows table[r, 0 .. lengths[r])
    std::span<const std::int64_t> lengths;  ///< rows numbers between 0 and time
    std::int64_t key_heads = 0;             ///< as AttentionRules::key_heads; 0: as many as heads of the query
    /// [heads or 1, n] of the query's dtype, f32 beside bf16, with n at least the longest of `lengths`: added to the scaled
    /// scores, the last number to that of a row's newest key (kernels/attention/alibi.h). Undefined: no bias.
    Tensor bias = {};
    device::Growth growth = {};  ///< of the lengths, which are equal then; on CUDA
    std::int64_t longest = 0;    ///< the lengths never grow beyond it; used with a growth
};

/// Row r: softmax(scale query_r K_r^T + bias) V_r with the keys and values that the table names; query [rows, heads * dk], result
/// [rows, heads * dv]. Its bits are those of the last row of causal attention over the same tokens without a cache. A row without
/// keys gives zeros. `scale` is 1 / sqrt(dk) by default. No backward. Error when shapes do not fit or the table leaves the cache.
/// All tensors on one device; on CUDA f32, bf16 or f64 and heads of up to 256 columns, bits within rounding, and a table that
/// leaves the cache traps the kernel.
Tensor attention_cached(const Columns& query, const CachedKeys& cache, std::int64_t heads, std::optional<double> scale = {});

// ---- the CUDA side (attention_cached.cu): arguments are checked and the result allocated by attention_cached.cpp

/// Fills output [rows, heads * dv].
HEDDLE_CUDA_FUNCTION(void attention_cached_cuda(const Columns& query, const CachedKeys& cache, std::int64_t heads, double scale,
                                                Tensor& output))

}  // namespace heddle::kernels
