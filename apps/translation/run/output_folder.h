// A command's outputs: folders that it makes, replaces and removes, and files that must differ from its inputs.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle::app {

/// Makes the folder and its missing parents; an existing folder is kept. `option`: the option that named it, "--out". Error,
/// with the option, the path and the reason, when it cannot be made.
void make_folder(const std::filesystem::path& path, std::string_view option);

/// Error as make_folder() unless it could make the folder now; changes nothing. Called before long work.
void check_can_make_folder(const std::filesystem::path& path, std::string_view option);

/// Error when a file that an option makes the command replace is one of its inputs: the same file, under whatever name and
/// through whatever links. An input "-" is standard input.
void check_spares_inputs(const std::vector<std::filesystem::path>& replaced, std::string_view option,
                         const std::vector<std::filesystem::path>& inputs);

/// True if something exists at the path; false also if the system cannot tell.
bool is_there(const std::filesystem::path& path);

/// The entries of a folder; those that the system cannot list are left out.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// Error unless a file could be written there now without replacing an input or something other than a regular file. Changes
/// nothing. Called before long work.
void check_can_write_file(const std::filesystem::path& path, std::string_view option,
                          const std::vector<std::filesystem::path>& inputs);

/// Error "PATH: cannot be WHAT: the reason" if a step with this file or folder failed.
void check_done(const std::error_code& failed, std::string_view what, const std::filesystem::path& path);

/// Renames a file or folder; an existing `to` is replaced. Error, with `to` and the reason, when that fails.
void rename_onto(const std::filesystem::path& from, const std::filesystem::path& to);

/// Exchanges two folders at once; returns false, with nothing changed, if the file system cannot do that.
bool exchange_folders(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace heddle::app
