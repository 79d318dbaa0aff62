// Lines as token ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// The ids of each line, without marks, on several threads; nothing for a blank line, where a space is a token, too.
std::vector<std::vector<std::int32_t>> encode_lines(const Vocabulary& vocabulary, std::span<const std::string> lines);

/// Cuts what is longer than `most` tokens; how many were.
std::int64_t cut_to(std::vector<std::vector<std::int32_t>>& lines, std::int64_t most);

}  // namespace heddle::app
