#include "apps/translation/training/pretrained_embeddings.h"

#include <fmt/format.h>

#include "apps/translation/vocabulary/word_vectors.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {

void load_embeddings(const nn::Transformer& model, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const Reading& reading) {
    check(files.size() == 1 || files.size() == 2, "embeddings: {} files, wanted one, or one for each side", files.size());
    const bool one = model.options().one_embedding();
    check(!one || files.size() == 1, "embeddings: {} and {}, but source and target share a matrix; give one file", files.front(),
          files.back());
    std::vector<std::string> names = {"embedding.weight"};
    if (!one) names = {"source_embedding.weight", "target_embedding.weight"};
    std::vector<EmbeddingTable> tables;
    for (const std::string& name : names)
        for (const auto& [each, tensor] : model.named_tensors())
            if (each == name) tables.push_back({tables.empty() ? *vocabularies.source : *vocabularies.target, tensor});
    const bool same = files.front() == files.back();
    std::vector<EmbeddingMatch> matches;
    if (same) matches = load_word_vectors(files.front(), tables, reading);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const std::string& file = same ? files.front() : files[i];
        if (!same) matches.push_back(load_embedding(file, tables[i].vocabulary, tables[i].values, reading));
        const EmbeddingMatch& match = matches[i];
        std::string text = fmt::format("{}: {} of {} tokens are in {}, which has {} vectors", names[i], grouped_text(match.found),
                                       grouped_text(tables[i].vocabulary.size()), spoken_name(file), grouped_text(match.vectors));
        if (match.repeated > 0) text += fmt::format("; {} repeat a token and do not count", grouped_text(match.repeated));
        if (reading.say) reading.say(text);
    }
}

}  // namespace heddle::app
