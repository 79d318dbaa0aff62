// A language model: a decoder that reads the text so far and gives the probability of each next token.
//
//     p(text) = prod_t p(token t | the begin mark, tokens 1 .. t - 1)
//
// Radford et al., "Improving language understanding by generative pre-training" (2018): the decoder of the paper without the
// attention to an encoder.
#pragma once

#include "nn/transformer.h"

namespace heddle::nn {

/// Texts as a language model learns them.
struct TextBatch {
    Sentences read;  ///< each text behind the begin mark
    Tensor written;  ///< i32 [rows of read]: the token after each of these, after the last one the end mark
};
/// The texts one after another, without padding.
TextBatch text_batch(std::span<const Tokens> texts, const Marks& marks = {});

/// A Transformer of decoder layers alone: the same layers, cache, searches and scores, without a source.
///
///     nn::LanguageModel model(27, {.layers = 1, .d_model = 16, .heads = 4, .d_ff = 64});
///     model.loss(nn::text_batch(texts)).backward();
///     generate(model, prompt, {.top_k = 10, .seed = 1});            // nn/search/search.h
///
/// Parameters: `embedding.weight`, `positions.weight` (learned positions), `decoder.layers.0.self_attention.query.weight` ...,
/// `output.weight` and `output.bias` as the Transformer's.
class LanguageModel : public Transformer {
  public:
    /// `options`: the number of layers is `layers`; vocabularies, encoder_layers and decoder_only are set here. Error as
    /// TransformerOptions::complete.
    LanguageModel(std::int64_t vocabulary, const TransformerOptions& options = {}, std::optional<std::uint64_t> seed = 1,
                  DType dtype = DType::f32);

    std::string_view kind() const override { return "LanguageModel"; }

    /// Logits of the token after each one that is read, [rows, vocabulary]. Rows outside the spans are unspecified.
    Variable forward(const Sentences& read) const;
    Variable operator()(const Sentences& read) const { return forward(read); }
    /// Mean cross entropy of the tokens written, a scalar; the logits are never all in memory.
    Variable loss(const TextBatch& batch, const ops::LossOptions& options = {}, Tensor* statistics = nullptr) const;
    using Transformer::loss;

    /// A cache for this many texts, initially with one hypothesis each: room for `hypotheses` at once (0: as many as texts) and
    /// `length` tokens each, the begin mark included. step() reads the next token of each.
    DecoderCache start(std::int64_t texts, std::int64_t length, std::int64_t hypotheses = 0) const;
};

}  // namespace heddle::nn
