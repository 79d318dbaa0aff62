// The vocabularies of a model: one per language, or one for both.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// The source and target vocabularies; the same object if both languages share one.
struct Vocabularies {
    std::shared_ptr<const Vocabulary> source;
    std::shared_ptr<const Vocabulary> target;

    bool shared() const { return source == target; }
    /// Whether an id is the same token on both sides: with one vocabulary, or two of an imported model with equal maps.
    bool one_numbering() const;
    /// Writes vocab.model (or .tsv) into `folder`, or vocab.source.* and vocab.target.*, with their token maps (vocab.map.json);
    /// removes other vocabularies there.
    void save(const std::filesystem::path& folder) const;
    /// Reads what save() wrote. `lowercase` as in Vocabulary::load. Error with the file names if there are none.
    static Vocabularies load(const std::filesystem::path& folder, bool lowercase);
};

/// The digest of the vocabulary files in `folder`, computed without loading them, since SentencePiece trusts its files. Error as
/// in Vocabularies::load.
std::string vocabulary_digest(const std::filesystem::path& folder);

}  // namespace heddle::app
