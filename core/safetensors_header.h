// The JSON header of a safetensors file, checked word by word. Used by safetensors.cpp, and by exports, which write half
// precision.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"

namespace heddle {

/// A tensor's entry in the header, not yet checked against the file.
struct SafetensorsEntry {
    std::string name;
    std::string dtype;
    Shape shape;
    std::uint64_t begin = 0;  ///< where its elements begin, from the end of the header
    std::uint64_t end = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> tensors;  ///< in the order of the header
    std::map<std::string, std::string> metadata;
};

/// Reads the JSON text. Error, without the file's name, for any violation of the format: invalid JSON, bad UTF-8, another
/// structure, a duplicate, missing or unknown key, an invalid extent or offset. Memory and time are linear in the text.
SafetensorsHeader parse_safetensors_header(std::string_view json);

/// The header's text for these tensors, padded with spaces to a multiple of eight bytes. Error if a text is not UTF-8.
std::string safetensors_header_text(const SafetensorsHeader& header);

/// A name for error messages: quoted, without control characters, and truncated if it is very long.
std::string shown(std::string_view name);

}  // namespace heddle
