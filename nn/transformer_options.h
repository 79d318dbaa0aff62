// What a Transformer is made of.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/ops.h"
#include "nn/embedding.h"

namespace heddle::nn {

/// Where layer normalisation stands: before each sublayer (Xiong et al. 2020) or after the residual add (the paper).
enum class NormPlace : std::uint8_t { pre, post };
/// Which of the three embeddings (source, target, output projection) are one matrix.
enum class Tie : std::uint8_t { all, target, none };

struct TransformerOptions {
    std::int64_t source_vocabulary = 0;
    std::int64_t target_vocabulary = 0;  ///< equal to source_vocabulary with Tie::all
    std::int64_t encoder_layers = 3;
    std::int64_t decoder_layers = 3;
    std::int64_t d_model = 128;
    std::int64_t heads = 4;
    std::int64_t head_dim = 0;  ///< 0: d_model / heads
    std::int64_t d_ff = 512;
    bool bias = true;                              ///< of all projections; the output projection has one only when it is not tied
    double dropout = 0.1;                          ///< of the embedding sums and of each sublayer's output
    std::optional<double> attention_dropout = {};  ///< default: dropout
    std::optional<double> ffn_dropout = {};        ///< default: dropout
    NormPlace norm = NormPlace::pre;
    std::optional<bool> final_norm = {};  ///< a norm after the last layer of each stack; default: with NormPlace::pre
    double norm_eps = 1e-5;
    ops::Activation activation = ops::Activation::relu;
    Positions positions = Positions::sinusoidal;
    std::int64_t position_table = 512;  ///< rows of the position tables; sinusoidal ones grow when longer sentences come
    Tie tie = Tie::all;
    bool checkpoint_layers = false;  ///< compute each layer again in backward instead of keeping its inside

    /// The same with every default put in. Error when an extent is not positive, heads do not divide d_model (head_dim 0), a
    /// dropout leaves [0, 1), or the vocabularies cannot be tied.
    TransformerOptions complete() const;
    /// The most tokens that a sentence may have: the rows of learned tables; nothing for sinusoidal positions, which set no limit.
    std::optional<std::int64_t> longest_sentence() const;
};

}  // namespace heddle::nn
