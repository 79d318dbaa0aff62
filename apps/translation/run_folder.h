// The files of a run:
//
//     RUN/config.toml        the effective options
//     RUN/vocab.*            the vocabularies
//     RUN/model.safetensors  the weights to use: the average of the last validations
//     RUN/best.safetensors   the weights with the best validation loss
//     RUN/saves/<update>/    the last weights and the optimizer's moments; RUN/saves/latest names the newest one
//     RUN/log.jsonl          what the log said
//     RUN/events.out.*       its numbers, for TensorBoard
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "nn/module.h"

namespace heddle::app {

class RunFolder {
  public:
    /// Error when a run is there already, unless `overwrite`. Changes nothing.
    static void check_free(const std::filesystem::path& path, bool overwrite);
    /// Makes the folder. Error when a run is there already, unless `overwrite`: then its files go (no other files do).
    RunFolder(std::filesystem::path path, bool overwrite);

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path log() const { return path_ / "log.jsonl"; }
    void write_config(std::string_view toml) const;
    /// Weights under the parameters' names, atomically.
    void write_model(const nn::NamedTensors& weights) const;
    void write_best(const nn::NamedTensors& weights) const;
    /// A new folder saves/<update>/ with weights and moments, on the disk before `latest` names it. Older saves go then.
    void save(std::int64_t update, const nn::NamedTensors& weights, const nn::NamedTensors& moments) const;

  private:
    static bool is_run(const std::filesystem::path& path);
    void remove_saves_but(const std::string& kept) const;

    std::filesystem::path path_;
};

}  // namespace heddle::app
