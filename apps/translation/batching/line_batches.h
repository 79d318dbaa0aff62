// Lines as token ids, and the batches that they are computed in.
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

/// Indices of `widths` in batches: narrow ones first, in their order within a width; a batch times its greatest width stays
/// within `tokens`, unless one line alone does not.
std::vector<std::vector<std::int64_t>> batches_by_width(std::span<const std::int64_t> widths, std::int64_t tokens);

}  // namespace heddle::app
