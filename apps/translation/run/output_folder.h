// Folders that an option names, for what a command writes.
#pragma once

#include <filesystem>
#include <string_view>

namespace heddle::app {

/// Makes the folder, and those above it that are missing; one that is there stays as it is. `option`: what named it, "--out".
/// Error, with the option, the path and the reason, when it cannot be made.
void make_folder(const std::filesystem::path& path, std::string_view option);

}  // namespace heddle::app
