// From token ids to packed batches of sentences of similar length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/spans.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Encodes both sides of every pair, on several threads; pair n stays pair n.
std::vector<TokenPair> encode_corpus(const Corpus& corpus, const Vocabulary& source, const Vocabulary& target);

struct FittedBatch;  // batch_capacity.h

/// Sentences one after another, no padding.
struct PairBatch {
    std::vector<std::int32_t> source;      ///< [source_tokens] each sentence and EOS; nothing of a text without source
    std::vector<std::int32_t> target_in;   ///< [target_tokens] BOS and each sentence: what the decoder reads
    std::vector<std::int32_t> target_out;  ///< [target_tokens] each sentence and EOS: the decoder's targets
    Spans source_spans;
    Spans target_spans;
    std::int64_t sentences = 0;
    std::int64_t source_tokens = 0;     ///< EOS included
    std::int64_t target_tokens = 0;     ///< EOS included
    std::vector<std::int64_t> indices;  ///< [sentences] which pairs these are
    /// What a step on a device reads of it, where this was computed ahead; otherwise null.
    std::shared_ptr<const FittedBatch> fitted;
};

/// Packs the pairs with these indices, in this order. Error when an index is outside, and those of a store.
PairBatch make_batch(const TokenPairs& pairs, std::span<const std::int64_t> indices);

/// Sentences [begin, end) of a batch as a batch of their own, whose rows count from 0. Error when the batch lacks them.
PairBatch part_of(const PairBatch& batch, std::int64_t begin, std::int64_t end);

/// The input of Transformer::loss().
struct BatchTensors {
    nn::Sentences source, target_in;
    Tensor target_out;  ///< i32 [target tokens]
};
/// A batch's ids as tensors on the device.
BatchTensors tensors_of(const PairBatch& batch, Device device = Device::cpu);

}  // namespace heddle::app
