#include "apps/translation/batching/batch_tensors.h"

#include "kernels/embedding/embedding.h"

namespace heddle::app {

BatchTensors tensors_of(const PairBatch& batch, Device device) {
    const auto sentences = [&](const std::vector<std::int32_t>& tokens, const Spans& spans) {
        nn::Sentences result{Tensor::from(tokens, {spans.rows()}).to(device), spans};
        if (device == Device::cuda)
            result.order = Tensor::from(kernels::rows_by_token(tokens, spans), {2, spans.rows()}).to(device);
        return result;
    };
    return {.source = sentences(batch.source, batch.source_spans),
            .target_in = sentences(batch.target_in, batch.target_spans),
            .target_out = Tensor::from(batch.target_out, {batch.target_tokens}).to(device)};
}

}  // namespace heddle::app
