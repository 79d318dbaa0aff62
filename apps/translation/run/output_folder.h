// Folders that an option names, for what a command writes.
#pragma once

#include <filesystem>
#include <string_view>

namespace heddle::app {

/// Makes the folder, and those above it that are missing; one that is there stays as it is. `option`: what named it, "--out".
/// Error, with the option, the path and the reason, when it cannot be made.
void make_folder(const std::filesystem::path& path, std::string_view option);

/// Puts the folder `fresh` in the place of `target`, which is there: they are exchanged, or, where the file system cannot do
/// that, `target` is renamed to `aside`, which must not exist, and `fresh` to `target`; between these two there is none. Returns
/// where the replaced folder is now. Error when one cannot be renamed: `target` is then what it was, or the message names
/// `aside`.
std::filesystem::path replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& target,
                                     const std::filesystem::path& aside);

}  // namespace heddle::app
