#include "apps/translation/decoding/far_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

constexpr std::int64_t places = 4, pairs_each = 250, least_characters = 1000;
constexpr double far = 1.4;

std::int64_t characters_in(std::string_view text) {
    return std::ranges::count_if(decode_utf8(text), [](char32_t c) { return !is_space(c); });
}

}  // namespace

std::optional<double> characters_per_token(const TokenPairs& pairs, const Vocabulary& source) {
    if (!is_sentencepiece(source.type())) return {};
    std::int64_t characters = 0, tokens = 0;
    // Few places: a prepared text checks each of its files when it is first read.
    const std::int64_t count = std::min(pairs.size(), places * pairs_each);
    for (std::int64_t i = 0; i < count; ++i) {
        const bool all = count == pairs.size();
        const TokenPair pair = pairs.pair(all ? i : i / pairs_each * (pairs.size() / places) + i % pairs_each);
        characters += characters_in(source.decode(pair.source));
        tokens += static_cast<std::int64_t>(pair.source.size());
    }
    if (tokens == 0) return {};
    return static_cast<double>(characters) / static_cast<double>(tokens);
}

void FarText::look_at(std::span<const std::string> lines, std::span<const std::vector<std::int32_t>> tokens) {
    if (!usual_) return;
    for (const std::string& line : lines) characters_ += characters_in(line);
    for (const std::vector<std::int32_t>& each : tokens) tokens_ += static_cast<std::int64_t>(each.size());
}

void FarText::report() const {
    if (!usual_ || characters_ < least_characters ||
        static_cast<double>(tokens_) * *usual_ < far * static_cast<double>(characters_))
        return;
    say_(fmt::format(
        "{}: its words break into {:.2g} times as many tokens as those of the training text: the model may not know this kind of "
        "text, or this language",
        name_, static_cast<double>(tokens_) * *usual_ / static_cast<double>(characters_)));
}

}  // namespace heddle::app
