// A Transformer small enough to learn an artificial language in seconds.
#pragma once

#include <cstdint>
#include <span>

#include "apps/translation/batching/batches.h"
#include "nn/transformer.h"

namespace heddle::lab {

/// The first word's token, after the special tokens.
inline constexpr std::int32_t first_word = app::eos_id + 1;

/// A model without dropout and with one vocabulary for both sides, which includes the four special tokens of
/// apps/translation/vocabulary/vocabulary.h.
nn::TransformerOptions small_transformer(std::int64_t vocabulary);

/// The cross entropy of a batch: a scalar.
Variable translation_loss(const nn::Transformer& model, const app::PairBatch& batch);
/// The loss of these pairs as one batch.
Variable translation_loss(const nn::Transformer& model, std::span<const app::TokenPair> pairs);

}  // namespace heddle::lab
