// The outputs of a command: folders that it makes, replaces and removes, and files that must not be its inputs.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle::app {

/// Makes the folder, and those above it that are missing; one that is there stays as it is. `option`: what named it, "--out".
/// Error, with the option, the path and the reason, when it cannot be made.
void make_folder(const std::filesystem::path& path, std::string_view option);

/// Error as make_folder() unless it could make the folder now; changes nothing. To be called before long work.
void check_can_make_folder(const std::filesystem::path& path, std::string_view option);

/// Error when one of the files that an option makes the command replace is one that it reads: the same file, by whatever name and
/// through whatever links. An input "-" is standard input.
void check_spares_inputs(const std::vector<std::filesystem::path>& replaced, std::string_view option,
                         const std::vector<std::filesystem::path>& inputs);

/// Whether something lies at the path; false where the system cannot tell.
bool is_there(const std::filesystem::path& path);

/// The entries of a folder, without those that the system cannot list.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// Error unless a file could be written there now, which would replace none of the inputs and nothing that is not a regular file;
/// changes nothing. To be called before long work.
void check_can_write_file(const std::filesystem::path& path, std::string_view option,
                          const std::vector<std::filesystem::path>& inputs);

/// Error "PATH: cannot be WHAT: the reason" when a step with this file or folder failed.
void check_done(const std::error_code& failed, std::string_view what, const std::filesystem::path& path);

/// Renames a file or folder, onto `to` where it is there. Error, with `to` and the reason, when that fails.
void rename_onto(const std::filesystem::path& from, const std::filesystem::path& to);

/// Puts the folder `fresh` in the place of `target`, which is there: they are exchanged, or, where the file system cannot do
/// that, `target` is renamed to `aside`, which must not exist, and `fresh` to `target`; between these two there is none. Returns
/// where the replaced folder is now. Error when one cannot be renamed: `target` is then what it was, or the message names
/// `aside`.
std::filesystem::path replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& target,
                                     const std::filesystem::path& aside);

}  // namespace heddle::app
