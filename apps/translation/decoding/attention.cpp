#include "apps/translation/decoding/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/batching/batch_tensors.h"
#include "apps/translation/batching/line_batches.h"
#include "apps/translation/text/unicode.h"
#include "autograd/tape.h"

namespace heddle::app {
namespace {

std::vector<std::string> names_of(const Vocabulary& vocabulary, std::span<const std::int32_t> tokens) {
    std::vector<std::string> names;
    for (const std::int32_t token : tokens) names.push_back(vocabulary.token(token));
    return names;
}

// A sentence's part of a batch's maps [sentences, heads, queries, keys], without the room that its longer neighbours need.
std::vector<Tensor> maps_of_sentence(const std::vector<Tensor>& batch, std::size_t sentence, std::size_t queries,
                                     std::size_t keys) {
    const auto at = static_cast<std::int64_t>(sentence), rows = static_cast<std::int64_t>(queries),
               cols = static_cast<std::int64_t>(keys);
    std::vector<Tensor> maps;
    for (const Tensor& all : batch) {
        const Tensor wide = all.slice(at, at + 1);
        const std::int64_t heads = wide.shape()[1], wide_rows = wide.shape()[2], wide_cols = wide.shape()[3];
        Tensor& map = maps.emplace_back(Tensor::empty({1, heads, rows, cols}, DType::f32));
        for (std::int64_t row = 0; row < heads * rows; ++row)
            std::copy_n(wide.data<float>() + (row / rows * wide_rows + row % rows) * wide_cols, cols,
                        map.mutable_data<float>() + row * cols);
    }
    return maps;
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

namespace {

// Weights of a map that are computed at once for a head of a layer: enough rows for the matrix products, and for two stacks of
// six layers with eight heads some 40 MB. A pair that is wider alone runs alone.
constexpr std::int64_t weights_at_once = 1 << 16;

// What the decoder reads to write `translation`.
std::vector<std::int32_t> read_for(const Translation& translation) {
    std::vector<std::int32_t> read = {bos_id};
    read.insert(read.end(), translation.tokens.begin(), translation.tokens.end());
    if (!translation.ended && read.size() > 1) read.pop_back();
    return read;
}

// All but the maps. `source`: with the end mark.
TranslationAttention named(const Vocabularies& vocabularies, const TranslatedLine& pair, const std::vector<std::int32_t>& source,
                           const std::vector<std::int32_t>& read) {
    std::vector<std::int32_t> written = pair.translation->tokens;
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

nn::AttentionMaps maps_of(const nn::Transformer& model, const nn::Sentences& source, const nn::Sentences& read) {
    nn::AttentionMaps maps;
    const Variable memory = model.encode(source.tokens, source.spans, &maps);
    model.decode(read.tokens, read.spans, memory, source.spans, &maps);
    for (std::vector<Tensor>* kind : {&maps.encoder, &maps.decoder, &maps.cross})
        for (Tensor& map : *kind) map = map.to(Device::cpu).to(DType::f32);
    return maps;
}

}  // namespace

void attend(const nn::Transformer& model, const Vocabularies& vocabularies, std::span<const TranslatedLine> pairs,
            const std::function<void(std::size_t pair, TranslationAttention attention)>& take) {
    std::vector<std::string> lines;
    for (const TranslatedLine& pair : pairs) lines.emplace_back(pair.line);
    std::vector<std::vector<std::int32_t>> sources = encode_lines(*vocabularies.source, lines);
    cut_to(sources, Ensemble(model).position_table() - 1);
    std::vector<std::int64_t> areas;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        sources[i].push_back(eos_id);
        const std::size_t width = std::max(sources[i].size(), pairs[i].translation->tokens.size() + 1);
        areas.push_back(static_cast<std::int64_t>(width * width));
    }
    const NoGrad no_grad;
    for (const std::vector<std::int64_t>& batch : batches_by_width(areas, weights_at_once)) {
        std::vector<std::vector<std::int32_t>> source, read;
        for (const std::int64_t i : batch) {
            source.push_back(std::move(sources[static_cast<std::size_t>(i)]));
            read.push_back(read_for(*pairs[static_cast<std::size_t>(i)].translation));
        }
        const nn::AttentionMaps maps = maps_of(model, packed(source), packed(read));
        for (std::size_t row = 0; row < batch.size(); ++row) {
            const auto pair = static_cast<std::size_t>(batch[row]);
            TranslationAttention attention = named(vocabularies, pairs[pair], source[row], read[row]);
            const auto part = [&](const std::vector<Tensor>& kind, std::size_t queries, std::size_t keys) {
                return maps_of_sentence(kind, row, queries, keys);
            };
            attention.maps.encoder = part(maps.encoder, source[row].size(), source[row].size());
            attention.maps.decoder = part(maps.decoder, read[row].size(), read[row].size());
            attention.maps.cross = part(maps.cross, read[row].size(), source[row].size());
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
