#include "apps/translation/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/line_batches.h"
#include "apps/translation/unicode.h"
#include "autograd/tape.h"

namespace heddle::app {
namespace {

std::vector<std::string> names_of(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens) {
    std::vector<std::string> names;
    for (const std::int32_t token : tokens) names.push_back(vocabulary.token(token));
    return names;
}

nn::Sentences one_sentence(const nn::Transformer& model, std::span<const std::int32_t> tokens) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    return {Tensor::from(tokens, {length}).to(model.device()), Spans::packed(std::span(&length, 1))};
}

// Tokens that no word has yet belong to the one that comes next.
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
        const std::vector<std::int32_t> wanted = vocabulary.encode(encode_utf8(word));
        const auto stands_at = [&](std::size_t place) {
            const std::size_t length = std::min(wanted.size(), tokens.size() - place);  // the line's end may be cut
            return std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(length),
                              tokens.begin() + static_cast<std::ptrdiff_t>(place));
        };
        std::size_t place = at;
        while (place < tokens.size() && !stands_at(place)) ++place;
        // A word that reads otherwise by itself than in its line stays without tokens.
        if (place < tokens.size() && !wanted.empty()) {
            at = std::min(tokens.size(), place + wanted.size());
            give_to_next(words, pending, at, number);
        }
        ++number;
    }
    return words;
}

TranslationAttention attention_of(const nn::Transformer& model, const Vocabularies& vocabularies, const std::string& line,
                                  const Translation& translation) {
    std::vector<std::vector<std::int32_t>> encoded = encode_lines(*vocabularies.source, std::span(&line, 1));
    cut_to(encoded, Ensemble(model).position_table() - 1);
    std::vector<std::int32_t>& source = encoded.front();
    TranslationAttention attention;
    attention.source_words = words_of_line(*vocabularies.source, line, source);
    attention.target_words = words_of_text(*vocabularies.target, translation.tokens);
    source.push_back(eos_id);
    attention.source_words.push_back(-1);

    std::vector<std::int32_t> read = {bos_id}, written = translation.tokens;
    read.insert(read.end(), written.begin(), written.end());
    if (translation.ended) {
        written.push_back(eos_id);
        attention.target_words.push_back(-1);
    } else if (!written.empty()) {
        read.pop_back();
    }
    attention.source = names_of(*vocabularies.source, source);
    attention.read = names_of(*vocabularies.target, read);
    attention.written = names_of(*vocabularies.target, written);

    const NoGrad no_grad;
    const nn::Sentences from = one_sentence(model, source), to = one_sentence(model, read);
    const Variable memory = model.encode(from.tokens, from.spans, &attention.maps);
    model.decode(to.tokens, to.spans, memory, from.spans, &attention.maps);
    return attention;
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

std::string alignment_text(const WordAttention& words) {
    std::string text;
    for (std::int64_t target = 0; target < words.target_words && words.source_words > 0; ++target) {
        const auto row = words.weights.begin() + target * words.source_words;
        const auto strongest = std::max_element(row, row + words.source_words);
        if (*strongest > 0) text += fmt::format("{}{}-{}", text.empty() ? "" : " ", strongest - row, target);
    }
    return text;
}

}  // namespace heddle::app
