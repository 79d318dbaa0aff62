// An artificial language pair that a small model learns in seconds. The verb comes last in source clauses and second in target
// clauses, as in German subordinate clauses and in English: "s o o v" becomes "s v o o". Each word has one translation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "core/random.h"
#include "nn/transformer.h"

namespace heddle::chapters {

struct ClausePair : app::TokenPair {
    std::vector<std::size_t> origins;  ///< for each target word: the index of its source word

    /// The first `count` words of each side.
    ClausePair cut(std::size_t count) const;
};

/// The most words of a short sentence, as in the preset `translator`.
inline constexpr std::int64_t short_words = 10;
/// Words of the longest sentence: four clauses of six words and the conjunctions.
inline constexpr std::int64_t longest_sentence = 4 * 6 + 3;

/// Sentences of one to four clauses, of 2 to 6 words each.
std::vector<ClausePair> draw_clauses(std::size_t count, Sequence& numbers);
/// The pairs of at most `words` words (`within`), or the longer ones.
std::vector<ClausePair> by_length(std::span<const ClausePair> pairs, std::int64_t words, bool within);
/// The same as token pairs.
std::vector<app::TokenPair> token_pairs(std::span<const ClausePair> pairs);
/// The short ones among `count` pairs, as token pairs.
std::vector<app::TokenPair> short_pairs(std::size_t count, Sequence& numbers);
/// The source of each pair with its end mark, as beam search expects it.
std::vector<std::vector<std::int32_t>> sources_of(std::span<const app::TokenPair> pairs);
/// Copies packed tokens to the positions of `padded`, whose spans begin farther apart, and puts `filling` in between: i32
/// [padded.rows()].
Tensor filled_up(std::span<const std::int32_t> tokens, const Spans& packed, const Spans& padded, std::int32_t filling);

/// A small model without dropout and with learned positions: 32 rows on each side, five more than the longest sentence needs.
nn::TransformerOptions clause_transformer();
/// Trains with Adam on batches of 32 random pairs and returns the loss of each step.
std::vector<double> teach_clauses(nn::Transformer& model, std::span<const app::TokenPair> pairs, std::int64_t steps,
                                  std::uint64_t key);

/// Greedy translations of all sentences in one batch, without end marks. The model must be in evaluation mode.
std::vector<std::vector<std::int32_t>> translated(const nn::Transformer& model, std::span<const app::TokenPair> pairs);
/// The share of the translations that are right word for word.
double share_right(const std::vector<std::vector<std::int32_t>>& translations, std::span<const app::TokenPair> pairs);

}  // namespace heddle::chapters
