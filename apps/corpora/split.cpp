#include "apps/corpora/split.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "apps/translation/text/unicode.h"
#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// The words of a sentence in lower case; sentences with equal words count as equal.
std::string words_alone(const std::string& sentence) {
    std::u32string words;
    for (const char32_t character : to_lower(decode_utf8(sentence)))
        if (is_word_character(character))
            words.push_back(character);
        else if (!words.empty() && words.back() != U' ')
            words.push_back(U' ');
    if (!words.empty() && words.back() == U' ') words.pop_back();
    return encode_utf8(words);
}

SentencePair columns_of(const std::string& line, const LineReader& lines) {
    const std::size_t tab = line.find('\t');
    check(tab != std::string::npos, "{}: line {} has no tab; wanted English, tab, German", lines.name(), lines.number());
    return {.source = line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1), .target = line.substr(0, tab)};
}

// 0 to 99, from a digest that is the same on every machine.
std::uint64_t percentile(const std::string& words) { return std::stoull(digest(words), nullptr, 16) % 100; }

}  // namespace

DividedCorpus divide_corpus(LineReader& lines) {
    std::vector<SentencePair> test, val, train;
    DividedCorpus divided;
    for (std::string line; lines.next(line);) {
        SentencePair pair = columns_of(line, lines);
        if (is_blank(pair.source) || is_blank(pair.target)) {
            ++divided.left_out;
            continue;
        }
        const std::uint64_t place = percentile(words_alone(pair.source));
        (place == 0 ? test : place == 1 ? val : train).push_back(std::move(pair));
    }

    std::unordered_set<std::string> held_out;  // targets; equal sources are always in the same part
    const auto keep = [&](std::vector<SentencePair>& pairs, Corpus& part) {
        for (SentencePair& pair : pairs)
            if (held_out.contains(words_alone(pair.target)))
                ++divided.left_out;
            else
                part.pairs.push_back(std::move(pair));
    };
    const auto hold_out = [&](const Corpus& part) {
        for (const SentencePair& pair : part.pairs) held_out.insert(words_alone(pair.target));
    };
    keep(test, divided.test);
    hold_out(divided.test);
    keep(val, divided.val);
    hold_out(divided.val);
    keep(train, divided.train);
    return divided;
}

}  // namespace heddle::app
