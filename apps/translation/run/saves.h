// Which saves a run has, and how it can go on.
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
/// The folder of one of them.
std::filesystem::path save_folder(const std::filesystem::path& run, std::int64_t update);
/// The folder of the save to resume from: the one that `latest` names, or the newest if that is gone; empty when there is none.
std::filesystem::path latest_save(const std::filesystem::path& run);
/// The save that was made at the end of an epoch. Error that names the epochs there are when this one is missing or not readable.
std::filesystem::path save_of_epoch(const std::filesystem::path& run, std::int64_t epoch);

/// Whether there are weights that training writes at the top of the run's folder.
bool has_weights(const std::filesystem::path& run);
/// Error when the run has weights but no save: to resume it would begin again and overwrite them. Changes nothing.
void check_can_resume(const std::filesystem::path& run);

/// Advice after a failure: "the save of update 40 is whole; heddle train --resume RUN goes on from there", or what else the run
/// still allows.
std::string how_to_go_on(const std::filesystem::path& run);
/// Advice where this save of the run cannot be used: to another save, or to begin again.
std::string how_to_go_on_without(const std::filesystem::path& save);

}  // namespace heddle::app
