#include "apps/translation/text/corpus.h"
#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "apps/translation/text/unicode.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

template <class Text>
std::vector<Text> side(const std::vector<SentencePair>& pairs, std::string SentencePair::*which) {
    std::vector<Text> out;
    out.reserve(pairs.size());
    for (const SentencePair& pair : pairs) out.emplace_back(pair.*which);
    return out;
}

Corpus read_columns(const std::string& path, const Reading& reading) {
    LineReader lines(path, reading.replace_invalid);
    Corpus corpus;
    std::int64_t with_more = 0;
    for (std::string line; lines.next(line);) {
        const std::size_t tab = line.find('\t');
        check(tab != std::string::npos, "{}:{}: there is no tab in this line; wanted source, tab, target", lines.name(),
              lines.number());
        const std::size_t second = line.find('\t', tab + 1);
        if (second != std::string::npos) ++with_more;
        corpus.pairs.push_back({line.substr(0, tab), line.substr(tab + 1, second - tab - 1)});
    }
    check(corpus.size() > 0, "{} is empty; wanted a sentence pair per line: source, tab, target", lines.name());
    lines.say_changes(reading.say);
    if (with_more > 0 && reading.say)
        reading.say(fmt::format("{}: ignored what follows the second column in {}", lines.name(), counted_lines(with_more)));
    return corpus;
}

// PREFIX.LANGUAGE, or the only file with a further ending, such as tst2014.de-en.de.xml.
std::string side_path(const std::string& prefix, const std::string& language) {
    std::string path = prefix + "." + language;
    if (std::filesystem::exists(path)) return path;
    std::vector<std::string> others;
    for (const char* ending : {".gz", ".xml", ".sgm", ".xml.gz", ".sgm.gz"})
        if (std::filesystem::exists(path + ending)) others.push_back(path + ending);
    check(others.size() < 2,
          "{} does not exist, but several files could be meant: {}; give --source and --target with their endings", path,
          fmt::join(others, ", "));
    check(!others.empty() || !std::filesystem::is_regular_file(prefix),
          "{} is a file, but there is no {}; wanted the PREFIX of two files, without the ending of a language", prefix, path);
    return others.empty() ? path : others.front();
}

}  // namespace

bool is_blank(const std::string& text) {
    const std::u32string code_points = decode_utf8(text);
    return std::all_of(code_points.begin(), code_points.end(), is_space);
}

std::int64_t words_in(const std::string& text) { return static_cast<std::int64_t>(split_at_spaces(decode_utf8(text)).size()); }

std::vector<std::string> Corpus::sources() const { return side<std::string>(pairs, &SentencePair::source); }
std::vector<std::string> Corpus::targets() const { return side<std::string>(pairs, &SentencePair::target); }
std::vector<std::string_view> Corpus::source_views() const { return side<std::string_view>(pairs, &SentencePair::source); }
std::vector<std::string_view> Corpus::target_views() const { return side<std::string_view>(pairs, &SentencePair::target); }

std::vector<std::string_view> Corpus::both_sides() const {
    std::vector<std::string_view> out = source_views();
    for (const SentencePair& pair : pairs) out.emplace_back(pair.target);
    return out;
}

TrainingPairs without_empty_sides(Corpus corpus) {
    const std::size_t left_out =
        std::erase_if(corpus.pairs, [](const SentencePair& pair) { return is_blank(pair.source) || is_blank(pair.target); });
    return {.corpus = std::move(corpus), .left_out = static_cast<std::int64_t>(left_out)};
}

Corpus read_aligned(const std::string& source_path, const std::string& target_path, const Reading& reading) {
    check_usage(source_path != standard_input || target_path != standard_input,
                "standard input cannot be both files, the sources and the targets; give a FILE for one of them");
    TextFile sources = read_text_file(source_path, reading), targets = read_text_file(target_path, reading);
    align(sources, targets, reading.say);
    Corpus corpus;
    corpus.pairs.reserve(sources.lines.size());
    for (std::size_t i = 0; i < sources.lines.size(); ++i)
        corpus.pairs.push_back({std::move(sources.lines[i]), std::move(targets.lines[i])});
    return corpus;
}

Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                   const Reading& reading) {
    check_usage(reading.tsv || prefix != standard_input,
                "standard input cannot hold two files; give --tsv with it (source, tab, target), or a PREFIX of two files");
    const std::string source_path = reading.tsv ? prefix : side_path(prefix, source_language),
                      target_path = reading.tsv ? prefix : side_path(prefix, target_language);
    Corpus corpus = reading.tsv ? read_columns(prefix, reading) : read_aligned(source_path, target_path, reading);
    check(corpus.size() > 0, "{} and {} are empty; wanted one sentence per line", source_path, target_path);
    const bool same = std::all_of(corpus.pairs.begin(), corpus.pairs.end(),
                                  [](const SentencePair& pair) { return pair.source == pair.target; });
    if (same && reading.say)
        reading.say(
            fmt::format("warning: {} the same text: source and target do not differ anywhere",
                        reading.tsv ? "both columns of " + prefix + " hold" : source_path + " and " + target_path + " hold"));
    return corpus;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text.append(line).push_back('\n');
    write_file_atomically(path, text);
}

}  // namespace heddle::app
