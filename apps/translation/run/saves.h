// The saves of a run, and how it can be resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::app {

/// The update that a save's folder is named after; -1 for every other name.
std::int64_t save_number(const std::filesystem::path& path);
/// The update numbers of a run's complete saves, ascending.
std::vector<std::int64_t> saved_updates(const std::filesystem::path& run);
/// The folder of the save of this update.
std::filesystem::path save_folder(const std::filesystem::path& run, std::int64_t update);
/// The folder of the save to resume from: the one that `latest` names, or the newest if that is gone; empty when there is none.
std::filesystem::path latest_save(const std::filesystem::path& run);
/// The save made at the end of an epoch. Error, listing the epochs there are, when it is missing or not readable.
std::filesystem::path save_of_epoch(const std::filesystem::path& run, std::int64_t epoch);

/// True if the run's folder has weights at its top level.
bool has_weights(const std::filesystem::path& run);
/// Error when the run has weights but no save: resuming would start from scratch and overwrite them. Changes nothing.
void check_can_resume(const std::filesystem::path& run);

/// Advice after a failure: "the save of update 40 is whole; heddle train --resume RUN goes on from there", or what else the run
/// still allows.
std::string how_to_go_on(const std::filesystem::path& run);
/// Advice when this save cannot be used: to use another save, or to start again.
std::string how_to_go_on_without(const std::filesystem::path& save);

}  // namespace heddle::app
