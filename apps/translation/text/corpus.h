// Text in: aligned sentence pairs from PREFIX.de and PREFIX.en or from one file with two columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/text_file.h"

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
    /// One side, as input of the search and BLEU.
    std::vector<std::string> sources() const;
    std::vector<std::string> targets() const;
    /// One side as vocabularies are trained on it: without a copy, so the views live no longer than the pairs stay as they are.
    std::vector<std::string_view> source_views() const;
    std::vector<std::string_view> target_views() const;
};

/// Whether a line shows nothing: white space and invisible characters alone.
bool is_blank(const std::string& text);

/// The number of words in a text, separated by spaces.
std::int64_t words_in(const std::string& text);

/// The pairs that training uses, and how many had an empty side (is_blank()).
struct TrainingPairs {
    Corpus corpus;
    std::int64_t left_out = 0;
};
TrainingPairs without_empty_sides(Corpus corpus);

/// Reads two files of as many lines; line n of one translates line n of the other, and there may be none. One of the paths may
/// be "-". The languages, where they are known, choose among the texts of an XML file. UsageError when both paths are "-"; Error
/// when a file is missing or not text, and as align() has it when they do not fit.
Corpus read_aligned(const std::string& source_path, const std::string& target_path, const Reading& reading = {},
                    const std::string& source_language = {}, const std::string& target_language = {});

/// Reads PREFIX.SOURCE and PREFIX.TARGET; line n of one translates line n of the other. Where there is no such file, one with
/// .gz, .xml or .sgm after that name is used, and else PREFIX itself where it is an XML file with both sides. With `tsv` it reads
/// the one file PREFIX (or standard input, "-"), whose lines are source, tab, target, or have these in the given columns; further
/// columns are ignored, and the languages not used. Says so when both sides hold the same text. Error that names both counts when
/// they differ, the line without a tab, and when a file is missing, empty or not text.
Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                   const Reading& reading = {});

/// The files that read_corpus() reads: two, or with `tsv` one. Errors as read_corpus() about names; a file may be missing.
std::vector<std::string> corpus_files(const std::string& prefix, const std::string& source_language,
                                      const std::string& target_language, const Reading& reading = {});

/// What read_corpus() reads, piece by piece. A text with tags or in XML is read whole at the start.
class CorpusReader {
  public:
    /// Opens the files. Errors as read_corpus() about names and missing files.
    CorpusReader(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                 const Reading& reading = {});

    /// The next `most` pairs, fewer at the end of the text and none after it. At the end the notes of Reading::say come. Errors
    /// as read_corpus().
    Corpus next(std::int64_t most);

    /// Whether another reader would find the same text: not standard input, nor a pipe.
    bool can_be_read_again() const;

  private:
    bool take(SentencePair& pair);
    bool take_lines(SentencePair& pair);
    bool take_columns(SentencePair& pair);
    void finish() const;

    std::string source_path_, target_path_;
    Reading reading_;
    LineReader sources_;
    std::optional<LineReader> targets_;  // none: two columns in one file
    std::optional<Corpus> whole_;        // a text that was read whole
    std::int64_t read_ = 0;              // pairs
    std::int64_t with_more_columns_ = 0;
    bool same_ = true;  // source and target of all pairs
    bool ended_ = false;
};

/// One text per line; the file is replaced as a whole.
void write_lines(const std::string& path, const std::vector<std::string>& lines);

}  // namespace heddle::app
