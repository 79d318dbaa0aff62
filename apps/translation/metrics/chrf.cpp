#include "apps/translation/metrics/chrf.h"

#include <span>

#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

constexpr double beta = 2;

bool is_ascii_punctuation(char32_t c) {
    return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

std::u32string decoded(std::string_view line, bool lowercase) {
    const std::u32string text = decode_utf8(line);
    return lowercase ? to_lower(text) : text;
}

std::vector<std::string> without_punctuation(std::span<const std::u32string_view> words) {
    std::vector<std::string> tokens;
    const auto cut = [&tokens](std::u32string_view word, std::size_t at) {
        tokens.push_back(encode_utf8(word.substr(0, at)));
        tokens.push_back(encode_utf8(word.substr(at)));
    };
    for (const std::u32string_view word : words) {
        if (word.size() > 1 && is_ascii_punctuation(word.back()))
            cut(word, word.size() - 1);
        else if (word.size() > 1 && is_ascii_punctuation(word.front()))
            cut(word, 1);
        else
            tokens.push_back(encode_utf8(word));
    }
    return tokens;
}

/// A line as chrF counts it.
struct Line {
    std::u32string characters;
    std::vector<std::string> tokens;

    Line(std::string_view line, bool lowercase) {
        const std::u32string text = decoded(line, lowercase);
        const std::vector<std::u32string_view> words = split_at_spaces(text);
        for (const std::u32string_view word : words) characters += word;
        tokens = without_punctuation(words);
    }
};

double f_score(std::span<const NgramCounts> orders) {
    double precision = 0, recall = 0, effective = 0;
    for (const NgramCounts& order : orders) {
        if (order.hypothesis == 0 || order.reference == 0) continue;
        precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
        recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
        ++effective;
    }
    if (precision + recall == 0) return 0;
    precision /= effective;
    recall /= effective;
    return 100 * (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

}  // namespace

ChrfStatistics& ChrfStatistics::operator+=(const ChrfStatistics& other) {
    for (std::size_t n = 0; n < orders.size(); ++n) orders[n] += other.orders[n];
    return *this;
}

ChrfStatistics chrf_statistics(std::string_view hypothesis, std::string_view reference, bool lowercase) {
    const Line said(hypothesis, lowercase), wanted(reference, lowercase);
    ChrfStatistics out;
    const std::span<NgramCounts> orders = out.orders;
    count_ngrams(said.characters, wanted.characters, orders.first(chrf_characters));
    WordNumbers numbers;
    count_ngrams(numbers(said.tokens), numbers(wanted.tokens), orders.last(chrf_words));
    for (NgramCounts& order : out.orders)
        if (order.reference == 0) order.hypothesis = 0;
    return out;
}

double chrf_score(const ChrfStatistics& statistics) { return f_score(std::span(statistics.orders).first(chrf_characters)); }

double chrf_plus_plus_score(const ChrfStatistics& statistics) { return f_score(statistics.orders); }

std::vector<std::string> chrf_tokens(std::string_view line, bool lowercase) { return Line(line, lowercase).tokens; }

}  // namespace heddle::app
