// Marian's names and layouts of the tensors of a Transformer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "core/tensor.h"
#include "nn/transformer_options.h"

namespace heddle::app {

/// same: as Heddle's. transposed: [in, out] for [out, in]. row: [1, n] for [n].
enum class MarianLayout : std::uint8_t { same, transposed, row };

struct MarianTensor {
    std::string marian;  ///< "encoder_l1_self_Wq"
    std::string heddle;  ///< "encoder.layers.0.self_attention.query.weight"
    MarianLayout layout = MarianLayout::same;
    Shape shape;  ///< Heddle's

    /// Marian's shape.
    Shape marian_shape() const;
};

/// All tensors of a model of these options (TransformerOptions::complete) with all biases. `legacy_output`: an output matrix of
/// its own is decoder_ff_logit_out_W [d_model, vocabulary], as Marian wrote it before 1.9; otherwise _Wt [vocabulary, d_model].
std::vector<MarianTensor> marian_tensors(const nn::TransformerOptions& options, bool legacy_output);

/// `from` [rows, cols] into `into` [cols, rows], both f32 on the CPU.
void transpose_f32(const Tensor& from, Tensor& into);

}  // namespace heddle::app
