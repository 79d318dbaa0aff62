// Plain text in: lines of a file, and aligned sentence pairs from PREFIX.de and PREFIX.en.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

struct SentencePair {
    std::string source;
    std::string target;

    friend bool operator==(const SentencePair&, const SentencePair&) = default;
};

/// Sentence pairs in the order of their files, none left out.
struct Corpus {
    std::vector<SentencePair> pairs;

    std::int64_t size() const { return static_cast<std::int64_t>(pairs.size()); }
    /// One side, as vocabularies and BLEU take it.
    std::vector<std::string> sources() const;
    std::vector<std::string> targets() const;
    /// Every source line, then every target line: what a vocabulary that both languages share is trained on.
    std::vector<std::string> both_sides() const;
};

/// Whether a line holds nothing but white space.
bool is_blank(const std::string& text);

/// The pairs that training uses, and how many had an empty side (nothing, or whitespace only).
struct TrainingPairs {
    Corpus corpus;
    std::int64_t left_out = 0;
};
TrainingPairs without_empty_sides(const Corpus& corpus);

/// Lines of a UTF-8 text without their ends: LF and CRLF end a line, a byte order mark at the start is dropped, the last line
/// needs no end. `name` stands in errors. Error with the line's number when a line is not UTF-8.
std::vector<std::string> read_lines(std::istream& stream, std::string_view name);
/// The same for a file. Error when it is missing or cannot be read.
std::vector<std::string> read_lines(const std::string& path);

/// Reads PREFIX.SOURCE and PREFIX.TARGET; line n of one translates line n of the other. Error that names both counts when they
/// differ, and when a file is missing, empty or not UTF-8.
Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language);

/// One text per line; the file is replaced as a whole.
void write_lines(const std::string& path, const std::vector<std::string>& lines);

}  // namespace heddle::app
