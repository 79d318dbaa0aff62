#include "nn/language_model.h"

#include <algorithm>

namespace heddle::nn {
namespace {

TransformerOptions of_decoder(std::int64_t vocabulary, const TransformerOptions& options) {
    TransformerOptions all = options.with_vocabularies(vocabulary, vocabulary);
    all.decoder_only = true;
    return all;
}

}  // namespace

TextBatch text_batch(std::span<const Tokens> texts, const Marks& marks) {
    std::vector<Tokens> read, written;
    for (const Tokens& text : texts) {
        read.emplace_back(1, marks.begin).insert(read.back().end(), text.begin(), text.end());
        written.emplace_back(text).push_back(marks.end);
    }
    return {.read = packed(read), .written = packed(written).tokens};
}

LanguageModel::LanguageModel(std::int64_t vocabulary, const TransformerOptions& options, std::optional<std::uint64_t> seed,
                             DType dtype)
    : Transformer(of_decoder(vocabulary, options), seed, dtype) {}

Variable LanguageModel::forward(const Sentences& read) const {
    return ops::linear(decode(read, {}, {}), output_weight(), output_bias());
}

Variable LanguageModel::loss(const TextBatch& batch, const ops::LossOptions& options, Tensor* statistics) const {
    return loss({}, batch.read, batch.written, options, statistics);
}

DecoderCache LanguageModel::start(std::int64_t texts, std::int64_t length, std::int64_t hypotheses) const {
    return start_decoding({}, Spans::equal(texts, 0), std::max(texts, hypotheses), length);
}

}  // namespace heddle::nn
