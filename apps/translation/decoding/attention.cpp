#include "apps/translation/decoding/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/batching/line_batches.h"
#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

std::vector<std::string> names_of(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens) {
    std::vector<std::string> names;
    for (const std::int32_t token : tokens) names.push_back(vocabulary.token(token));
    return names;
}

// Assigns tokens that belong to no word yet to the next word.
void give_to_next(std::vector<std::int64_t>& words, std::size_t& pending, std::size_t end, std::int64_t word) {
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(pending), words.begin() + static_cast<std::ptrdiff_t>(end), word);
    pending = end;
}

std::int64_t count_of(const std::vector<std::int64_t>& words) {
    return words.empty() ? 0 : *std::max_element(words.begin(), words.end()) + 1;
}

}  // namespace

std::vector<std::int64_t> words_of_text(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens) {
    std::vector<std::int64_t> words(tokens.size(), -1);
    std::size_t pending = 0, letters = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::u32string text = decode_utf8(vocabulary.decode(tokens.first(i + 1)));
        const auto seen =
            static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char32_t c) { return !is_space(c); }));
        if (seen == letters) continue;
        letters = seen;
        give_to_next(words, pending, i + 1, static_cast<std::int64_t>(split_at_spaces(text).size()) - 1);
    }
    return words;
}

std::vector<std::int64_t> words_of_line(const Vocabulary& vocabulary, std::string_view line,
                                        std::span<const std::int32_t> tokens) {
    std::vector<std::int64_t> words(tokens.size(), -1);
    const std::u32string text = decode_utf8(line);
    std::size_t at = 0, pending = 0;
    std::int64_t number = 0;
    for (const std::u32string_view word : split_at_spaces(text)) {
        const nn::Tokens wanted = vocabulary.encode(encode_utf8(word));
        const auto stands_at = [&](std::size_t place) {
            const std::size_t length = std::min(wanted.size(), tokens.size() - place);  // the line's end may be cut
            return std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(length),
                              tokens.begin() + static_cast<std::ptrdiff_t>(place));
        };
        std::size_t place = at;
        while (place < tokens.size() && !stands_at(place)) ++place;
        // A word whose tokens differ by itself and in its line stays without tokens.
        if (place < tokens.size() && !wanted.empty()) {
            at = std::min(tokens.size(), place + wanted.size());
            give_to_next(words, pending, at, number);
        }
        ++number;
    }
    return words;
}

namespace {

// Weights of a map that are computed at once for a head of a layer: enough rows for the matrix products, and some 80 MB for two
// stacks of six layers with eight heads. A pair that has more weights runs alone.
constexpr std::int64_t weights_at_once = 1 << 16;

// The tokens that the decoder reads to write `translation`.
nn::Tokens read_for(const Translation& translation) {
    nn::Tokens read = {bos_id};
    read.insert(read.end(), translation.tokens.begin(), translation.tokens.end());
    if (!translation.ended && read.size() > 1) read.pop_back();
    return read;
}

// Everything but the maps. `source`: with the end mark.
TranslationAttention named(const Vocabularies& vocabularies, const TranslatedLine& pair, const nn::Tokens& source,
                           const nn::Tokens& read) {
    nn::Tokens written = pair.translation->tokens;
    TranslationAttention attention;
    attention.source_words = words_of_line(*vocabularies.source, pair.line, std::span(source).first(source.size() - 1));
    attention.source_words.push_back(-1);
    attention.target_words = words_of_text(*vocabularies.target, written);
    if (pair.translation->ended) {
        written.push_back(eos_id);
        attention.target_words.push_back(-1);
    }
    attention.source = names_of(*vocabularies.source, source);
    attention.read = names_of(*vocabularies.target, read);
    attention.written = names_of(*vocabularies.target, written);
    attention.source_ids = source;
    attention.read_ids = read;
    attention.written_ids = std::move(written);
    return attention;
}

}  // namespace

void attend(const nn::Transformer& model, const Vocabularies& vocabularies, std::span<const TranslatedLine> pairs,
            const std::function<void(std::size_t pair, TranslationAttention attention)>& take) {
    std::vector<std::string> lines;
    for (const TranslatedLine& pair : pairs) lines.emplace_back(pair.line);
    std::vector<nn::Tokens> sources = encode_lines(*vocabularies.source, lines);
    cut_to(sources, Ensemble(model).position_table() - 1);
    std::vector<std::int64_t> areas;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        sources[i].push_back(eos_id);
        const std::size_t width = std::max(sources[i].size(), pairs[i].translation->tokens.size() + 1);
        areas.push_back(static_cast<std::int64_t>(width * width));
    }
    for (const std::vector<std::int64_t>& batch : nn::batches_by_width(areas, weights_at_once)) {
        std::vector<nn::Tokens> source, read;
        for (const std::int64_t i : batch) {
            source.push_back(std::move(sources[static_cast<std::size_t>(i)]));
            read.push_back(read_for(*pairs[static_cast<std::size_t>(i)].translation));
        }
        std::vector<nn::AttentionMaps> maps = nn::attention_maps(model, source, read);
        for (std::size_t row = 0; row < batch.size(); ++row) {
            const auto pair = static_cast<std::size_t>(batch[row]);
            TranslationAttention attention = named(vocabularies, pairs[pair], source[row], read[row]);
            attention.maps = std::move(maps[row]);
            take(pair, std::move(attention));
        }
    }
}

TranslationAttention attention_of(const nn::Transformer& model, const Vocabularies& vocabularies, const std::string& line,
                                  const Translation& translation) {
    TranslationAttention one;
    const TranslatedLine pair{line, &translation};
    attend(model, vocabularies, {&pair, 1}, [&](std::size_t, TranslationAttention attention) { one = std::move(attention); });
    return one;
}

std::vector<DecodingStep> decoding_steps(const nn::Transformer& model, const Vocabulary& target,
                                         const TranslationAttention& attention, std::size_t count) {
    std::vector<DecodingStep> steps;
    for (const nn::StepProbabilities& each :
         nn::step_probabilities(model, attention.source_ids, attention.read_ids, attention.written_ids, count)) {
        DecodingStep& step = steps.emplace_back(DecodingStep{.probability = each.written, .likeliest = {}});
        for (const std::pair<std::int32_t, double>& next : each.likeliest)
            step.likeliest.push_back({target.token(next.first), next.second});
    }
    return steps;
}

WordAttention word_attention(const TranslationAttention& attention) {
    WordAttention words{
        .source_words = count_of(attention.source_words), .target_words = count_of(attention.target_words), .weights = {}};
    words.weights.assign(static_cast<std::size_t>(words.source_words * words.target_words), 0);
    if (attention.maps.cross.empty()) return words;
    const Tensor& map = attention.maps.cross.back();
    const std::vector<double> weights = map.to_vector();
    const std::int64_t heads = map.shape()[1], queries = map.shape()[2], keys = map.shape()[3];
    for (std::int64_t row = 0; row < heads * queries; ++row) {
        const std::int64_t target = attention.target_words[static_cast<std::size_t>(row % queries)];
        const auto steps = std::count(attention.target_words.begin(), attention.target_words.end(), target);
        for (std::int64_t key = 0; key < keys && target >= 0; ++key) {
            const std::int64_t source = attention.source_words[static_cast<std::size_t>(key)];
            if (source < 0) continue;
            words.weights[static_cast<std::size_t>(target * words.source_words + source)] +=
                weights[static_cast<std::size_t>(row * keys + key)] / static_cast<double>(heads * steps);
        }
    }
    return words;
}

std::optional<std::int64_t> strongest_source(const WordAttention& words, std::int64_t target) {
    if (words.source_words == 0) return {};
    const auto row = words.weights.begin() + target * words.source_words;
    const auto strongest = std::max_element(row, row + words.source_words);
    if (*strongest > 0) return strongest - row;
    return {};
}

std::string alignment_text(const WordAttention& words) {
    std::string text;
    for (std::int64_t target = 0; target < words.target_words; ++target)
        if (const std::optional<std::int64_t> source = strongest_source(words, target))
            text += fmt::format("{}{}-{}", text.empty() ? "" : " ", *source, target);
    return text;
}

}  // namespace heddle::app
