// A made-up pair of languages that a small model learns in seconds. Source clauses end with their verb, target clauses have it in
// second place, as German subordinate clauses and English ones do: "s o o v" becomes "s v o o". Each word has one translation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "core/random.h"
#include "nn/transformer.h"

namespace heddle::chapters {

struct ClausePair : app::TokenPair {
    std::vector<std::size_t> origins;  ///< of each target word: the place of its word in the source

    /// The first `count` words of each side.
    ClausePair cut(std::size_t count) const;
};

/// Words of a sentence that is short, as in the preset `translator`.
inline constexpr std::int64_t short_words = 10;
/// Words of the longest sentence: four clauses of six words, and what joins them.
inline constexpr std::int64_t longest_sentence = 4 * 6 + 3;

/// Sentences of one to four clauses, of 2 to 6 words each.
std::vector<ClausePair> draw_clauses(std::size_t count, Sequence& numbers);
/// Those of at most `words` words (`within`), or the longer ones.
std::vector<ClausePair> by_length(std::span<const ClausePair> pairs, std::int64_t words, bool within);
/// As the rest of the program takes them.
std::vector<app::TokenPair> token_pairs(std::span<const ClausePair> pairs);
/// The short ones among `count` pairs, as the rest of the program takes them.
std::vector<app::TokenPair> short_pairs(std::size_t count, Sequence& numbers);
/// The source of each pair with its end mark, as a search reads it.
std::vector<std::vector<std::int32_t>> sources_of(std::span<const app::TokenPair> pairs);
/// Packed tokens at the places of `padded`, whose spans begin farther apart, and `filling` in between: i32 [padded.rows()].
Tensor filled_up(std::span<const std::int32_t> tokens, const Spans& packed, const Spans& padded, std::int32_t filling);

/// Small, without dropout, with learned positions: a table of 32 rows on each side, five more than the longest sentence.
nn::TransformerOptions clause_transformer();
/// Adam on batches of 32 random pairs; the loss of each step.
std::vector<double> teach_clauses(nn::Transformer& model, std::span<const app::TokenPair> pairs, std::int64_t steps,
                                  std::uint64_t key);

/// Greedy translations, without marks, all sentences together. The model must be in evaluation mode.
std::vector<std::vector<std::int32_t>> translated(const nn::Transformer& model, std::span<const app::TokenPair> pairs);
/// The share of these translations that is right word for word.
double share_right(const std::vector<std::vector<std::int32_t>>& translations, std::span<const app::TokenPair> pairs);

}  // namespace heddle::chapters
