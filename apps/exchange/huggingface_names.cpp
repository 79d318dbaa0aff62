#include "apps/exchange/huggingface_names.h"

#include <algorithm>
#include <utility>

namespace heddle::app {
namespace {

constexpr std::pair<std::string_view, std::string_view> parts[] = {{"self_attention.query", "self_attn.q_proj"},
                                                                   {"self_attention.key", "self_attn.k_proj"},
                                                                   {"self_attention.value", "self_attn.v_proj"},
                                                                   {"self_attention.output", "self_attn.out_proj"},
                                                                   {"self_attention_norm", "self_attn_layer_norm"},
                                                                   {"cross_attention.query", "encoder_attn.q_proj"},
                                                                   {"cross_attention.key", "encoder_attn.k_proj"},
                                                                   {"cross_attention.value", "encoder_attn.v_proj"},
                                                                   {"cross_attention.output", "encoder_attn.out_proj"},
                                                                   {"cross_attention_norm", "encoder_attn_layer_norm"},
                                                                   {"feed_forward.inner", "fc1"},
                                                                   {"feed_forward.outer", "fc2"},
                                                                   {"feed_forward_norm", "final_layer_norm"}};

/// "encoder.layers.12.", and what follows up to the last dot.
struct Place {
    std::string_view layer, part, kind;  ///< kind: ".weight" or ".bias"
};

std::optional<Place> place_of(std::string_view name) {
    const std::size_t layers = std::string_view("encoder.layers.").size();
    if (!name.starts_with("encoder.layers.") && !name.starts_with("decoder.layers.")) return std::nullopt;
    const std::size_t number = name.find('.', layers), kind = name.rfind('.');
    if (number == std::string_view::npos || kind <= number) return std::nullopt;
    return Place{name.substr(0, number + 1), name.substr(number + 1, kind - number - 1), name.substr(kind)};
}

}  // namespace

std::optional<std::string> huggingface_name_in_layer(std::string_view heddle) {
    const std::optional<Place> place = place_of(heddle);
    if (!place) return std::nullopt;
    for (const auto& [ours, theirs] : parts)
        if (ours == place->part) return "model." + std::string(place->layer) + std::string(theirs) + std::string(place->kind);
    return std::nullopt;
}

std::optional<std::string> heddle_name_in_layer(std::string_view huggingface) {
    constexpr std::string_view model = "model.";
    if (!huggingface.starts_with(model)) return std::nullopt;
    const std::optional<Place> place = place_of(huggingface.substr(model.size()));
    if (!place) return std::nullopt;
    for (const auto& [ours, theirs] : parts)
        if (theirs == place->part) return std::string(place->layer) + std::string(ours) + std::string(place->kind);
    return std::nullopt;
}

}  // namespace heddle::app
