// Vocabularies of words or of characters: those tokens that occur often enough.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// True if these bytes begin like the file of a word or char vocabulary.
bool is_counted_vocabulary(std::string_view bytes);
/// Reads such a file; errors give `name` and the line.
std::unique_ptr<Vocabulary> load_counted(std::string_view bytes, std::string_view name);
/// Counts the tokens; equally frequent ones are sorted by their bytes.
std::unique_ptr<Vocabulary> train_counted(const VocabularyOptions& options, std::span<const std::string_view> lines);

}  // namespace heddle::app
