// The way of a token into the model: its row of the table, scaled, plus its position, with dropout.
//
//   forward   y[i] = (scale table[tokens[i]] + positions[p(i)]) * factor[i],   p(i) = first_position + i - start of i's span
//   backward  e[i] = dy[i] * factor[i]
//             dtable[t]    += scale sum of e[i] over the rows i with tokens[i] = t, in ascending order, unless t is `untrained`
//             dpositions[p] +=      sum of e[i] over the rows i with p(i) = p, in the order of the sentences
//
// factor as in kernels/dropout, for row i of y. Rows outside the spans become zero and get no gradient.
// Source: Vaswani et al., "Attention is all you need" (2017), sections 3.4 (scale), 3.5 (positions), 5.4 (dropout).
#pragma once

#include <span>
#include <vector>

#include "core/random.h"
#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/device/growth.h"
#include "kernels/level.h"

namespace heddle::kernels {

struct EmbeddingPlan {
    double scale = 1;
    std::int64_t first_position = 0;  ///< the position of each span's first row
    Dropout dropout = {};
    std::int32_t untrained = -1;  ///< lookups of this token give the table no gradient; -1: there is none
    device::Growth growth = {};   ///< of first_position, forward on CUDA; a position beyond the table then counts as its last one
};

/// table [vocabulary, d_model] f32 or f64, on CUDA bf16 as well; tokens i32 [rows]; positions [n, d_model] of the table's dtype,
/// or undefined. Result [rows, d_model]. Error when a token within a span lies outside the table, or a position outside its own;
/// on CUDA a token outside the table stops the kernel, and its error comes with the next call that waits for the device.
Tensor embedding_forward(const Tensor& table, const Tensor& tokens, const Spans& spans, const Tensor& positions,
                         const EmbeddingPlan& plan);
/// Adds the gradients for dy [rows, d_model] to `dtable` and `dpositions`; either may be null. They have dy's dtype, or f32 where
/// dy is bf16. `order` is rows_by_token() of the same tokens and spans as a tensor beside them, or undefined: CUDA then sorts.
void embedding_backward(const Tensor& dy, const Tensor& tokens, const Spans& spans, const EmbeddingPlan& plan, Tensor* dtable,
                        Tensor* dpositions, const Tensor& order = {});

/// The order in which CUDA sums the table's gradient, i32 [2, rows]: the tokens of all rows, ascending, then the row that each of
/// them has, equal tokens in ascending order. Rows outside the spans come last, with -1. Who makes a batch on the host sorts it
/// there for nothing; on the device it takes a dozen launches. Error when a token is negative.
std::vector<std::int32_t> rows_by_token(std::span<const std::int32_t> tokens, const Spans& spans);

/// Where the sines stand, and how the frequencies fall from column to column.
enum class Sines : std::uint8_t { alternate, first, first_to_the_end };
/// The table of sines and cosines [positions, d_model], f32 or f64:
///   alternate         table[p, 2 i] = sin(p / 10000^(2 i / d_model)),  table[p, 2 i + 1] = cos(p / 10000^(2 i / d_model))
///   first             table[p, i] = sin(p / 10000^(2 i / d_model)) for i < d_model / 2, then the cosines in the same order
///   first_to_the_end  the same with 10000^(i / (d_model / 2 - 1)): the last frequency is 1 / 10000 itself
/// Row 0 is 0, 1, 0, 1, ... or zeros, then ones. Sources: Vaswani et al. (2017), section 3.5, has the frequencies of the first
/// two; `first` is the order of Hugging Face's Marian models, `first_to_the_end` the table of tensor2tensor and of Marian. Error
/// when the sines stand first and d_model is odd.
Tensor sinusoidal_positions(std::int64_t positions, std::int64_t d_model, DType dtype, Sines sines = Sines::alternate);

// ---- the vectorised CPU path (embedding_fast.cpp)

/// y[c] = (scale table[c] + position[c]) factor[row, c] for c < cols; `position` may be null.
HEDDLE_DECLARE_LEVELS(void embed_row(const float* table, const float* position, float scale, float* y, std::int64_t row,
                                     std::int64_t cols, const Dropout& dropout))

// ---- the CUDA side (embedding.cu, embedding_backward.cu): arguments are checked and results allocated by embedding.cpp

HEDDLE_CUDA_FUNCTION(void embedding_forward_cuda(const Tensor& table, const Tensor& tokens, const Spans& spans,
                                                 const Tensor& positions, const EmbeddingPlan& plan, Tensor& y))
/// `order` [2, rows] or undefined.
HEDDLE_CUDA_FUNCTION(void embedding_backward_table_cuda(const Tensor& dy, const Tensor& tokens, const Spans& spans,
                                                        const EmbeddingPlan& plan, const Tensor& order, Tensor& dtable))
HEDDLE_CUDA_FUNCTION(void embedding_backward_positions_cuda(const Tensor& dy, const Spans& spans, const EmbeddingPlan& plan,
                                                            Tensor& dpositions))

}  // namespace heddle::kernels
