// MarianMT models of Hugging Face's transformers (https://github.com/huggingface/transformers, models/marian), as opus-mt's: a
// folder with config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm and vocab.json.
//
//     model.shared.weight [V, d], or model.encoder.embed_tokens.weight and model.decoder.embed_tokens.weight
//     lm_head.weight [V, d] if it is not tied, final_logits_bias [1, V]
//     model.{encoder,decoder}.layers.N.{self_attn,encoder_attn}.{q,k,v,out}_proj.{weight,bias}, fc1, fc2, and their norms
//
// They are post-norm with eps 1e-5. Positions are sines, then cosines; a stored table replaces them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/model_files.h"

namespace heddle::app {

/// Whether the folder's config.json says so.
bool is_huggingface(const std::filesystem::path& folder);

/// Reads a model; nothing in its files is executed. They are untrusted: Error, with the folder and the file, option or tensor,
/// for damaged ones and for a model that Heddle's Transformer is not.
ExchangedModel read_huggingface(const std::filesystem::path& folder);

/// Error, with `name` and the option, for a model that MarianMT cannot be. Columns of d_model are put in another order where
/// Heddle's positions alternate.
Export to_huggingface(const ExchangedModel& model, ExportDType dtype, std::string_view name);

}  // namespace heddle::app
