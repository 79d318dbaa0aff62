// Drawings of a Transformer as its options describe it: the whole model, its encoder alone, a block of each stack, attention, one
// head (also a causal one), several heads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/picture/page.h"
#include "nn/transformer_options.h"

namespace heddle::app {

struct ModelPicture {
    std::string name;  ///< "encoder-block": of its file, too
    picture::Figure figure;
};

/// Data flows downwards. The options must be complete (TransformerOptions::complete).
std::vector<ModelPicture> model_pictures(const nn::TransformerOptions& options);

/// Writes each of them to FOLDER/NAME.svg, and all of them to FOLDER/index.html; the folder is made. Error when it cannot be.
void write_model_pictures(const std::filesystem::path& folder, const nn::TransformerOptions& options);

}  // namespace heddle::app
