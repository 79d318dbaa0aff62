// The options of a Transformer.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/ops.h"
#include "core/enum_words.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"

namespace heddle::nn {

/// Position of layer normalisation: before each sublayer (Xiong et al. 2020) or after the residual add (the paper).
enum class NormPlace : std::uint8_t { pre, post };
constexpr auto enum_words(NormPlace) { return words_for<NormPlace>({{NormPlace::pre, "pre"}, {NormPlace::post, "post"}}); }
/// Which of the three embeddings (source, target, output projection) are one matrix; `embeddings`: source and target.
enum class Tie : std::uint8_t { all, embeddings, target, none };
constexpr auto enum_words(Tie) {
    return words_for<Tie>({{Tie::all, "all"}, {Tie::embeddings, "embeddings"}, {Tie::target, "target"}, {Tie::none, "none"}});
}
/// What decoder layer i attends to: the encoder's result, or the output of the encoder's layer i.
enum class MemoryFrom : std::uint8_t { last, layer };
constexpr auto enum_words(MemoryFrom) {
    return words_for<MemoryFrom>({{MemoryFrom::last, "last"}, {MemoryFrom::layer, "layer"}});
}

/// The begin mark's place in the vocabularies of `heddle train`.
inline constexpr std::int32_t begin_mark_id = 2;
/// The tokens that begin and end a sentence. The defaults are those of `heddle train`.
struct Marks {
    std::int32_t begin = begin_mark_id;  ///< the decoder reads it first
    std::int32_t end = 3;                ///< the decoder writes it last
};
/// The output bias of a token that is never to be written: its probability is 0, and so are its gradients. Label smoothing leaves
/// out such tokens (kernels/cross_entropy/cross_entropy.h).
inline constexpr double forbidden_bias = -1e9;

/// Options that no model can have together.
enum class OptionConflict : std::uint8_t {
    none,
    heads_of_width,
    key_heads,
    zero_start_without_bias,
    unpaired_layers,
    memory_without_encoder,
    odd_rotary_head
};

/// The shape of a Transformer. The command line, config.toml and the layers all read this struct; a field that is not set gets
/// the default that is named beside it.
struct TransformerOptions {
    /// A language model: a decoder without encoder and cross-attention. It has one vocabulary, the target's.
    bool decoder_only = false;
    std::int64_t source_vocabulary = 0;
    std::int64_t target_vocabulary = 0;               ///< equal to source_vocabulary with Tie::all
    std::int64_t layers = 3;                          ///< of encoder and decoder, where the next two say nothing else
    std::optional<std::int64_t> encoder_layers = {};  ///< default: layers; a language model has none
    std::optional<std::int64_t> decoder_layers = {};  ///< default: layers
    std::int64_t d_model = 128;
    std::int64_t heads = 4;
    std::optional<std::int64_t> head_dim = {};  ///< default: d_model / heads
    /// Heads of keys and values in every attention, which divide `heads`: as many query heads share each (grouped-query
    /// attention, Ainslie et al. 2023; 1: multi-query). Default: heads.
    std::optional<std::int64_t> key_heads = {};
    std::int64_t d_ff = 512;
    bool bias = true;                         ///< of all projections, unless overridden by the next two
    std::optional<bool> attention_bias = {};  ///< of query, key, value and output in attention; default: bias
    /// Of the output projection; default: bias when it has a weight of its own, true when tied with zero_start.
    std::optional<bool> output_bias = {};
    double dropout = 0.1;                          ///< of the embedding sums and of each sublayer's output
    std::optional<double> attention_dropout = {};  ///< default: dropout
    std::optional<double> ffn_dropout = {};        ///< default: dropout
    NormPlace norm = NormPlace::pre;
    std::optional<bool> final_norm = {};  ///< a norm after the last layer of each stack; default: with NormPlace::pre
    NormKind norm_kind = NormKind::layer;
    double norm_eps = 1e-5;
    ops::Activation activation = ops::Activation::relu;
    /// Feed-forward layers multiply the activation of one projection by another (ops::gated_feed_forward): SwiGLU with silu.
    bool gated = false;
    Positions positions = Positions::sinusoidal;
    std::int64_t position_table = 512;  ///< rows of the position tables; computed ones grow when longer sentences come
    std::optional<Tie> tie = {};        ///< default: all
    MemoryFrom memory = MemoryFrom::last;
    bool scale_embeddings = true;  ///< times sqrt(d_model), section 3.4 of the paper
    /// The begin mark reads as zeros: its row of the target embedding starts as zeros and gets no gradient from being read. A
    /// tied output projection then has a bias, in which the begin mark's is forbidden_bias, so that the row stays zero.
    bool zero_start = false;
    EmbeddingInit embedding_init = EmbeddingInit::scaled;
    bool checkpoint_layers = false;  ///< recompute each layer in backward instead of keeping its intermediate values

    /// The first conflict among the options; `none` for those that fit together. The vocabularies play no part.
    OptionConflict conflict() const;
    /// The same with the defaults filled in. Error for a conflict.
    TransformerOptions with_defaults() const;
    TransformerOptions with_vocabularies(std::int64_t source, std::int64_t target) const;
    /// with_defaults(). Error, too, when an extent is not positive or so large (over 2^24, vocabularies over 2^31, a position
    /// table of over 2^27 elements) that no model has it and products of extents could overflow, a dropout leaves [0, 1), or the
    /// vocabularies cannot be tied.
    TransformerOptions complete() const;
    /// Number of weights without biases and norms, a lower bound for a file of such a model. For complete() options.
    double matrix_elements() const;
    /// The maximum length of a sentence: the number of rows of learned tables; empty for computed positions, which have no limit.
    std::optional<std::int64_t> longest_sentence() const;
    /// Whether source and target read one embedding.
    bool one_embedding() const { return decoder_only || tie.value_or(Tie::all) == Tie::all || tie == Tie::embeddings; }
    /// Whether the output projection is the target embedding's matrix.
    bool output_is_tied() const { return tie.value_or(Tie::all) == Tie::all || tie == Tie::target; }
};

}  // namespace heddle::nn
