// The CUDA side of embedding.h: arguments are checked and results allocated by embedding.cpp. A token outside the table stops the
// kernel.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/embedding/embedding.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void embedding_forward_cuda(const Tensor& table, const Tensor& tokens, const Spans& spans,
                                                 const Tensor& positions, const EmbeddingPlan& plan, const Tensor& y))
HEDDLE_CUDA_FUNCTION(void embedding_backward_table_cuda(const Tensor& dy, const Tensor& tokens, const Spans& spans,
                                                        const EmbeddingPlan& plan, const Tensor& dtable))
HEDDLE_CUDA_FUNCTION(void embedding_backward_positions_cuda(const Tensor& dy, const Spans& spans, const EmbeddingPlan& plan,
                                                            const Tensor& dpositions))

}  // namespace heddle::kernels
