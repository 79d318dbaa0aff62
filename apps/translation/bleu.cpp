#include "apps/translation/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "apps/translation/unicode.h"
#include "apps/version.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

constexpr int orders = 4;

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

std::vector<std::string> split_at_spaces(std::u32string_view text) {
    std::vector<std::string> out;
    bool inside = false;
    for (const char32_t c : text) {
        const bool space = is_space(c);
        if (!space && !inside) out.emplace_back();
        if (!space) append_utf8(out.back(), c);
        inside = !space;
    }
    return out;
}

/// What one sentence adds to the corpus.
struct Statistics {
    std::array<std::int64_t, orders> matches{};
    std::array<std::int64_t, orders> totals{};
    std::int64_t hypothesis_length = 0;
    std::int64_t reference_length = 0;
};

Statistics sentence_statistics(const std::string& hypothesis, const std::string& reference, bool lowercase) {
    // Tokens become numbers first, so that n-grams are compared without strings.
    std::unordered_map<std::string, int> numbers;
    const auto numbered = [&](const std::vector<std::string>& tokens) {
        std::vector<int> out;
        for (const std::string& token : tokens)
            out.push_back(numbers.try_emplace(token, static_cast<int>(numbers.size())).first->second);
        return out;
    };
    const std::vector<int> said = numbered(bleu_tokens(hypothesis, lowercase));
    const std::vector<int> wanted = numbered(bleu_tokens(reference, lowercase));
    Statistics out;
    out.hypothesis_length = static_cast<std::int64_t>(said.size());
    out.reference_length = static_cast<std::int64_t>(wanted.size());
    for (std::size_t n = 1; n <= orders; ++n) {
        std::map<std::vector<int>, std::int64_t> open;  // how often the reference still has this n-gram
        for (std::size_t i = 0; i + n <= wanted.size(); ++i) ++open[{wanted.begin() + i, wanted.begin() + i + n}];
        for (std::size_t i = 0; i + n <= said.size(); ++i) {
            ++out.totals[n - 1];
            const auto found = open.find({said.begin() + i, said.begin() + i + n});
            if (found == open.end() || found->second == 0) continue;
            --found->second;
            ++out.matches[n - 1];
        }
    }
    return out;
}

double brevity_penalty(std::int64_t hypothesis_length, std::int64_t reference_length) {
    if (hypothesis_length >= reference_length) return 1.0;
    if (hypothesis_length == 0) return 0.0;
    return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

void finish(BleuScore& bleu) {
    bleu.brevity_penalty = brevity_penalty(bleu.hypothesis_length, bleu.reference_length);
    if (std::all_of(bleu.matches.begin(), bleu.matches.end(), [](std::int64_t n) { return n == 0; })) return;
    double smoothing = 1.0;
    for (std::size_t n = 0; n < orders && bleu.totals[n] > 0; ++n) {
        const auto total = static_cast<double>(bleu.totals[n]);
        if (bleu.matches[n] == 0) smoothing *= 2.0;
        bleu.precisions[n] =
            bleu.matches[n] == 0 ? 100.0 / (smoothing * total) : 100.0 * static_cast<double>(bleu.matches[n]) / total;
    }
    // An order without any n-gram makes the whole score zero: no effective order.
    double log_sum = 0;
    for (const double precision : bleu.precisions) {
        if (precision == 0.0) return;
        log_sum += std::log(precision);
    }
    bleu.score = bleu.brevity_penalty * std::exp(log_sum / orders);
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
    return split_at_spaces(text);
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references, bool lowercase) {
    check(hypotheses.size() == references.size(), "bleu: {} hypotheses, but {} references; wanted one reference per hypothesis",
          hypotheses.size(), references.size());
    std::vector<Statistics> sentences(hypotheses.size());
    parallel_for(static_cast<std::int64_t>(sentences.size()), 32, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            sentences[i] = sentence_statistics(hypotheses[i], references[i], lowercase);
        }
    });
    BleuScore bleu;
    bleu.lowercase = lowercase;
    for (const Statistics& sentence : sentences) {
        bleu.hypothesis_length += sentence.hypothesis_length;
        bleu.reference_length += sentence.reference_length;
        for (std::size_t n = 0; n < orders; ++n) {
            bleu.matches[n] += sentence.matches[n];
            bleu.totals[n] += sentence.totals[n];
        }
    }
    finish(bleu);
    return bleu;
}

std::string BleuScore::signature() const {
    return fmt::format("nrefs:1|case:{}|eff:no|tok:13a|smooth:exp|version:heddle-{}", lowercase ? "lc" : "mixed", version);
}

std::string BleuScore::text() const {
    const double ratio =
        reference_length == 0 ? 0.0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
    return fmt::format("BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score,
                       precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio, hypothesis_length,
                       reference_length);
}

}  // namespace heddle::app
