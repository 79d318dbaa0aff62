// The files of a model of another toolkit, untrusted when read, and those of an export.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/exchange/elements.h"

namespace heddle::app {

/// The files of a model: of a folder, or of a part of an archive.
struct ModelFiles {
    std::string name;                                                                    ///< for errors
    std::function<std::optional<std::span<const std::byte>>(const std::string&)> bytes;  ///< of a file; nothing: there is none
};
/// The files of a folder, memory-mapped.
ModelFiles files_of_folder(const std::filesystem::path& folder);
/// A file's bytes as a text. Error, with both names, when there is no such file, or it has more than `longest` bytes.
std::string text_of(const ModelFiles& files, const std::string& file, std::size_t longest);

inline constexpr std::size_t longest_config = std::size_t{1} << 20;  ///< bytes of a config.json

/// A file of an export.
struct ExportedFile {
    std::string name;
    std::string bytes;
};
/// The files of an export, and what to tell the user.
struct Export {
    std::vector<ExportedFile> files;
    std::vector<std::string> notes;
};

}  // namespace heddle::app
