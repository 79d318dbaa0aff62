// Attention with linear biases, as tensors that attention and its cache add to their scores.
//
//     B_hij = -m_h |i - j|        m_h = 2^(-8 h / H) for the heads h = 1 .. H, where H is a power of two
//
// Source: Press, Smith and Lewis, "Train short, test long: attention with linear biases enables input length extrapolation"
// (2022), section 3. Otherwise the first heads have the slopes of the largest power of two P below H, and the others every second
// one of 2 P heads, as the authors' program has it.
//
// The paper's bias is that of causal attention, where j <= i; the distance |i - j| serves sentences that are read as a whole,
// too.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace heddle::kernels {

/// m_h for each of `heads` heads.
std::vector<double> alibi_slopes(std::int64_t heads);
/// B [heads, time, time], f32 or f64: AttentionRules::bias for sentences of up to `time` tokens.
Tensor alibi_bias(std::int64_t heads, std::int64_t time, DType dtype);
/// B's last row [heads, time]: CachedKeys::bias for up to `time` keys. The numbers are those of alibi_bias.
Tensor alibi_cached_bias(std::int64_t heads, std::int64_t time, DType dtype);

}  // namespace heddle::kernels
