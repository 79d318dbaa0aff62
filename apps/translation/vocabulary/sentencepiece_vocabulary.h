// Subword vocabularies (bpe, unigram), trained and applied by SentencePiece.
// Source: Kudo and Richardson 2018, "SentencePiece: a simple and language independent subword tokenizer and detokenizer".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/translation/vocabulary/token_map.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// Reads the bytes of a .model file; `name` is used in errors.
std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase);
/// With the tokens of `map`. If it has texts, each piece of a text is looked up there, and is unknown if it is none of them or
/// special; a language tag at the start of a text, such as ">>fra<<", is one piece, which the model does not split; decoding
/// joins the texts as the model does. Error when the map does not fit the model.
std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase, TokenMap map);
/// Trains bpe or unigram, covering every character except U+2585, which the trainer uses itself.
std::unique_ptr<Vocabulary> train_sentencepiece(const VocabularyOptions& options, std::span<const std::string_view> lines);

}  // namespace heddle::app
