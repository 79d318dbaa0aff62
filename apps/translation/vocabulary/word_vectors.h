// Files of word vectors, and the selection of the rows that a vocabulary has tokens for.
//
// word2vec's text form: a line for each token, the token and its numbers with spaces (or tabs) between; a first line may say how
// many tokens there are and how many numbers each has. The numbers stand at the line's end: a token may hold spaces, as GloVe's
// ". . ." does, but then its last word is no number, or it would pass for a vector of another width. safetensors: one tensor
// [tokens, numbers], and in the metadata under "tokens" the tokens in the order of its rows, one a line; a file, which can be
// read anywhere, and no pipe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/text/text_file.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/tensor.h"

namespace heddle::app {

/// What a file contained for a vocabulary.
struct EmbeddingMatch {
    std::int64_t found = 0;     ///< tokens of the vocabulary that occur in the file
    std::int64_t vectors = 0;   ///< in the file
    std::int64_t repeated = 0;  ///< of these, more for a token of the vocabulary: the first one counts
};

/// Where vectors go: `values` f32 [vocabulary, d_model].
struct EmbeddingTable {
    const Vocabulary& vocabulary;
    Tensor values;
};

/// Copies the file's vectors to the rows of the tables whose tokens are written exactly so; other rows stay. The file is read
/// once for all of them: standard input allows no more, and word2vec's files have gigabytes. Which of the two forms it has is
/// seen by its first bytes; text may be gzipped. `reading` says what becomes of bytes that are not UTF-8. Error with the line for
/// what is no vector of d_model finite numbers, for a first line that promises another number of vectors, and when a table's
/// vocabulary has none of the tokens.
std::vector<EmbeddingMatch> load_word_vectors(const std::string& path, std::span<const EmbeddingTable> tables,
                                              const Reading& reading = {});
/// The same for one table.
EmbeddingMatch load_embedding(const std::string& path, const Vocabulary& vocabulary, Tensor table, const Reading& reading = {});

}  // namespace heddle::app
