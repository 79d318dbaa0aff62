#include <cmath>

#include "apps/translation/vocabulary/word_vectors.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {

// Whatever the file holds, the embedding has finite numbers afterwards, and as many rows changed as tokens were found.
void vectors(std::string_view bytes) {
    static const std::vector<std::string> lines{"the the the cat cat sat"};
    static const std::shared_ptr<const app::Vocabulary> vocabulary =
        app::train_vocabulary({.type = app::VocabularyType::word, .size = 0}, lines);
    const InputFile input(bytes);
    const Tensor table = Tensor::full({vocabulary->size(), 3}, 0.5, DType::f32);
    const app::Reading reading{.replace_invalid = bytes.size() % 2 == 1};
    app::EmbeddingMatch match;
    const bool whole = accepted([&] { match = app::load_embedding(input.path(), *vocabulary, table, reading); });
    for (const double value : table.to_vector()) must(std::isfinite(value), "finite numbers");
    if (whole) must(match.found > 0 && match.found + match.repeated <= match.vectors, "the counts fit");
}

}  // namespace heddle::fuzz
