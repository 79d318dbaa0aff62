// The vocabularies of a model: one for each language, or one for both.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// The source and target vocabularies. The same object twice when both languages share one.
struct Vocabularies {
    std::shared_ptr<const Vocabulary> source;
    std::shared_ptr<const Vocabulary> target;

    bool shared() const { return source == target; }
    /// Writes vocab.model (or .tsv) into `folder`, or vocab.source.* and vocab.target.*; other vocabularies there go.
    void save(const std::filesystem::path& folder) const;
    /// Reads what save() wrote. `lowercase` as in Vocabulary::load. Error that names the files when none is there.
    static Vocabularies load(const std::filesystem::path& folder, bool lowercase);
};

/// The digest of the vocabulary files in `folder`, unread: SentencePiece trusts a model file that is not quite in order. Error as
/// in Vocabularies::load.
std::string vocabulary_digest(const std::filesystem::path& folder);

}  // namespace heddle::app
