#include <algorithm>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/segments.h"
#include "apps/translation/text/text_file.h"
#include "apps/translation/text/unicode.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

void check_segments(const app::TextFile& file) {
    must(file.lines.size() == file.places.size(), "a place for each segment");
    for (const std::string& text : file.lines) {
        must(app::is_utf8(text) && text.find_first_of("\n\r\t") == std::string::npos, "a segment is one line of text");
        must(app::trimmed(text) == text && text.find("  ") == std::string::npos, "single spaces");
        must(text.size() <= app::longest_line, "no segment is longer than a line");
    }
}

app::TextFile read_side(const std::string& path, const app::Reading& reading, const app::WantedSegments& wanted) {
    app::TextFile file = app::read_text_file(path, reading, wanted);
    if (file.format == app::TextFormat::xml) check_segments(file);
    return file;
}

}  // namespace

// Two files and how they are read: the first byte chooses the format.
void markup(std::string_view bytes) {
    const unsigned how = switches(bytes);
    const auto format = static_cast<app::TextFormat>(how % 4);
    const Parts files = parted(bytes);
    (void)app::recognised(files.first);
    (void)app::is_metadata(files.first);
    (void)app::metadata_key(files.first);
    (void)app::attribute_in(files.first, "docid");
    const InputFile a(files.first), b(files.second);
    accepted([&] {
        const auto reading = [&](unsigned replace) {
            return app::Reading{.replace_invalid = (how & replace) != 0, .say = [](std::string_view) {}, .format = format};
        };
        const std::string language = (how & 32) != 0 ? "de" : "";
        app::TextFile sources = read_side(a.path(), reading(4), {.role = app::SegmentRole::source, .language = language});
        app::TextFile targets = read_side(b.path(), reading(8), {.role = app::SegmentRole::reference});
        if ((how & 16) != 0) app::keep_common_units(sources, targets, [](std::string_view) {});
        app::align(sources, targets, [](std::string_view) {});
        must(sources.size() == targets.size(), "as many lines on both sides");
    });
}

}  // namespace heddle::fuzz
