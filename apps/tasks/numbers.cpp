// clang-format off
// Numbers from 0 to 999,999 in words.
//
// English, the American way without "and":  21 twenty-one, 305 three hundred five, 1001 one thousand one.
// German, always one word (Duden):
//   - units before tens: 21 einundzwanzig, 47 siebenundvierzig;
//   - one is "eins" only at the end of the word: 1 eins, 101 einhunderteins, 1001 eintausendeins;
//     before hundert, tausend and und it is "ein": 100 einhundert, 1000 eintausend, 21000 einundzwanzigtausend,
//     101000 einhunderteintausend;
//   - sechzehn, sechzig, siebzehn and siebzig drop a letter or syllable of sechs and sieben; dreißig has an ß.
// clang-format on
#include <array>

#include "apps/tasks/drawing.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Words = std::array<const char*, 20>;
using Tens = std::array<const char*, 10>;

constexpr Words english_small{"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                              "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                              "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr Tens english_tens{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr Words german_small{"null",     "ein",      "zwei",     "drei",     "vier",     "fünf",    "sechs",
                             "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
                             "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr Tens german_tens{"", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};

const char* word(const auto& words, std::int64_t number) { return words[static_cast<std::size_t>(number)]; }

/// 1..999.
std::string english_below_thousand(std::int64_t number) {
    std::vector<std::string> words;
    if (number >= 100) words.insert(words.end(), {word(english_small, number / 100), "hundred"});
    const std::int64_t rest = number % 100;
    if (rest >= 20) {
        const std::string tens = word(english_tens, rest / 10);
        words.push_back(rest % 10 == 0 ? tens : tens + "-" + word(english_small, rest % 10));
    } else if (rest > 0) {
        words.emplace_back(word(english_small, rest));
    }
    return spaced(words);
}

/// 1..999; `ends_word`: nothing follows, so a last "ein" becomes "eins".
std::string german_below_thousand(std::int64_t number, bool ends_word) {
    std::string text;
    if (number >= 100) text = word(german_small, number / 100) + std::string("hundert");
    const std::int64_t rest = number % 100;
    if (rest >= 20) {
        if (rest % 10 != 0) text += word(german_small, rest % 10) + std::string("und");
        text += word(german_tens, rest / 10);
    } else if (rest > 0) {
        text += word(german_small, rest);
        if (rest == 1 && ends_word) text += "s";
    }
    return text;
}

void check_range(std::int64_t number) { check(number >= 0 && number <= 999999, "number words: {} is outside 0..999999", number); }

/// Mostly six digits, with more zeros than by chance: "seven hundred thousand five" must occur to be learned. At least 100:
/// smaller numbers have irregular words that cannot be inferred.
std::int64_t draw_number(Sequence& numbers) {
    const double share = numbers.uniform();
    std::int64_t place = share < 0.03 ? 100 : share < 0.10 ? 1000 : share < 0.30 ? 10000 : 100000;
    std::int64_t number = place * static_cast<std::int64_t>(1 + numbers.below(9));
    while ((place /= 10) > 0) {
        if (!happens(numbers, 0.15)) number += place * static_cast<std::int64_t>(numbers.below(10));
    }
    return number;
}

SentencePair number_pair(std::int64_t number) { return {english_number(number), german_number(number)}; }

}  // namespace

std::string english_number(std::int64_t number) {
    check_range(number);
    if (number == 0) return english_small[0];
    std::vector<std::string> words;
    if (number >= 1000) words.insert(words.end(), {english_below_thousand(number / 1000), "thousand"});
    if (number % 1000 > 0) words.push_back(english_below_thousand(number % 1000));
    return spaced(words);
}

std::string german_number(std::int64_t number) {
    check_range(number);
    if (number == 0) return german_small[0];
    std::string text;
    if (number >= 1000) text = german_below_thousand(number / 1000, false) + "tausend";
    if (number % 1000 > 0) text += german_below_thousand(number % 1000, true);
    return text;
}

TaskCorpus numbers_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "numbers";
    task.description = "English number words to German ones, 0-999,999: units come before tens, and all is one word";
    task.source_language = "en";
    task.target_language = "de";
    // 200 tokens are about one for each part of a number word (9 in an English number, 6 in a German one). 4000 lines contain all
    // parts, and training on all the long German words would take seconds.
    task.vocabulary = {.type = VocabularyType::bpe, .size = 200, .max_lines = 4000};
    for (std::int64_t number = 0; number < 100; ++number) task.training.pairs.push_back(number_pair(number));
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, {}, [&] { return number_pair(draw_number(numbers)); });
    return task;
}

}  // namespace heddle::app
