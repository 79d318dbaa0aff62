// Drawings of a Transformer with given options: the whole model, its encoder, a block of each stack, attention, one head (also
// causal), several heads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/picture/page.h"
#include "nn/transformer_options.h"

namespace heddle::app {

struct ModelPicture {
    std::string name;  ///< "encoder-block"; also the file's name
    picture::Figure figure;
};

/// Data flows downwards. The options must be complete (TransformerOptions::complete).
std::vector<ModelPicture> model_pictures(const nn::TransformerOptions& options);

/// Writes each to FOLDER/NAME.svg, and all to FOLDER/index.html. Makes the folder; Error when that fails.
void write_model_pictures(const std::filesystem::path& folder, const nn::TransformerOptions& options);

}  // namespace heddle::app
