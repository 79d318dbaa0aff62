// Rules that replace parts of a text, as SentencePiece stores and applies them (NormalizerSpec.precompiled_charsmap): at each
// place the longest part that a rule is for is replaced. A map has a 32-bit count of bytes, that many bytes of a double array (a
// trie whose leaves are offsets), and the text that the offsets point into, each rule's up to a NUL. Source:
// sentencepiece/src/normalizer.cc; https://github.com/s-yata/darts-clone
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace heddle::app {

/// The replacement of each part, which is not empty. Neither has a NUL.
using CharacterRules = std::map<std::string, std::string>;

/// The rules as a character map; the same rules give the same bytes.
std::string make_character_map(const CharacterRules& rules);

/// Error, without a name, when a search with any text could leave the array or the text.
void check_character_map(std::string_view map);

/// The map of Unicode's normalisation form C; also, a tab and all that ends a line become U+0020. Any other text in that form
/// stays as it is. Every character comes into that form, and letters with up to two of the marks that others are composed with or
/// that belong to one script; longer rows of marks may keep their order. Made once; any thread may call it.
const std::string& nfc_character_map();

}  // namespace heddle::app
