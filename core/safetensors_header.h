// The JSON header of a safetensors file, checked word by word. Used by safetensors.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace heddle {

/// What the header says of one tensor; nothing of it is checked against the file yet.
struct SafetensorsEntry {
    std::string name;
    std::string dtype;
    Shape shape;
    std::uint64_t begin = 0;  ///< of its elements, from the end of the header
    std::uint64_t end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> tensors;  ///< in the order of the header
    std::map<std::string, std::string> metadata;
};

/// Reads the JSON text. Error, without the file's name, at anything but the format: no JSON, bad UTF-8, another structure, a
/// key twice, a missing or unknown key, a number that is no extent or offset. Memory and time are linear in the text.
SafetensorsHeader parse_safetensors_header(std::string_view json);

/// The header's text for these tensors, padded with spaces to a multiple of eight bytes. Error when a text is not UTF-8.
std::string safetensors_header_text(const SafetensorsHeader& header);

/// A name as an error message shows it: quoted, without control characters, cut when it is very long.
std::string shown(std::string_view name);

}  // namespace heddle
