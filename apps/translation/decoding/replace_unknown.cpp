#include "apps/translation/decoding/replace_unknown.h"

#include <algorithm>
#include <iterator>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"

namespace heddle::app {
namespace {

bool has_unknown(const Translation& translation) { return std::ranges::count(translation.tokens, unk_id) > 0; }

std::vector<std::int32_t> without_unknown(std::span<const std::int32_t> tokens) {
    std::vector<std::int32_t> known;
    std::ranges::copy_if(tokens, std::back_inserter(known), [](std::int32_t token) { return token != unk_id; });
    return known;
}

// The text of tokens with words[n] for the n-th unknown one; with SentencePiece it stands between spaces, as the sign for unknown
// words does.
std::string decode_with(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens, std::span<const std::string> words) {
    const bool joins = !is_sentencepiece(vocabulary.type());
    std::vector<std::string> parts;
    for (auto begin = tokens.begin(); begin != tokens.end();) {
        auto end = begin + 1;
        if (*begin == unk_id) {
            parts.push_back(words.front());
            words = words.subspan(1);
        } else if (joins) {
            if (*begin > eos_id) parts.push_back(vocabulary.token(*begin));
        } else {
            end = std::find(begin, tokens.end(), unk_id);
            parts.push_back(vocabulary.decode({begin, end}));
        }
        begin = end;
    }
    if (vocabulary.type() == VocabularyType::word) return join_words(parts);
    std::string text;
    for (const std::string& part : parts) text += (joins || text.empty() || part.empty() ? "" : " ") + part;
    return text;
}

// The words of a line. With a word vocabulary each token is a word of its own, so that no word carries a comma along, and a sign
// that the vocabulary knows belongs to no word, because no word is translated by it: `attention` is changed accordingly.
std::vector<std::string> source_words(const Vocabulary& vocabulary, const std::string& line, TranslationAttention& attention) {
    const std::u32string text = decode_utf8(line);
    std::vector<std::string> words;
    if (vocabulary.type() != VocabularyType::word) {
        for (const std::u32string_view word : split_at_spaces(text)) words.push_back(encode_utf8(word));
        return words;
    }
    for (const std::string& token : split_words(text)) words.push_back(join_words({&token, 1}));
    for (std::size_t i = 0; i + 1 < attention.source_ids.size(); ++i) {
        const bool sign = std::ranges::none_of(decode_utf8(words[i]), is_word_character);
        attention.source_words[i] = sign && attention.source_ids[i] != unk_id ? -1 : static_cast<std::int64_t>(i);
    }
    return words;
}

// The source word to write for each unknown token.
std::vector<std::string> copied_words(const Vocabularies& vocabularies, const std::string& line, TranslationAttention attention) {
    const std::vector<std::string> source = source_words(*vocabularies.source, line, attention);
    std::int64_t count = 0;  // each unknown token is a word of its own; other tokens belong to none
    for (std::size_t i = 0; i < attention.target_words.size(); ++i)
        attention.target_words[i] = attention.written_ids[i] == unk_id ? count++ : -1;
    const WordAttention weights = word_attention(attention);
    std::vector<std::string> words;
    for (std::int64_t target = 0; target < count; ++target) {
        const std::optional<std::int64_t> word = strongest_source(weights, target);
        words.push_back(word ? source.at(static_cast<std::size_t>(*word)) : "\xE2\x81\x87");
    }
    return words;
}

}  // namespace

std::vector<std::int64_t> words_without_unknown(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens) {
    const std::vector<std::int64_t> known = words_of_text(vocabulary, without_unknown(tokens));
    std::vector<std::int64_t> words;
    auto next = known.begin();
    for (const std::int32_t token : tokens) words.push_back(token == unk_id ? -1 : *next++);
    return words;
}

void replace_unknown(UnknownWords how, const nn::Transformer& model, const Vocabularies& vocabularies,
                     std::span<const std::string> lines, std::span<std::vector<Translation>> translations) {
    std::vector<TranslatedLine> pairs;
    std::vector<Translation*> changed;
    for (std::size_t i = 0; i < lines.size(); ++i)
        for (Translation& each : translations[i]) {
            if (!has_unknown(each)) continue;
            pairs.push_back({lines[i], &each});
            changed.push_back(&each);
        }
    if (how == UnknownWords::drop) {
        for (Translation* each : changed) each->text = vocabularies.target->decode(without_unknown(each->tokens));
        return;
    }
    attend(model, vocabularies, pairs, [&](std::size_t pair, TranslationAttention attention) {
        const std::string line(pairs[pair].line);
        changed[pair]->text =
            decode_with(*vocabularies.target, changed[pair]->tokens, copied_words(vocabularies, line, std::move(attention)));
    });
}

}  // namespace heddle::app
