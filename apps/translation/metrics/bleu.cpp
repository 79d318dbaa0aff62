#include "apps/translation/metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/translation/metrics/ngrams.h"
#include "apps/translation/text/unicode.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

constexpr std::size_t orders = 4;

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
    for (std::size_t at = text.find(from); at != std::u32string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

/// mteval-v13a's symbols: all ASCII punctuation but ' , - and the full stop; the space itself is among them.
bool is_symbol(char32_t c) {
    return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') ||
           (c >= U':' && c <= U'@') || c == U'/';
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }

bool is_stop(char32_t c) { return c == U'.' || c == U','; }

/// Rewrites each pair of neighbours for which `wanted` holds, from left to right and without overlap, as a regular
/// expression of two characters does: the second character of a match cannot begin the next one.
template <class Wanted>
std::u32string split_pairs(const std::u32string& text, Wanted wanted, bool before, bool between, bool after) {
    std::u32string out;
    out.reserve(text.size() * 2);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i + 1 == text.size() || !wanted(text[i], text[i + 1])) {
            out.push_back(text[i]);
            continue;
        }
        if (before) out.push_back(U' ');
        out.push_back(text[i]);
        if (between) out.push_back(U' ');
        out.push_back(text[++i]);
        if (after) out.push_back(U' ');
    }
    return out;
}

std::u32string spaces_around_symbols(const std::u32string& text) {
    std::u32string out;
    out.reserve(text.size() * 2);
    for (const char32_t c : text) {
        if (is_symbol(c)) {
            out.append({U' ', c, U' '});
        } else {
            out.push_back(c);
        }
    }
    return out;
}

double brevity_penalty(std::int64_t hypothesis_length, std::int64_t reference_length) {
    if (hypothesis_length >= reference_length) return 1.0;
    if (hypothesis_length == 0) return 0.0;
    return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

BleuScore scored(const BleuStatistics& statistics, bool effective_order) {
    BleuScore bleu{statistics};
    bleu.brevity_penalty = brevity_penalty(bleu.hypothesis_length, bleu.reference_length);
    if (std::all_of(bleu.matches.begin(), bleu.matches.end(), [](std::int64_t n) { return n == 0; })) return bleu;
    double smoothing = 1.0;
    double log_sum = 0;
    std::size_t n = 0;
    for (; n < orders && bleu.totals[n] > 0; ++n) {
        const auto total = static_cast<double>(bleu.totals[n]);
        if (bleu.matches[n] == 0) smoothing *= 2.0;
        bleu.precisions[n] =
            bleu.matches[n] == 0 ? 100.0 / (smoothing * total) : 100.0 * static_cast<double>(bleu.matches[n]) / total;
        log_sum += std::log(bleu.precisions[n]);
    }
    // Without effective order an order without any n-gram makes the whole score zero.
    if (n < orders && !effective_order) return bleu;
    bleu.score = bleu.brevity_penalty * std::exp(log_sum / static_cast<double>(n));
    return bleu;
}

}  // namespace

std::vector<std::string> bleu_tokens(std::string_view line, bool lowercase) {
    std::u32string text = decode_utf8(line);
    if (lowercase) text = to_lower(text);
    while (!text.empty() && is_space(text.back())) text.pop_back();
    replace_all(text, U"<skipped>", U"");
    replace_all(text, U"-\n", U"");
    replace_all(text, U"&quot;", U"\"");
    replace_all(text, U"&amp;", U"&");
    replace_all(text, U"&lt;", U"<");
    replace_all(text, U"&gt;", U">");
    text = spaces_around_symbols(U" " + text + U" ");
    text = split_pairs(
        text, [](char32_t a, char32_t b) { return !is_digit(a) && is_stop(b); }, false, true, true);
    text = split_pairs(
        text, [](char32_t a, char32_t b) { return is_stop(a) && !is_digit(b); }, true, true, false);
    text = split_pairs(
        text, [](char32_t a, char32_t b) { return is_digit(a) && b == U'-'; }, false, true, true);
    std::vector<std::string> tokens;
    for (const std::u32string_view token : split_at_spaces(text)) tokens.push_back(encode_utf8(token));
    return tokens;
}

BleuStatistics& BleuStatistics::operator+=(const BleuStatistics& other) {
    for (std::size_t n = 0; n < orders; ++n) {
        matches[n] += other.matches[n];
        totals[n] += other.totals[n];
    }
    hypothesis_length += other.hypothesis_length;
    reference_length += other.reference_length;
    return *this;
}

BleuStatistics bleu_statistics(std::string_view hypothesis, std::string_view reference, bool lowercase) {
    WordNumbers numbers;
    std::array<NgramCounts, orders> counts;
    count_ngrams(numbers(bleu_tokens(hypothesis, lowercase)), numbers(bleu_tokens(reference, lowercase)), counts);
    BleuStatistics out;
    for (std::size_t n = 0; n < orders; ++n) {
        out.matches[n] = counts[n].matches;
        out.totals[n] = counts[n].hypothesis;
    }
    out.hypothesis_length = counts[0].hypothesis;
    out.reference_length = counts[0].reference;
    return out;
}

BleuScore corpus_bleu(const BleuStatistics& statistics) { return scored(statistics, false); }

BleuScore sentence_bleu(const BleuStatistics& statistics) { return scored(statistics, true); }

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references, bool lowercase) {
    check(hypotheses.size() == references.size(), "bleu: {} hypotheses, but {} references; wanted one reference per hypothesis",
          hypotheses.size(), references.size());
    std::vector<BleuStatistics> sentences(hypotheses.size());
    parallel_for(static_cast<std::int64_t>(sentences.size()), 32, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            sentences[i] = bleu_statistics(hypotheses[i], references[i], lowercase);
    });
    BleuStatistics sum;
    for (const BleuStatistics& sentence : sentences) sum += sentence;
    return corpus_bleu(sum);
}

std::string BleuScore::text() const {
    const double ratio =
        reference_length == 0 ? 0.0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
    return fmt::format("BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score,
                       precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio, hypothesis_length,
                       reference_length);
}

}  // namespace heddle::app
