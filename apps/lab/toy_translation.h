// A Transformer small enough to learn an artificial language in seconds.
#pragma once

#include <cstdint>
#include <span>

#include "apps/translation/batching/batches.h"
#include "nn/transformer.h"

namespace heddle::lab {

/// The first token that is a word, after the special ones.
inline constexpr std::int32_t first_word = app::eos_id + 1;

/// One vocabulary for both sides, the four special tokens of apps/translation/vocabulary/vocabulary.h included; without dropout.
nn::TransformerOptions small_transformer(std::int64_t vocabulary);

/// Cross entropy of a batch, a scalar.
Variable translation_loss(const nn::Transformer& model, const app::Batch& batch, const ops::LossOptions& options = {});
/// All pairs, in their order.
app::Batch one_batch(std::span<const app::TokenPair> pairs);
/// Of these pairs in one batch.
Variable translation_loss(const nn::Transformer& model, std::span<const app::TokenPair> pairs);

}  // namespace heddle::lab
