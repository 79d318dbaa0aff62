#include "apps/translation/vocabularies.h"

#include "core/format.h"

namespace heddle::app {
namespace {

// The file `stem`.model or `stem`.tsv in `folder`; empty when there is none.
std::filesystem::path find(const std::filesystem::path& folder, const std::string& stem) {
    for (const char* extension : {".model", ".tsv"}) {
        std::filesystem::path path = folder / (stem + extension);
        if (std::filesystem::exists(path)) return path;
    }
    return {};
}

void save_one(const Vocabulary& vocabulary, const std::filesystem::path& folder, const std::string& stem) {
    vocabulary.save(folder / fmt::format("{}.{}", stem, vocabulary.file_extension()));
}

}  // namespace

void Vocabularies::save(const std::filesystem::path& folder) const {
    if (shared()) return save_one(*source, folder, "vocab");
    save_one(*source, folder, "vocab.source");
    save_one(*target, folder, "vocab.target");
}

Vocabularies Vocabularies::load(const std::filesystem::path& folder, bool lowercase) {
    Vocabularies loaded;
    if (const auto both = find(folder, "vocab"); !both.empty()) {
        loaded.source = loaded.target = Vocabulary::load(both, lowercase);
        return loaded;
    }
    const auto source = find(folder, "vocab.source");
    const auto target = find(folder, "vocab.target");
    check(!source.empty() && !target.empty(),
          "{}: no vocabulary there (vocab.model, vocab.tsv, or vocab.source.* and vocab.target.*); is it a folder that heddle "
          "train "
          "made?",
          folder.string());
    loaded.source = Vocabulary::load(source, lowercase);
    loaded.target = Vocabulary::load(target, lowercase);
    return loaded;
}

}  // namespace heddle::app
