// Rules that replace parts of a text, as SentencePiece stores and applies them (NormalizerSpec.precompiled_charsmap): at each
// position the longest matching part is replaced. A map has a 32-bit byte count, that many bytes of a double array (a trie whose
// leaves are offsets), and the text to which the offsets point, each replacement ending with NUL. Source:
// sentencepiece/src/normalizer.cc; https://github.com/s-yata/darts-clone
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace heddle::app {

/// The replacement of each non-empty part. Neither contains NUL.
using CharacterRules = std::map<std::string, std::string>;

/// The rules as a character map; equal rules give equal bytes.
std::string make_character_map(const CharacterRules& rules);

/// Error, without a file name, when a lookup of some text could leave the array or the text.
void check_character_map(std::string_view map);

/// The map of Unicode's normalisation form C, which also turns tabs and all line ends into U+0020; other text in that form is
/// unchanged. It normalises every character, and letters with up to two marks, if the marks take part in composition or belong
/// to one script; longer sequences of marks may keep their order. Made once; thread-safe.
const std::string& nfc_character_map();

}  // namespace heddle::app
