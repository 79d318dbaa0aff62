// Reads aligned sentence pairs from PREFIX.de and PREFIX.en, or from one file with two columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/text_file.h"
#include "core/random.h"

namespace heddle::app {

struct SentencePair {
    std::string source;
    std::string target;

    friend bool operator==(const SentencePair&, const SentencePair&) = default;
};

/// All sentence pairs in the order of their files.
struct Corpus {
    std::vector<SentencePair> pairs;

    std::int64_t size() const { return static_cast<std::int64_t>(pairs.size()); }
    /// Copies of one side, as input for the search and for BLEU.
    std::vector<std::string> sources() const;
    std::vector<std::string> targets() const;
    /// Views of one side, as input for training vocabularies. Valid as long as the pairs are unchanged.
    std::vector<std::string_view> source_views() const;
    std::vector<std::string_view> target_views() const;
};

/// True if a line has nothing but white space and invisible characters.
bool is_blank(const std::string& text);

/// The number of words in a text, separated by spaces.
std::int64_t words_in(const std::string& text);

/// The pairs used for training, and the number of those left out because a side is_blank().
struct TrainingPairs {
    Corpus corpus;
    std::int64_t left_out = 0;
};
TrainingPairs without_empty_sides(Corpus corpus);

/// Reads two files with the same number of lines, possibly none; line n of one translates line n of the other. One path may be
/// "-". The languages, if known, choose among the texts of an XML file. UsageError when both paths are "-"; Error when a file is
/// missing or not text, and align()'s Error when the files do not match.
Corpus read_aligned(const std::string& source_path, const std::string& target_path, const Reading& reading = {},
                    const std::string& source_language = {}, const std::string& target_language = {});

/// Reads PREFIX.SOURCE and PREFIX.TARGET; line n of one translates line n of the other. If there is no such file, one with the
/// suffix .gz, .xml or .sgm is used, else PREFIX itself if it is an XML file with both sides. With `part`, reads that part of the
/// lines of the one file PREFIX, for a language model: every source is empty; none may be held out. With `tsv`, reads the one
/// file PREFIX (or standard input, "-"), whose lines are source, tab, target, or have these in the given columns; other columns
/// and the languages are ignored. Notes if both sides have the same text. Error with both counts when they differ, with the line
/// that has no tab, and when a file is missing, empty or not text.
Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                   const Reading& reading = {});

/// The files that read_corpus() reads: two, or one with `tsv` or `part`. Errors about names as read_corpus(); a file may be
/// missing.
std::vector<std::string> corpus_files(const std::string& prefix, const std::string& source_language,
                                      const std::string& target_language, const Reading& reading = {});

/// Reads in pieces what read_corpus() reads at once. A text with tags or in XML is read completely at the start.
class CorpusReader {
  public:
    /// Opens the files. Errors about names and missing files as read_corpus().
    CorpusReader(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                 const Reading& reading = {});

    /// The next `most` pairs; fewer at the end of the text, then none. At the end Reading::say gets its notes. Errors as
    /// read_corpus().
    Corpus next(std::int64_t most);

    /// True if another reader would find the same text: not for standard input or a pipe.
    bool can_be_read_again() const;

  private:
    bool take(SentencePair& pair);
    bool take_lines(SentencePair& pair);
    bool take_columns(SentencePair& pair);
    bool take_text(SentencePair& pair);
    void finish() const;

    std::string source_path_, target_path_;
    Reading reading_;
    LineReader sources_;
    std::optional<LineReader> targets_;  // none if there are two columns in one file
    std::optional<Corpus> whole_;        // a text that was read completely
    std::int64_t read_ = 0;              // pairs returned
    std::int64_t with_more_columns_ = 0;
    Sequence held_out_numbers_{0};  // with a part of a text
    std::uint64_t held_out_ = 0;    // of the current ten lines
    std::uint64_t lines_ = 0;       // that are not blank
    bool same_ = true;              // all pairs so far have source equal to target
    bool ended_ = false;
};

/// Writes one text per line, replacing the file atomically.
void write_lines(const std::string& path, const std::vector<std::string>& lines);

}  // namespace heddle::app
