// Pretrained word vectors as the initial values of a model's embeddings.
#pragma once

#include <string>
#include <vector>

#include "apps/translation/text/text_file.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

/// The files of --embeddings (word_vectors.h), one for all embeddings or one for each side, and a line for `reading.say` about
/// each embedding. Error as in load_word_vectors(), and when there are two files but source and target share a matrix.
void load_embeddings(const nn::Transformer& model, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const Reading& reading);

}  // namespace heddle::app
