// Token ids as the tensors that a model reads.
#pragma once

#include <span>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Sentences one after another, on the host: a model copies its input to its own device.
nn::Sentences packed(std::span<const std::vector<std::int32_t>> sentences);

/// The input of Transformer::loss().
struct BatchTensors {
    nn::Sentences source, target_in;
    Tensor target_out;  ///< i32 [target tokens]
};
BatchTensors tensors_of(const PairBatch& batch, Device device = Device::cpu);

}  // namespace heddle::app
