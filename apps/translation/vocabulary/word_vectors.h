// Files of word vectors, and the selection of the rows that a vocabulary has tokens for.
//
// word2vec's text form: a line for each token, the token and its numbers with spaces (or tabs) between; a first line may say how
// many tokens there are and how many numbers each has. The numbers stand at the line's end: a token may hold spaces, as GloVe's
// ". . ." does, but then its last word is no number, or it would pass for a vector of another width.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/text/text_file.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/tensor.h"

namespace heddle::app {

/// How much of a file a vocabulary used.
struct EmbeddingMatch {
    std::int64_t found = 0;     ///< tokens of the vocabulary that occur in the file
    std::int64_t vectors = 0;   ///< number in the file
    std::int64_t repeated = 0;  ///< repetitions of tokens of the vocabulary: the first vector counts
};

/// Destination of vectors: `values` f32 [vocabulary, d_model].
struct EmbeddingTable {
    const Vocabulary& vocabulary;
    Tensor values;
};

/// Copies the file's vectors to the rows with exactly the same token in each table; other rows are unchanged. The file, which may
/// be gzipped, is read once for all tables: standard input allows no more, and word2vec's files take gigabytes. `reading` decides
/// how bytes that are not UTF-8 are treated. Error with the line for a vector that is not d_model finite numbers, for a first
/// line with a wrong count, and when a table's vocabulary has none of the tokens.
std::vector<EmbeddingMatch> load_word_vectors(const std::string& path, std::span<const EmbeddingTable> tables,
                                              const Reading& reading = {});
/// load_word_vectors() for one table.
EmbeddingMatch load_embedding(const std::string& path, const Vocabulary& vocabulary, Tensor table, const Reading& reading = {});

}  // namespace heddle::app
