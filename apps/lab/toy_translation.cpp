#include "apps/lab/toy_translation.h"

#include <numeric>
#include <vector>

#include "apps/translation/batching/batches.h"

namespace heddle::lab {

nn::TransformerOptions small_transformer(std::int64_t vocabulary) {
    nn::TransformerOptions options;
    options.source_vocabulary = options.target_vocabulary = vocabulary;
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 32;
    options.heads = 2;
    options.d_ff = 64;
    options.dropout = 0;
    return options;
}

Variable translation_loss(const nn::Transformer& model, const app::PairBatch& batch) {
    const app::BatchTensors tensors = app::tensors_of(batch);
    return model.loss(tensors.source, tensors.target_in, tensors.target_out);
}

Variable translation_loss(const nn::Transformer& model, std::span<const app::TokenPair> pairs) {
    std::vector<std::int64_t> all(pairs.size());
    std::iota(all.begin(), all.end(), 0);
    return translation_loss(model, app::make_batch(pairs, all));
}

}  // namespace heddle::lab
