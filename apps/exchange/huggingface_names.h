// The names of tensors in MarianMT and in Heddle. Used by the reader and the writer only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::app {

/// "model.encoder.layers.0.self_attn.q_proj.weight" for "encoder.layers.0.self_attention.query.weight"; nothing for a tensor
/// outside of the layers.
std::optional<std::string> huggingface_name_in_layer(std::string_view heddle);
/// The way back.
std::optional<std::string> heddle_name_in_layer(std::string_view huggingface);

}  // namespace heddle::app
