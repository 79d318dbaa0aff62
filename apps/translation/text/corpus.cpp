#include "apps/translation/text/corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "apps/translation/text/unicode.h"
#include "core/error.h"
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

Corpus aligned(TextFile sources, TextFile targets, const Say& say) {
    if (sources.name == targets.name) keep_common_units(sources, targets, say);
    align(sources, targets, say);
    Corpus corpus;
    corpus.pairs.reserve(sources.lines.size());
    for (std::size_t i = 0; i < sources.lines.size(); ++i)
        corpus.pairs.push_back({std::move(sources.lines[i]), std::move(targets.lines[i])});
    return corpus;
}

// True if the file at `prefix` may contain both sides: TMX, or WMT's XML with <src> and <ref>.
bool may_have_both_sides(const std::string& prefix, const Reading& reading) {
    if (!std::filesystem::is_regular_file(prefix)) return false;
    if (reading.format != TextFormat::automatic) return reading.format == TextFormat::xml;
    return recognised(LineReader(prefix, reading.replace_invalid).beginning()) == TextFormat::xml;
}

// PREFIX.LANGUAGE, or the only file whose name continues it, such as tst2014.de-en.de.xml, or PREFIX if it has both sides.
std::string side_path(const std::string& prefix, const std::string& language, const Reading& reading) {
    std::string path = prefix + "." + language;
    if (std::filesystem::exists(path)) return path;
    std::vector<std::string> others;
    for (const char* ending : {".gz", ".xml", ".sgm", ".xml.gz", ".sgm.gz"})
        if (std::filesystem::exists(path + ending)) others.push_back(path + ending);
    check(others.size() < 2,
          "{} does not exist, but several files could be meant: {}; give --source and --target with their endings", path,
          fmt::join(others, ", "));
    if (others.empty() && may_have_both_sides(prefix, reading)) return prefix;
    check(!others.empty() || !std::filesystem::is_regular_file(prefix),
          "{} is a file, but there is no {}; wanted the PREFIX of two files, without the ending of a language", prefix, path);
    check(
        !others.empty() || !std::filesystem::is_directory(prefix),
        "{} is a folder, and there is no {}; wanted the PREFIX of two files, or for heddle train --train a prepared text, which "
        "has a prepared.json",
        prefix, path);
    return others.empty() ? path : others.front();
}

// The file of the sources, or of both columns.
std::string source_file(const std::string& prefix, const std::string& language, const Reading& reading) {
    check_usage(reading.tsv || prefix != standard_input,
                "standard input cannot hold two files; give --tsv with it (source, tab, target), or a PREFIX of two files");
    return reading.tsv || reading.part ? prefix : side_path(prefix, language, reading);
}

}  // namespace

bool is_blank(const std::string& text) {
    const std::u32string code_points = decode_utf8(text);
    return std::ranges::all_of(code_points, [](char32_t c) { return is_space(c) || is_invisible(c); });
}

std::int64_t words_in(const std::string& text) { return static_cast<std::int64_t>(split_at_spaces(decode_utf8(text)).size()); }

std::vector<std::string> Corpus::sources() const { return side<std::string>(pairs, &SentencePair::source); }
std::vector<std::string> Corpus::targets() const { return side<std::string>(pairs, &SentencePair::target); }
std::vector<std::string_view> Corpus::source_views() const { return side<std::string_view>(pairs, &SentencePair::source); }
std::vector<std::string_view> Corpus::target_views() const { return side<std::string_view>(pairs, &SentencePair::target); }

TrainingPairs without_empty_sides(Corpus corpus) {
    const std::size_t left_out =
        std::erase_if(corpus.pairs, [](const SentencePair& pair) { return is_blank(pair.source) || is_blank(pair.target); });
    return {.corpus = std::move(corpus), .left_out = static_cast<std::int64_t>(left_out)};
}

Corpus read_aligned(const std::string& source_path, const std::string& target_path, const Reading& reading,
                    const std::string& source_language, const std::string& target_language) {
    check_usage(source_path != standard_input || target_path != standard_input,
                "standard input cannot be both files, the sources and the targets; give a FILE for one of them");
    const bool one_file = source_path == target_path;
    TextFile sources = read_text_file(source_path, reading, {SegmentRole::source, source_language, one_file}),
             targets = read_text_file(target_path, reading, {SegmentRole::reference, target_language, one_file});
    return aligned(std::move(sources), std::move(targets), reading.say);
}

Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                   const Reading& reading) {
    return CorpusReader(prefix, source_language, target_language, reading).next(std::numeric_limits<std::int64_t>::max());
}

std::vector<std::string> corpus_files(const std::string& prefix, const std::string& source_language,
                                      const std::string& target_language, const Reading& reading) {
    std::vector<std::string> files = {source_file(prefix, source_language, reading)};
    if (!reading.tsv && !reading.part) files.push_back(side_path(prefix, target_language, reading));
    return files;
}

CorpusReader::CorpusReader(const std::string& prefix, const std::string& source_language, const std::string& target_language,
                           const Reading& reading)
    : source_path_(source_file(prefix, source_language, reading)),
      target_path_(reading.tsv || reading.part ? prefix : side_path(prefix, target_language, reading)),
      reading_(reading),
      sources_(source_path_, reading.replace_invalid) {
    if (reading.columns)
        check_usage(reading.columns->first != reading.columns->second,
                    fmt::format("--tsv-columns {},{}: source and target are one column; wanted two, such as 1,2",
                                reading.columns->first, reading.columns->second));
    if (reading.part) held_out_numbers_ = Sequence(reading.part->seed ^ stable_hash("held out"));
    if (reading.tsv || reading.part) return;
    const FoundFormat of_sources =
        find_format(sources_, reading);  // before the other file, so that errors in the sources are reported first
    targets_.emplace(target_path_, reading.replace_invalid);
    const FoundFormat of_targets = find_format(*targets_, reading);
    if (of_sources.format == TextFormat::text && of_targets.format == TextFormat::text) return;
    const bool one_file = source_path_ == target_path_;
    TextFile sources = read_text_file(sources_, reading, of_sources, {SegmentRole::source, source_language, one_file}),
             targets = read_text_file(*targets_, reading, of_targets, {SegmentRole::reference, target_language, one_file});
    whole_ = aligned(std::move(sources), std::move(targets), reading.say);
}

Corpus CorpusReader::next(std::int64_t most) {
    Corpus corpus;
    for (SentencePair pair; !ended_ && corpus.size() < most;) {
        ended_ = !take(pair);
        if (ended_) {
            finish();
            break;
        }
        ++read_;
        same_ = same_ && pair.source == pair.target;
        corpus.pairs.push_back(std::move(pair));
    }
    return corpus;
}

bool CorpusReader::can_be_read_again() const {
    const auto is_file = [](const std::string& path) { return path != standard_input && std::filesystem::is_regular_file(path); };
    return is_file(source_path_) && is_file(target_path_);
}

bool CorpusReader::take(SentencePair& pair) {
    if (reading_.part) return take_text(pair);
    if (!whole_) return targets_ ? take_lines(pair) : take_columns(pair);
    if (read_ == whole_->size()) return false;
    pair = std::move(whole_->pairs[static_cast<std::size_t>(read_)]);
    return true;
}

bool CorpusReader::take_lines(SentencePair& pair) {
    const bool source = sources_.next(pair.source), target = targets_->next(pair.target);
    if (source == target) return source;
    for (LineReader* longer = source ? &sources_ : &*targets_; longer->next(pair.source);) continue;
    fail_unequal(sources_.name(), counted_lines(sources_.number()), targets_->name(), counted_lines(targets_->number()));
}

bool CorpusReader::take_columns(SentencePair& pair) {
    std::string line;
    if (!sources_.next(line)) return false;
    const auto [source, target] = reading_.columns.value_or(std::pair<std::int64_t, std::int64_t>(1, 2));
    std::int64_t column = 0;
    for (std::size_t begin = 0; begin != std::string::npos;) {
        const std::size_t tab = line.find('\t', begin);
        const std::string field = line.substr(begin, tab == std::string::npos ? tab : tab - begin);
        if (++column == source) pair.source = field;
        if (column == target) pair.target = field;
        begin = tab == std::string::npos ? tab : tab + 1;
    }
    const std::int64_t wanted = std::max(source, target);
    check(column > 1 || reading_.columns, "{}:{}: there is no tab in this line; wanted source, tab, target", sources_.name(),
          sources_.number());
    check(column >= wanted, "{}:{}: this line has {} column{}; wanted {} (--tsv-columns {},{})", sources_.name(),
          sources_.number(), column, column == 1 ? "" : "s", wanted, source, target);
    if (!reading_.columns && column > wanted) ++with_more_columns_;
    return true;
}

bool CorpusReader::take_text(SentencePair& pair) {
    constexpr std::uint64_t lines_for_one = 10;
    pair.source.clear();
    while (sources_.next(pair.target)) {
        if (is_blank(pair.target)) continue;
        const std::uint64_t place = lines_++ % lines_for_one;
        if (place == 0) held_out_ = held_out_numbers_.below(lines_for_one);
        if (lines_ == 1 && held_out_ == 0)
            held_out_ = 1 + held_out_numbers_.below(lines_for_one - 1);  // so that one line teaches
        if ((place == held_out_) == reading_.part->held_out) return true;
    }
    return false;
}

// Final checks and notes, at the end of the text.
void CorpusReader::finish() const {
    if (reading_.part) {
        check(read_ > 0 || reading_.part->held_out, "{}: there is no line to learn from; wanted lines with text",
              sources_.name());
        if (reading_.say && !reading_.part->held_out) sources_.say_changes(reading_.say);
        return;
    }
    check(read_ > 0 || targets_, "{} is empty; wanted a sentence pair per line: source, tab, target", sources_.name());
    check(read_ > 0, "{} and {} are empty; wanted one sentence per line", source_path_, target_path_);
    if (!reading_.say) return;
    if (!whole_) {  // a text that was read completely has given its notes already
        sources_.say_changes(reading_.say);
        if (targets_) targets_->say_changes(reading_.say);
    }
    if (with_more_columns_ > 0)
        reading_.say(
            fmt::format("{}: ignored what follows the second column in {}", sources_.name(), counted_lines(with_more_columns_)));
    if (same_)
        reading_.say(fmt::format(
            "warning: {} the same text: source and target do not differ anywhere",
            targets_ ? source_path_ + " and " + target_path_ + " hold" : "both columns of " + source_path_ + " hold"));
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text.append(line).push_back('\n');
    write_file_atomically(path, text);
}

}  // namespace heddle::app
