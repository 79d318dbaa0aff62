#include <algorithm>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/segments.h"
#include "apps/translation/text/text_file.h"
#include "apps/translation/text/unicode.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

app::TextFile read_side(const std::string& path, app::TextFormat format, bool replace_invalid) {
    return app::read_text_file(path, {.replace_invalid = replace_invalid, .say = [](std::string_view) {}, .format = format});
}

void check_segments(const app::TextFile& file) {
    must(file.lines.size() == file.places.size(), "a place for each segment");
    for (const std::string& text : file.lines) {
        must(app::is_utf8(text) && text.find_first_of("\n\r\t") == std::string::npos, "a segment is one line of text");
        must(app::trimmed(text) == text && text.find("  ") == std::string::npos, "single spaces");
        must(text.size() <= app::longest_line, "no segment is longer than a line");
    }
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
        app::TextFile sources = read_side(a.path(), format, (how & 4) != 0);
        if (sources.format == app::TextFormat::xml) check_segments(sources);
        app::TextFile targets = read_side(b.path(), format, (how & 8) != 0);
        app::align(sources, targets, [](std::string_view) {});
        must(sources.size() == targets.size(), "as many lines on both sides");
    });
}

}  // namespace heddle::fuzz
