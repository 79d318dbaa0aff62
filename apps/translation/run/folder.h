// The files of a run:
//
//     RUN/config.toml        the effective options
//     RUN/vocab.*            the vocabularies, with their token maps (vocabulary/token_map.h)
//     RUN/model.safetensors  the weights to use: the average of the last validations, or the last weights
//     RUN/best.safetensors   the weights with the best validation loss
//     RUN/search.toml        the length penalty to translate with, for example (apps/command/run_search.h)
//     RUN/model-<update>.safetensors, RUN/best-<update>.safetensors    the same of a run that went back, up to its last save
//     RUN/saves/<update>/    what a run resumes from (save.h); RUN/saves/latest names the newest one
//     RUN/log.jsonl          the log lines
//     RUN/events.out.*       its numbers, for TensorBoard
//     RUN/report.html        the run on one page (report/training.h)
//     RUN/all_scalars.json   the same numbers as JSON, when they were asked for
//     RUN/text.prepared/     a text too large to be held (training/auto_packed_text.h)
//     RUN/lock               the process that is training
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/run/lock.h"
#include "apps/translation/run/save.h"
#include "apps/translation/run/saves.h"

namespace heddle::app {

/// The folder of a run, held by the process that trains: no other process may write there while this object exists.
class RunFolder {
  public:
    /// Error when the folder contains a run that has learned something, unless `overwrite`, or a file that a run would replace
    /// but training did not write. Changes nothing.
    static void check_free(const std::filesystem::path& path, bool overwrite);
    /// Error when the folder cannot be made or written, or another process trains there. Leaves nothing behind.
    static void check_can_begin(const std::filesystem::path& path);
    /// True if the folder contains a run that ended before it had a save or weights, and whose configuration nobody edited:
    /// another run may start there without loss.
    static bool learned_nothing(const std::filesystem::path& path);
    /// Makes the folder, or removes the files (and no others) of the run in it. Errors as check_free(); Error when another
    /// process trains there.
    RunFolder(std::filesystem::path path, bool overwrite);
    /// Opens the folder of a resumed run and removes incomplete files of a killed process. Error when there is no run.
    static RunFolder reopen(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path log() const { return path_ / "log.jsonl"; }
    /// Writes config.toml, with a first line that marks it as a run's and a last line by which config_is_unchanged() detects
    /// changes. Like all functions below: Error when the folder was moved and there is another one at its path.
    void write_config(std::string_view toml) const;

    /// The identity written into all weights files from now on.
    void identify(ModelIdentity identity) { identity_ = std::move(identity); }
    const ModelIdentity& identity() const { return identity_; }
    /// Writes weights under the parameters' names, atomically.
    void write_model(const nn::NamedTensors& weights) const;
    void write_best(const nn::NamedTensors& weights) const;
    /// Writes a new folder saves/<update>/, synced before `latest` names it, then keeps only the newest `keep` saves (0: all).
    /// Error when it cannot be written; the previous save is then unchanged.
    void save(const Save& save, std::int64_t keep) const;
    /// Makes `latest` name the save of this update and removes later saves. If there were any, the run's top-level weights
    /// belong to discarded updates: they are renamed to model-<update>.safetensors and best-<update>.safetensors, after the save
    /// that `latest` named. Returns these files.
    std::vector<std::filesystem::path> go_on_from(std::int64_t update) const;

  private:
    RunFolder(std::filesystem::path path, std::unique_ptr<RunLock> lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::vector<std::filesystem::path> put_weights_aside(const std::string& update) const;
    void sync_logs() const;
    void put_in_place(const std::filesystem::path& part, std::int64_t update) const;
    void remove_all_but(std::int64_t newest, std::int64_t keep) const;

    std::filesystem::path path_;
    std::unique_ptr<RunLock> lock_;
    ModelIdentity identity_;
};

/// True if RUN/config.toml was neither edited nor damaged since write_config().
bool config_is_unchanged(const std::filesystem::path& run);

/// The run's existing files, without those that others put into the folder.
std::vector<std::filesystem::path> files_of_run(const std::filesystem::path& run);

}  // namespace heddle::app
