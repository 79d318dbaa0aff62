// The names of tensors and activations in MarianMT and in Heddle. Used by the reader and the writer only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nn/transformer_options.h"

namespace heddle::app {

/// "model.encoder.layers.0.self_attn.q_proj.weight" for "encoder.layers.0.self_attention.query.weight"; nothing for a tensor
/// outside of the layers.
std::optional<std::string> huggingface_name_in_layer(std::string_view heddle);
/// The way back.
std::optional<std::string> heddle_name_in_layer(std::string_view huggingface);

/// config.json's word for an activation; of several the first one is written.
using HuggingFaceActivation = std::pair<std::string_view, ops::Activation>;
inline constexpr HuggingFaceActivation huggingface_activations[] = {{"relu", ops::Activation::relu},
                                                                    {"gelu", ops::Activation::gelu},
                                                                    {"gelu_python", ops::Activation::gelu},
                                                                    {"gelu_new", ops::Activation::gelu_tanh},
                                                                    {"gelu_pytorch_tanh", ops::Activation::gelu_tanh},
                                                                    {"swish", ops::Activation::silu},
                                                                    {"silu", ops::Activation::silu}};

}  // namespace heddle::app
