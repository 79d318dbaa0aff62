#include "apps/translation/corpus.h"

#include <algorithm>
#include <istream>
#include <iterator>

#include "apps/translation/unicode.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

std::vector<std::string> split_lines(std::string_view text, std::string_view name) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        check(is_utf8(line), "{}:{}: this line is not UTF-8; convert the file first, for example with iconv -t UTF-8", name,
              lines.size() + 1);
        lines.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace

bool is_blank(const std::string& text) {
    const std::u32string code_points = decode_utf8(text);
    return std::all_of(code_points.begin(), code_points.end(), is_space);
}

std::vector<std::string> Corpus::sources() const {
    std::vector<std::string> out;
    out.reserve(pairs.size());
    for (const SentencePair& pair : pairs) out.push_back(pair.source);
    return out;
}

std::vector<std::string> Corpus::targets() const {
    std::vector<std::string> out;
    out.reserve(pairs.size());
    for (const SentencePair& pair : pairs) out.push_back(pair.target);
    return out;
}

std::vector<std::string> Corpus::both_sides() const {
    std::vector<std::string> out = sources();
    for (const SentencePair& pair : pairs) out.push_back(pair.target);
    return out;
}

TrainingPairs without_empty_sides(const Corpus& corpus) {
    TrainingPairs out;
    for (const SentencePair& pair : corpus.pairs) {
        if (is_blank(pair.source) || is_blank(pair.target)) {
            ++out.left_out;
        } else {
            out.corpus.pairs.push_back(pair);
        }
    }
    return out;
}

std::vector<std::string> read_lines(std::istream& stream, std::string_view name) {
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    check(!stream.bad(), "{}: cannot be read", name);
    return split_lines(text, name);
}

std::vector<std::string> read_lines(const std::string& path) { return split_lines(read_file(path), path); }

Corpus read_corpus(const std::string& prefix, const std::string& source_language, const std::string& target_language) {
    const std::string source_path = prefix + "." + source_language, target_path = prefix + "." + target_language;
    std::vector<std::string> sources = read_lines(source_path), targets = read_lines(target_path);
    check(sources.size() == targets.size(),
          "{} has {} lines, but {} has {}; line n of one file has to be the translation of line n of the other", source_path,
          sources.size(), target_path, targets.size());
    check(!sources.empty(), "{} and {} are empty; wanted one sentence per line", source_path, target_path);
    Corpus corpus;
    corpus.pairs.reserve(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) corpus.pairs.push_back({std::move(sources[i]), std::move(targets[i])});
    return corpus;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text.append(line).push_back('\n');
    write_file_atomically(path, text);
}

}  // namespace heddle::app
