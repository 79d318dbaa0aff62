#include "apps/translation/vocabulary/vocabulary.h"

#include <filesystem>
#include <numeric>

#include "apps/translation/vocabulary/counted_vocabulary.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "apps/translation/vocabulary/token_map.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

std::vector<std::string_view> at_even_distances(std::span<const std::string_view> lines, std::size_t count) {
    std::vector<std::string_view> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out.push_back(lines[line_at_even_distance(i, count, lines.size())]);
    return out;
}

std::unique_ptr<Vocabulary> train_on(const VocabularyOptions& options, std::span<const std::string_view> lines) {
    return is_sentencepiece(options.type) ? train_sentencepiece(options, lines) : train_counted(options, lines);
}

}  // namespace

bool is_sentencepiece(VocabularyType type) { return type == VocabularyType::bpe || type == VocabularyType::unigram; }

std::string_view Vocabulary::file_extension() const { return is_sentencepiece(type()) ? "model" : "tsv"; }

std::vector<std::int32_t> Vocabulary::toolkit_ids() const {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(size()));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

std::string token_map_path(const std::string& path) { return std::filesystem::path(path).replace_extension(".map.json"); }

void Vocabulary::save(const std::string& path) const {
    // The map first: a process killed in between must not leave a vocabulary with another numbering.
    if (const TokenMap* map = token_map())
        write_file_atomically(token_map_path(path), map->json());
    else
        std::filesystem::remove(token_map_path(path));
    write_file_atomically(path, serialized());
}

std::unique_ptr<Vocabulary> Vocabulary::load(const std::string& path, bool lowercase) {
    std::string bytes = read_file(path);
    if (is_counted_vocabulary(bytes)) {
        std::unique_ptr<Vocabulary> counted = load_counted(bytes, path);
        check(!lowercase || counted->lowercase(), "{}: this vocabulary was made of text with capitals; leave out --lowercase",
              path);
        return counted;
    }
    const std::string map = token_map_path(path);
    if (!std::filesystem::exists(map)) return load_sentencepiece(std::move(bytes), path, lowercase);
    return load_sentencepiece(std::move(bytes), path, lowercase, TokenMap::from_json(read_regular_file(map, largest_model), map));
}

std::size_t line_at_even_distance(std::size_t i, std::size_t count, std::size_t lines) { return i * lines / count; }

std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string_view> lines) {
    check(options.min_count >= 1, "vocabulary: min_count is {}; wanted at least 1", options.min_count);
    check(options.max_lines >= 0, "vocabulary: max_lines is {}; wanted a number of lines, or 0 for all", options.max_lines);
    const auto most = static_cast<std::size_t>(options.max_lines);
    if (most == 0 || lines.size() <= most) return train_on(options, lines);
    return train_on(options, at_even_distances(lines, most));
}

std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string> lines) {
    return train_vocabulary(options, std::vector<std::string_view>(lines.begin(), lines.end()));
}

}  // namespace heddle::app
