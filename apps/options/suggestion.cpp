#include "apps/options/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace heddle::app {
namespace {

std::string letters(std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    std::string plain;
    for (const char c : word) plain += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return plain;
}

// Damerau and Levenshtein: how many letters are added, left out, changed, or swapped with their neighbour.
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> edits(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));  // of the first i and j letters
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                edits[i][j] = i + j;
                continue;
            }
            const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
            edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + changed});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
        }
    return edits[a.size()][b.size()];
}

// Names used by Marian, JoeyNMT, fairseq, OpenNMT and PyTorch's programs for Heddle's options (more in docs/coming-from.md).
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"learning-rate", "lr"},
    {"learn-rate", "lr"},
    {"batch-size", "batch-tokens"},
    {"batch", "batch-tokens"},
    {"mini-batch-words", "batch-tokens"},
    {"max-tokens", "batch-tokens"},
    {"src", "source"},
    {"source-lang", "source"},
    {"tgt", "target"},
    {"trg", "target"},
    {"target-lang", "target"},
    {"output", "out"},
    {"output-dir", "out"},
    {"save-dir", "out"},
    {"model-dir", "out"},
    {"checkpoint", "model"},
    {"run", "model"},
    {"num-layers", "layers"},
    {"num-heads", "heads"},
    {"hidden-size", "d-model"},
    {"dim-emb", "d-model"},
    {"embedding-dim", "d-model"},
    {"ff-size", "d-ff"},
    {"ffn-dim", "d-ff"},
    {"max-epochs", "epochs"},
    {"max-steps", "updates"},
    {"max-update", "updates"},
    {"steps", "updates"},
    {"warmup-steps", "warmup"},
    {"warmup-updates", "warmup"},
    {"clip-norm", "clip"},
    {"optim", "optimizer"},
    {"beam-size", "beam"},
    {"num-beams", "beam"},
    {"nbest", "n-best"},
    {"num-threads", "threads"},
    {"cpu-threads", "threads"},
};

// The choice that other programs call `given`, both without dashes, or null.
const std::string* under_other_name(const std::string& given, const std::vector<std::string>& choices) {
    for (const auto& [theirs, ours] : kOtherNames) {
        if (given != theirs) continue;
        const auto choice = std::ranges::find(choices, "--" + std::string(ours));
        if (choice != choices.end()) return &*choice;
    }
    return nullptr;
}

const std::string* nearest_by_letters(const std::string& given, const std::vector<std::string>& choices) {
    const std::string* nearest = nullptr;
    std::size_t least = 0;
    for (const std::string& choice : choices) {
        const std::string known = letters(choice);
        const auto [shorter, longer] = std::minmax({given.size(), known.size()});
        if (3 * (longer - shorter) >= longer) continue;  // also saves the edit distance of very long words
        const std::size_t distance = edit_distance(given, known);
        if (3 * distance >= longer || (nearest != nullptr && distance >= least)) continue;
        nearest = &choice;
        least = distance;
    }
    return nearest;
}

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> other_names() { return kOtherNames; }

std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices, std::string_view next) {
    const std::string given = letters(word);
    const std::string* nearest = under_other_name(given, choices);
    if (nearest == nullptr) nearest = nearest_by_letters(given, choices);
    if (nearest == nullptr) return next.empty() ? "" : fmt::format("; {}", next);
    return fmt::format("; did you mean {}?{}{}", *nearest, next.empty() ? "" : " ", next);
}

}  // namespace heddle::app
