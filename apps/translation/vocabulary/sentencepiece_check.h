// Validates a SentencePiece model before the library, which trusts its input, loads it.
#pragma once

#include <string>
#include <string_view>

namespace heddle::app {

/// Limits far beyond any real vocabulary. They bound the library's work (line x length) to seconds, its recursion, and its use
/// of fixed-size arrays.
inline constexpr std::size_t largest_model = 64 << 20;  ///< bytes of a model file
inline constexpr std::size_t most_pieces = 1'000'000;   ///< tokens
inline constexpr std::size_t longest_piece = 1024;      ///< bytes of a token, and of both sides of a normalisation rule
inline constexpr std::size_t most_nested_rules = 32;    ///< rules for "a", "ab", "abc", ...: Normalizer::kMaxTrieResultsSize
inline constexpr std::size_t most_nested_symbols = 64;  ///< user-defined symbols "a", "ab", ...: PrefixMatcher::PrefixMatch

/// The message of sentencepiece_model.proto, ready for SentencePieceProcessor: without its self-test, which loading would run.
/// Error with `name` when `bytes` are not such a message, when the library (0.1.97) would access memory out of bounds for it, or
/// when it holds text that is not UTF-8.
std::string checked_sentencepiece_model(std::string_view bytes, std::string_view name);

}  // namespace heddle::app
