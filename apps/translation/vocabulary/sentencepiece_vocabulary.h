// Subword vocabularies (bpe, unigram), trained and applied by SentencePiece.
// Source: Kudo and Richardson 2018, "SentencePiece: a simple and language independent subword tokenizer and detokenizer".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// Reads the bytes of a .model file; `name` is used in errors.
std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase);
/// Trains bpe or unigram, covering every character except U+2585, which the trainer uses itself.
std::unique_ptr<Vocabulary> train_sentencepiece(const VocabularyOptions& options, std::span<const std::string_view> lines);

}  // namespace heddle::app
