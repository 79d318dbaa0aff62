#include "apps/translation/batching/batch_tensors.h"

namespace heddle::app {

nn::Sentences packed(std::span<const std::vector<std::int32_t>> sentences) {
    std::vector<std::int32_t> tokens;
    std::vector<std::int64_t> lengths;
    for (const std::vector<std::int32_t>& each : sentences) {
        tokens.insert(tokens.end(), each.begin(), each.end());
        lengths.push_back(static_cast<std::int64_t>(each.size()));
    }
    return {Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size())}), Spans::packed(lengths)};
}

BatchTensors tensors_of(const Batch& batch, Device device) {
    const Shape source{batch.source_tokens}, target{batch.target_tokens};
    return {.source = {Tensor::from(batch.source, source).to(device), batch.source_spans},
            .target_in = {Tensor::from(batch.target_in, target).to(device), batch.target_spans},
            .target_out = Tensor::from(batch.target_out, target).to(device)};
}

}  // namespace heddle::app
