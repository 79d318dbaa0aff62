#include "apps/translation/metrics/metrics.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

void check_line(const std::string& line) {
    must(app::is_utf8(line) && line.find('\n') == std::string::npos && line.find('\0') == std::string::npos,
         "a line of clean text");
    must(line.size() <= app::longest_line, "no line is longer than the longest");
    const std::u32string characters = app::decode_utf8(line);
    must(app::encode_utf8(characters) == line, "UTF-8 there and back");
    must(app::is_utf8(app::to_lower(line)), "in lower case it stays text");
    const std::vector<std::string> words = app::split_words(characters);
    std::string single_spaced;
    for (const std::u32string_view word : app::split_at_spaces(characters))
        single_spaced += (single_spaced.empty() ? "" : " ") + app::encode_utf8(word);
    if (characters.find(app::join_mark) == std::u32string::npos)
        must(app::join_words(words) == single_spaced, "words there and back");
}

void check_scores(const app::Corpus& corpus) {
    const std::vector<app::LineStatistics> lines = app::line_statistics(corpus.sources(), corpus.targets());
    const app::LineStatistics all = app::sum(lines);
    for (const app::Metric metric : app::all_metrics) {
        const double score = app::corpus_score(metric, all);
        must(score >= 0 && score <= 100 + 1e-9, "a score from 0 to 100");
    }
}

}  // namespace

// Parallel text, both sides in one file with tabs or in two; the first byte says how. What the files can hold, training can use.
void text(std::string_view bytes) {
    const unsigned how = switches(bytes);
    const app::Reading reading{
        .tsv = (how & 1) != 0,
        .columns = (how & 8) != 0 ? std::optional(std::pair<std::int64_t, std::int64_t>(3, 1)) : std::nullopt,
        .replace_invalid = (how & 2) != 0,
        .say = [](std::string_view) {},
        .format = (how & 4) != 0 ? app::TextFormat::automatic : app::TextFormat::text};
    const Parts files = parted(bytes);
    const InputFile a(reading.tsv ? bytes : files.first), b(files.second);
    app::Corpus corpus;
    const bool whole = accepted([&] {
        corpus = reading.tsv ? app::read_corpus(a.path(), "de", "en", reading) : app::read_aligned(a.path(), b.path(), reading);
    });
    if (!whole) return;
    for (const app::SentencePair& pair : corpus.pairs) {
        check_line(pair.source);
        check_line(pair.target);
    }
    if (corpus.size() > 0) check_scores(corpus);
    const app::TrainingPairs pairs = app::without_empty_sides(std::move(corpus));
    for (const app::SentencePair& pair : pairs.corpus.pairs)
        must(!app::is_blank(pair.source) && !app::is_blank(pair.target), "no empty side");
}

}  // namespace heddle::fuzz
