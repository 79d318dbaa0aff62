#include "apps/translation/batching/line_batches.h"

#include "apps/translation/text/corpus.h"
#include "core/parallel.h"

namespace heddle::app {

std::vector<std::vector<std::int32_t>> encode_lines(const Vocabulary& vocabulary, std::span<const std::string> lines) {
    std::vector<std::vector<std::int32_t>> ids(lines.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), 64, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            if (!is_blank(lines[i])) ids[i] = vocabulary.encode(lines[i]);
    });
    return ids;
}

std::int64_t cut_to(std::vector<std::vector<std::int32_t>>& lines, std::int64_t most) {
    std::int64_t cut = 0;
    for (auto& line : lines) {
        if (static_cast<std::int64_t>(line.size()) <= most) continue;
        line.resize(static_cast<std::size_t>(most));
        ++cut;
    }
    return cut;
}

}  // namespace heddle::app
