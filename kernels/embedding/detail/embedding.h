// What stands below embedding.cpp: the vectorised CPU path and the CUDA side.
#pragma once

#include "core/random.h"
#include "kernels/device/declare.h"
#include "kernels/embedding/embedding.h"
#include "kernels/level.h"

namespace heddle::kernels {

// ---- the vectorised CPU path (embedding_fast.cpp)

/// y[c] = (scale table[c] + position[c]) factor[row, c] for c < cols; `position` may be null.
HEDDLE_DECLARE_LEVELS(void embed_row(const float* table, const float* position, float scale, float* y, std::int64_t row,
                                     std::int64_t cols, const Dropout& dropout))

// ---- the CUDA side: arguments are checked and results allocated by embedding.cpp

HEDDLE_CUDA_FUNCTION(void embedding_forward_cuda(const Tensor& table, const Tensor& tokens, const Spans& spans,
                                                 const Tensor& positions, const EmbeddingPlan& plan, Tensor& y))
/// `order` [2, rows] or undefined.
HEDDLE_CUDA_FUNCTION(void embedding_backward_table_cuda(const Tensor& dy, const Tensor& tokens, const Spans& spans,
                                                        const EmbeddingPlan& plan, const Tensor& order, Tensor& dtable))
HEDDLE_CUDA_FUNCTION(void embedding_backward_positions_cuda(const Tensor& dy, const Spans& spans, const EmbeddingPlan& plan,
                                                            Tensor& dpositions))

}  // namespace heddle::kernels
