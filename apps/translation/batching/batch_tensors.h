// Token ids as the tensors that a model reads.
#pragma once

#include "apps/translation/batching/batches.h"
#include "nn/transformer.h"

namespace heddle::app {

/// The input of Transformer::loss().
struct BatchTensors {
    nn::Sentences source, target_in;
    Tensor target_out;  ///< i32 [target tokens]
};
BatchTensors tensors_of(const PairBatch& batch, Device device = Device::cpu);

}  // namespace heddle::app
