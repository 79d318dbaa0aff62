// Word vectors that somebody else trained, as the first values of an embedding.
//
// word2vec's text form: a line for each token, the token and its numbers with spaces (or tabs) between; a first line may say how
// many tokens there are and how many numbers each has. The numbers stand at the line's end: a token may hold spaces, as GloVe's
// ". . ." does, but then its last word is no number, or it would pass for a vector of another width. safetensors: one tensor
// [tokens, numbers], and in the metadata under "tokens" the tokens in the order of its rows, one a line; a file, which can be
// read anywhere, and no pipe.
#pragma once

#include <string>
#include <vector>

#include "apps/translation/text_file.h"
#include "apps/translation/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

/// What a file had for a vocabulary.
struct EmbeddingMatch {
    std::int64_t found = 0;     ///< tokens of the vocabulary that the file knows
    std::int64_t vectors = 0;   ///< in the file
    std::int64_t repeated = 0;  ///< of these, more for a token of the vocabulary: the first one counts
};

/// Copies the file's vectors to the rows of `table` f32 [vocabulary, d_model] whose tokens are written exactly so; other rows
/// stay. Which of the two forms the file has is seen by its first bytes; text may be gzipped. `reading` says what becomes of
/// bytes that are not UTF-8. Error with the line for what is no vector of d_model finite numbers, for a first line that promises
/// another number of vectors, and when no token is found.
EmbeddingMatch load_embedding(const std::string& path, const Vocabulary& vocabulary, Tensor table, const Reading& reading = {});

/// The files of --embeddings, one for all embeddings or one for each side, and a line for `reading.say` about each embedding.
/// Error as above, and when there are two files but source and target share a matrix.
void load_embeddings(const nn::Transformer& model, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const Reading& reading);

}  // namespace heddle::app
