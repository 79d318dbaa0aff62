#include "apps/translation/vocabulary/vocabularies.h"

#include <vector>

#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "apps/translation/vocabulary/token_map.h"
#include "core/digest.h"
#include "core/file.h"
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

// Removes files in which another vocabulary would be found, and the map of its tokens.
void remove(const std::filesystem::path& folder, const std::string& stem) {
    std::filesystem::remove(folder / token_map_path(stem + ".model"));
    for (auto path = find(folder, stem); !path.empty(); path = find(folder, stem)) std::filesystem::remove(path);
}

// The file of both languages, or the source's and the target's.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    if (auto both = find(folder, "vocab"); !both.empty()) return {both};
    const auto source = find(folder, "vocab.source"), target = find(folder, "vocab.target");
    check(!source.empty() && !target.empty(),
          "{}: no vocabulary there (vocab.model, vocab.tsv, or vocab.source.* and vocab.target.*); is it a folder that heddle "
          "train made?",
          folder.string());
    return {source, target};
}

}  // namespace

bool Vocabularies::one_numbering() const {
    if (shared()) return true;
    const TokenMap *const of_source = source->token_map(), *const of_target = target->token_map();
    if (of_source == nullptr || of_target == nullptr || *of_source != *of_target) return false;
    return !of_source->pieces.empty() || source->serialized() == target->serialized();
}

void Vocabularies::save(const std::filesystem::path& folder) const {
    for (const char* stem : {"vocab", "vocab.source", "vocab.target"}) remove(folder, stem);
    if (shared()) return save_one(*source, folder, "vocab");
    save_one(*source, folder, "vocab.source");
    save_one(*target, folder, "vocab.target");
}

Vocabularies Vocabularies::load(const std::filesystem::path& folder, bool lowercase) {
    const std::vector<std::filesystem::path> files = files_in(folder);
    for (const std::filesystem::path& file : files)
        check(std::filesystem::is_regular_file(file), "{}: it is not a regular file", file.string());
    Vocabularies loaded;
    loaded.source = loaded.target = Vocabulary::load(files.front(), lowercase);
    if (files.size() > 1) loaded.target = Vocabulary::load(files.back(), lowercase);
    return loaded;
}

std::string vocabulary_digest(const std::filesystem::path& folder) {
    Digest digest;
    for (const std::filesystem::path& file : files_in(folder)) {
        digest.add(file.filename().string()).add(read_regular_file(file));
        if (const std::filesystem::path map = token_map_path(file); std::filesystem::exists(map))
            digest.add(map.filename().string()).add(read_regular_file(map, largest_model));
    }
    return digest.text();
}

}  // namespace heddle::app
