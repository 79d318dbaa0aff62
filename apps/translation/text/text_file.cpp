#include "apps/translation/text/text_file.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"

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

// Advice for errors that a wrongly guessed format can cause.
std::string_view way_out(const TextFile& a, const TextFile& b) {
    return a.guessed || b.guessed ? "; --format text takes every line as a sentence" : "";
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
        check(metadata_key(a.lines[i]) == metadata_key(b.lines[i]), "{} has {}, and {} has {}; they part where {}, but {}{}",
              a.name, a.counted(), b.name, b.counted(), described(a, i), described(b, i), way_out(a, b));
}

void say_doubt(const LineReader& reader, const TalkLines& lines, const Say& say) {
    const std::string doubt = lines.doubt();
    if (say && !doubt.empty())
        say(
            fmt::format("{}: begins like IWSLT's training text, but {} describes no talk: every line is read as a sentence; "
                        "--format tags leaves lines with tags out",
                        reader.name(), doubt));
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
        say(fmt::format(
            "{}: left out {} of metadata{}", name, counted_lines(static_cast<std::int64_t>(dropped)),
            guessed ? ": its lines look like IWSLT's training text; --format text takes every line as a sentence" : ""));
    format = TextFormat::text;  // now a sentence that begins with <unk> is not taken as metadata
}

FoundFormat find_format(LineReader& reader, const Reading& reading) {
    const bool guessed = reading.format == TextFormat::automatic;
    if (!guessed && !reading.assumed) return {.format = reading.format};
    const std::string_view beginning = reader.beginning();
    const TextFormat format = recognised(beginning);
    if (guessed && format == TextFormat::text) say_doubt(reader, TalkLines(beginning), reading.say);
    if (guessed) return {.format = format, .guessed = true};
    if (reading.say && format != reading.format)
        reading.say(fmt::format("{}: looks like {}, but every line is read as a sentence; --format {} reads it as what it is",
                                reader.name(), format == TextFormat::xml ? "XML or SGML" : "IWSLT's training text",
                                word_of(format)));
    return {.format = reading.format};
}

TextFile read_text_file(const std::string& path, const Reading& reading, const WantedSegments& wanted) {
    LineReader reader(path, reading.replace_invalid);
    return read_text_file(reader, reading, find_format(reader, reading), wanted);
}

TextFile read_text_file(LineReader& reader, const Reading& reading, FoundFormat format, const WantedSegments& wanted) {
    TextFile file{.name = reader.name(), .format = format.format, .guessed = format.guessed, .lines = {}, .places = {}};
    if (file.format == TextFormat::xml) {
        MarkedSegments segments = read_segments(reader, reading.replace_invalid, reading.say, wanted);
        file.lines = std::move(segments.texts);
        file.places = std::move(segments.places);
        return file;
    }
    TalkLines evidence;
    const bool guessed_tags = file.guessed && file.format == TextFormat::tags;
    for (std::string line; reader.next(line);) {
        if (guessed_tags) evidence.add(line);
        file.lines.push_back(std::move(line));
    }
    if (guessed_tags && !evidence.found()) {
        file.format = TextFormat::text;
        say_doubt(reader, evidence, reading.say);
    }
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

void keep_common_units(TextFile& sources, TextFile& targets, const Say& say) {
    const auto units_of = [](const TextFile& file) {
        std::vector<std::int64_t> units;
        for (const SegmentPlace& place : file.places) units.push_back(place.unit);
        return units;
    };
    const std::vector<std::int64_t> of_sources = units_of(sources), of_targets = units_of(targets);
    const auto has_units = [](const auto& units) { return !units.empty() && std::ranges::count(units, 0) == 0; };
    if (!has_units(of_sources) || !has_units(of_targets)) return;
    std::int64_t left_out = 0;
    const auto keep = [&](TextFile& file, const std::vector<std::int64_t>& others) {
        TextFile kept{.name = file.name, .format = file.format, .guessed = file.guessed, .lines = {}, .places = {}};
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            if (!std::ranges::binary_search(others, file.places[i].unit)) continue;
            kept.lines.push_back(std::move(file.lines[i]));
            kept.places.push_back(std::move(file.places[i]));
        }
        left_out += file.size() - kept.size();
        file = std::move(kept);
    };
    keep(sources, of_targets);
    keep(targets, of_sources);
    if (say && left_out > 0)
        say(fmt::format("{}: left out {} units that only one of the two languages has", sources.name, grouped_text(left_out)));
}

void fail_unequal(const std::string& name_a, const std::string& counted_a, const std::string& name_b,
                  const std::string& counted_b, const std::string& place) {
    fail_with("{} has {}, but {} has {}{}; line n of one file has to belong to line n of the other", name_a, counted_a, name_b,
              counted_b, place);
}

}  // namespace heddle::app
