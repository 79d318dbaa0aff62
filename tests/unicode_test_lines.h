// Lines for tests of metrics: words of many scripts, odd spaces, combining marks, emoji, punctuation, empty sides. The same lines
// as tests/golden/unicode_test_lines.py, number by number, from the same pieces: keep the two alike.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/translation/text/unicode.h"
#include "core/random.h"

namespace heddle::app {

struct UnicodeTestLines {
    std::vector<std::string> references;
    std::vector<std::string> first;   ///< what a system made of them
    std::vector<std::string> second;  ///< what another made of them
};

/// Draws lines, on code points.
class LineDisturber {
  public:
    explicit LineDisturber(std::uint64_t seed) : numbers_(seed) {
        std::ifstream file(HEDDLE_SOURCE_DIR "/tests/golden/unicode_test_lines.json");
        pieces_ = nlohmann::json::parse(file);
    }

    void add_to(UnicodeTestLines& lines) {
        std::u32string reference = line();
        if (numbers_.below(3) == 0) reference = disturbed(reference);
        const std::u32string translation = translated(reference);
        lines.references.push_back(encode_utf8(reference));
        lines.first.push_back(encode_utf8(translation));
        const std::uint64_t other = numbers_.below(10);
        lines.second.push_back(encode_utf8(other == 0   ? disturbed(translation)
                                           : other == 1 ? disturbed(reference)
                                                        : translation));
    }

  private:
    std::u32string pick(const char* name) {
        const nlohmann::json& pieces = pieces_.at(name);
        return decode_utf8(pieces.at(numbers_.below(pieces.size())).get<std::string>());
    }

    std::u32string line() {
        std::u32string text;
        const std::uint64_t words = numbers_.below(14);
        for (std::uint64_t i = 0; i < words; ++i) {
            if (i > 0) text += numbers_.below(8) == 0 ? pick("spaces") : U" ";
            text += pick("words");
        }
        return text + pick("ends");
    }

    std::u32string code_point() {
        const std::uint64_t kind = numbers_.below(4);
        const std::uint64_t value = kind == 0   ? 0x4E00 + numbers_.below(0x5000)
                                    : kind == 1 ? 0x1F300 + numbers_.below(0x400)
                                                : 1 + numbers_.below(0x4FF);
        return std::u32string(1, static_cast<char32_t>(value));
    }

    std::u32string disturbed(std::u32string text) {
        for (std::uint64_t left = numbers_.below(6); left > 0; --left) {
            const std::uint64_t at = numbers_.below(text.size() + 1);
            const std::u32string piece = numbers_.below(6) == 0 ? code_point() : pick("odd");
            text.replace(at, numbers_.below(4), piece);
        }
        return text;
    }

    /// May take the reference away.
    std::u32string translated(std::u32string& reference) {
        const std::uint64_t kind = numbers_.below(20);
        if (kind == 0) return U"";
        if (kind == 1) return pick("spaces");
        if (kind == 2) return reference;
        if (kind == 3) return std::exchange(reference, U"");
        if (kind < 6) return line();
        if (kind < 8) return to_lower(reference);
        return disturbed(reference);
    }

    Sequence numbers_;
    nlohmann::json pieces_;
};

inline UnicodeTestLines unicode_test_lines(std::uint64_t seed, std::size_t count) {
    LineDisturber disturber(seed);
    UnicodeTestLines lines;
    for (std::size_t i = 0; i < count; ++i) disturber.add_to(lines);
    return lines;
}

/// What sacrebleu said about such lines: tests/golden/scores.json.
inline nlohmann::json golden_scores() {
    std::ifstream file(HEDDLE_SOURCE_DIR "/tests/golden/scores.json");
    return nlohmann::json::parse(file);
}

/// The key of a metric in those files.
inline constexpr std::array score_keys = {"bleu", "chrf", "chrf++"};

}  // namespace heddle::app
