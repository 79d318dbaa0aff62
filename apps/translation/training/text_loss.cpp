#include "apps/translation/training/text_loss.h"

#include <algorithm>
#include <vector>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/unknown_text.h"
#include "core/format.h"
#include "core/parallel.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// The first words that differ; empty ones where none do.
std::pair<std::string, std::string> difference(const std::string& text, const std::string& given_back) {
    if (text == given_back) return {};
    const std::u32string a = decode_utf8(text), b = decode_utf8(given_back);
    const std::vector<std::u32string_view> words = split_at_spaces(a), others = split_at_spaces(b);
    for (std::size_t i = 0; i < std::max(words.size(), others.size()); ++i) {
        const std::u32string_view word = i < words.size() ? words[i] : U"", other = i < others.size() ? others[i] : U"";
        if (word != other) return {encode_utf8(word), encode_utf8(other)};
    }
    return {};
}

// The unknown parts of a line; where there are none, the first word that comes back changed.
struct LineLoss {
    std::vector<std::string> unknown;
    std::pair<std::string, std::string> change;
};

// Whether the pieces of a line in Latin letters, if all are known, are sure to spell the line. Decoding a large text to find that
// out takes as long as encoding it.
bool keeps_latin(const Vocabulary& vocabulary) {
    const std::optional<Normalization> normalization = vocabulary.normalization();
    return !vocabulary.lowercase() && (normalization == Normalization::nfc || normalization == Normalization::none);
}

// ASCII that is printed, and the letters from U+00C0 to U+02FF: Unicode's form C leaves them as they are.
bool is_latin(std::string_view line) {
    return std::ranges::all_of(line, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte < 0x7f) || (byte >= 0x80 && byte < 0xc0) || (byte >= 0xc3 && byte < 0xcc);
    });
}

LineLoss loss_of(const Vocabulary& vocabulary, bool keeps_latin, const std::string& line,
                 const std::vector<std::int32_t>& tokens) {
    if (std::ranges::count(tokens, unk_id) > 0) return {.unknown = vocabulary.unknown_parts(line), .change = {}};
    if (keeps_latin && is_latin(line)) return {};
    return {.unknown = {}, .change = difference(vocabulary.lowercase() ? to_lower(line) : line, vocabulary.decode(tokens))};
}

}  // namespace

TextLoss::TextLoss(TextNames names, const Vocabularies& vocabularies)
    : sides_{Side{.name = std::move(names.source),
                  .vocabulary = *vocabularies.source,
                  .keeps_latin = keeps_latin(*vocabularies.source),
                  .text = &SentencePair::source,
                  .tokens = &TokenPair::source},
             Side{.name = std::move(names.target),
                  .vocabulary = *vocabularies.target,
                  .keeps_latin = keeps_latin(*vocabularies.target),
                  .text = &SentencePair::target,
                  .tokens = &TokenPair::target}} {}

void TextLoss::look_at(const Corpus& text, std::span<const TokenPair> tokens) {
    lines_ += text.size();
    std::vector<LineLoss> losses(tokens.size());
    for (Side& side : sides_) {
        parallel_for(text.size(), 64, [&](std::int64_t begin, std::int64_t end) {
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                losses[i] = loss_of(side.vocabulary, side.keeps_latin, text.pairs[i].*side.text, tokens[i].*side.tokens);
        });
        for (const auto& [unknown, change] : losses) {
            if (!unknown.empty()) {
                if (side.with_unknown == 0) side.first_unknown = unknown.front();
                side.unknown += count_unknown(side.vocabulary, unknown);
                ++side.with_unknown;
            }
            if (change.first == change.second) continue;
            if (side.changed == 0) side.example = change;
            ++side.changed;
        }
    }
}

void TextLoss::report(const Say& say) const {
    for (const Side& side : sides_) {
        if (side.unknown > 0)
            say(
                fmt::format("warning: {}: {} {} in {} of {} are not in the vocabulary, '{}' for example; the model takes them as "
                            "unknown",
                            side.name, grouped_text(side.unknown), unknown_unit(side.vocabulary), grouped_text(side.with_unknown),
                            counted_lines(lines_), readable(side.first_unknown)));
        if (side.changed == 0) continue;
        const bool replaces = side.vocabulary.normalization() == Normalization::nfkc;
        say(fmt::format("{}: the vocabulary changes {} of {}, '{}' to '{}' for example{}", side.name, grouped_text(side.changed),
                        counted_lines(lines_), readable(side.example.first), readable(side.example.second),
                        replaces ? "; --vocab-normalization nfc keeps more" : ""));
    }
}

}  // namespace heddle::app
