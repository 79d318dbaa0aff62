// Vocabularies of whole words or of characters: the tokens that occur often enough.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// Whether a file's bytes begin like a word or char vocabulary.
bool is_counted_vocabulary(std::string_view bytes);
/// Reads such a file; `name` stands in errors, which name the line.
std::unique_ptr<Vocabulary> load_counted(std::string_view bytes, std::string_view name);
/// Counts the tokens; equally frequent ones in the order of their bytes.
std::unique_ptr<Vocabulary> train_counted(const VocabularyOptions& options, std::span<const std::string_view> lines);

}  // namespace heddle::app
