#include "apps/translation/text/text_file.h"
#include "core/number_text.h"

#include <algorithm>

#include "core/format.h"

namespace heddle::app {
namespace {

bool parts(const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; }

std::string described(const TextFile& file, std::size_t line) {
    constexpr std::size_t most = 60;
    const std::string& text = file.lines[line];
    const std::string what = is_metadata(text) ? "the metadata line " : "the text ";
    const bool cut = text.size() > most;
    return fmt::format("{}:{} has {}{}{}", file.name, line + 1, what, text.substr(0, cut ? whole_characters(text, most) : most),
                       cut ? "..." : "");
}

void check_counts(const TextFile& a, const TextFile& b) {
    if (a.size() == b.size()) return;
    const TextFile& longer = a.size() > b.size() ? a : b;
    const auto first_alone = static_cast<std::size_t>(std::min(a.size(), b.size()));
    const std::string place = longer.places.empty() ? ""
                                                    : fmt::format("; the first without a partner is {} of {}",
                                                                  longer.places[first_alone].text(), longer.name);
    fail_unequal(a.name, a.counted(), b.name, b.counted(), place);
}

void check_places(const TextFile& a, const TextFile& b) {
    for (std::size_t i = 0; i < std::min(a.places.size(), b.places.size()); ++i) {
        const SegmentPlace &in_a = a.places[i], &in_b = b.places[i];
        check(!parts(in_a.document, in_b.document) && !parts(in_a.id, in_b.id),
              "{} has {}, and {} has {}; they part where the one has {} and the other {}", a.name, a.counted(), b.name,
              b.counted(), in_a.text(), in_b.text());
    }
}

void check_metadata(const TextFile& a, const TextFile& b) {
    for (std::size_t i = 0; i < std::min(a.lines.size(), b.lines.size()); ++i)
        check(metadata_key(a.lines[i]) == metadata_key(b.lines[i]), "{} has {}, and {} has {}; they part where {}, but {}",
              a.name, a.counted(), b.name, b.counted(), described(a, i), described(b, i));
}

}  // namespace

std::string TextFile::counted() const {
    if (format != TextFormat::xml) return counted_lines(size());
    return grouped_text(size()) + (size() == 1 ? " segment" : " segments");
}

void TextFile::drop_metadata(const Say& say) {
    if (format != TextFormat::tags) return;
    const std::size_t dropped = std::erase_if(lines, is_metadata);
    if (say && dropped > 0)
        say(fmt::format("{}: left out {} of metadata", name, counted_lines(static_cast<std::int64_t>(dropped))));
    format = TextFormat::text;  // a sentence that begins with <unk> is none
}

TextFile read_text_file(const std::string& path, const Reading& reading) {
    LineReader reader(path, reading.replace_invalid);
    return read_text_file(reader, reading);
}

TextFile read_text_file(LineReader& reader, const Reading& reading) {
    TextFile file{.name = reader.name(), .format = reading.format, .lines = {}, .places = {}};
    if (file.format == TextFormat::automatic) file.format = recognised(reader.beginning());
    if (file.format == TextFormat::xml) {
        MarkedSegments segments = read_segments(reader, reading.replace_invalid, reading.say);
        file.lines = std::move(segments.texts);
        file.places = std::move(segments.places);
        return file;
    }
    for (std::string line; reader.next(line);) file.lines.push_back(std::move(line));
    reader.say_changes(reading.say);
    return file;
}

void align(TextFile& sources, TextFile& targets, const Say& say) {
    const bool tags = sources.format == TextFormat::tags || targets.format == TextFormat::tags;
    if (tags && sources.format != TextFormat::xml && targets.format != TextFormat::xml) {
        sources.format = targets.format = TextFormat::tags;
        check_metadata(sources, targets);
        check_counts(sources, targets);
    }
    check_places(sources, targets);
    sources.drop_metadata(say);
    targets.drop_metadata(say);
    check_counts(sources, targets);
}

void fail_unequal(const std::string& name_a, const std::string& counted_a, const std::string& name_b,
                  const std::string& counted_b, const std::string& place) {
    fail_with("{} has {}, but {} has {}{}; line n of one file has to belong to line n of the other", name_a, counted_a, name_b,
              counted_b, place);
}

}  // namespace heddle::app
