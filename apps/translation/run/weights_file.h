// Files of weights with their identity in the metadata.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/safetensors.h"
#include "nn/module.h"

namespace heddle::app {

/// The model's options and the vocabularies that weights belong to. A file of weights records both, so that mixed up files or an
/// edited configuration are detected instead of giving nonsense.
struct ModelIdentity {
    std::string options;     ///< TOML lines of the options that shape the model
    std::string vocabulary;  ///< the vocabularies' digest
};

/// Writes the tensors atomically. The metadata hold the identity ("heddle.model", "heddle.vocabulary"), in a save the update
/// ("heddle.update"), and a digest of all this and the elements ("heddle.digest").
void save_weights(const std::filesystem::path& path, const nn::NamedTensors& tensors, const ModelIdentity& identity,
                  std::optional<std::int64_t> update = {});

/// Opens a file of weights for nn::load. Error when it is damaged, of another model (names the option) or vocabulary, or, in a
/// save, of another update. A file without such metadata, which another program wrote, is accepted unless an update is wanted.
SafetensorsFile open_weights(const std::filesystem::path& path, const ModelIdentity& identity,
                             std::optional<std::int64_t> update = {});

/// Error, with the file and the tensor, when a weight is NaN or infinite: results would be meaningless.
void check_finite(const SafetensorsFile& file);

}  // namespace heddle::app
