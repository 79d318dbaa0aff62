#include "apps/translation/translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "apps/translation/corpus.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

// Source tokens that are decoded together: enough rows for the matrix products, and caches that stay small.
constexpr std::int64_t tokens_at_once = 1500;

// The ids of each line, end mark included; nothing for a line without tokens.
std::vector<std::vector<std::int32_t>> encode_lines(const Vocabulary& vocabulary, const std::vector<std::string>& lines,
                                                    std::int64_t longest) {
    std::vector<std::vector<std::int32_t>> sources(lines.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            auto& source = sources[static_cast<std::size_t>(i)];
            const std::string& line = lines[static_cast<std::size_t>(i)];
            if (is_blank(line)) continue;
            source = vocabulary.encode(line);
            if (!source.empty()) source.push_back(eos_id);
        }
    });
    std::int64_t cut = 0;
    for (auto& source : sources) {
        if (static_cast<std::int64_t>(source.size()) <= longest) continue;
        source.resize(static_cast<std::size_t>(longest));
        source.back() = eos_id;
        ++cut;
    }
    if (cut > 0) fmt::print(stderr, "{} lines were cut to {} tokens, the length of the model's position table\n", cut, longest);
    return sources;
}

}  // namespace

std::vector<std::string> translate_lines(const nn::Transformer& model, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options) {
    const auto sources = encode_lines(*vocabularies.source, lines, model.options().position_table);
    std::vector<std::size_t> order(lines.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Sentences of similar length finish together.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sources[a].size() < sources[b].size(); });

    std::vector<std::string> translations(lines.size());
    std::vector<std::vector<std::int32_t>> batch;
    std::vector<std::size_t> places;
    const auto flush = [&] {
        const std::vector<Hypothesis> found = beam_search(model, batch, options);
        for (std::size_t i = 0; i < found.size(); ++i) translations[places[i]] = vocabularies.target->decode(found[i].tokens);
        batch.clear();
        places.clear();
    };
    for (const std::size_t line : order) {
        const auto& source = sources[line];
        if (source.empty()) continue;
        if (!batch.empty() && static_cast<std::int64_t>((batch.size() + 1) * source.size()) > tokens_at_once) flush();
        batch.push_back(source);
        places.push_back(line);
    }
    flush();
    return translations;
}

}  // namespace heddle::app
