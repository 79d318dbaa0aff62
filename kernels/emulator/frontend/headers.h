// The names under which CUDA and its libraries are included. Thrust and CUB have a hundred; here a few headers serve them all,
// and what forwards to them is written for each check. The header of a library that is not emulated says so.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::emulator::frontend {

/// The text of the header that a program includes by this name, as "thrust/sort.h"; "" if the table does not have it.
std::string library_header(std::string_view name);
/// Writes all of them into the folder.
void write_library_headers(const std::filesystem::path& folder);

}  // namespace heddle::emulator::frontend
