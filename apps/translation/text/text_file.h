// Reads a file of sentences in any of the formats, and aligns it with the file of another language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/translation/text/line_reader.h"
#include "apps/translation/text/segments.h"
#include "apps/translation/text/text_format.h"

namespace heddle::app {

/// Which lines of one file of text are read: those to learn from, or those held out to validate on. Of every ten lines that are
/// not blank one is held out, drawn by the seed.
struct TextPart {
    bool held_out = false;
    std::uint64_t seed = 1;
};

/// How files are read.
struct Reading {
    bool tsv = false;                                                   ///< a corpus is one file: source, tab, target
    std::optional<std::pair<std::int64_t, std::int64_t>> columns = {};  ///< with tsv: columns of source and target, from 1
    bool replace_invalid = false;  ///< bytes that are not UTF-8 become U+FFFD instead of an error
    Say say = nullptr;             ///< called once per file with each change and doubt; may be empty
    TextFormat format = TextFormat::automatic;
    bool assumed = false;               ///< nobody chose the format: note if a text looks like another one
    std::optional<TextPart> part = {};  ///< a corpus is these lines of one file, as targets of empty sources
};

/// The format that a text is read in.
struct FoundFormat {
    TextFormat format = TextFormat::text;  ///< not automatic
    bool guessed = false;                  ///< detected from the text itself
};

struct TextFile {
    std::string name;                      ///< for messages
    TextFormat format = TextFormat::text;  ///< never automatic
    bool guessed = false;                  ///< the format was detected
    std::vector<std::string> lines;        ///< lines, or segments; with tags including the metadata lines
    std::vector<SegmentPlace> places;      ///< of each segment, with xml

    std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
    /// "1,305 segments" or "29,000 lines".
    std::string counted() const;
    /// Removes the metadata lines and reports their number; the rest is format text.
    void drop_metadata(const Say& say);
};

/// Reads a file, or standard input ("-"); LineReader splits lines. `wanted` chooses a text from XML with several. Error with the
/// file, and the line if possible, when it cannot be read or is not text in the format.
TextFile read_text_file(const std::string& path, const Reading& reading, const WantedSegments& wanted = {});
/// Reads from a reader from which nothing was read yet. A guess of tags is checked against the whole file: if a line contradicts
/// it, the file is read as text, with a note.
TextFile read_text_file(LineReader& reader, const Reading& reading, FoundFormat format, const WantedSegments& wanted = {});

/// The format given by `reading`, or detected from the beginning of the text. Notes if a text names talks and yet has other
/// tags, or, if the format is assumed, looks like another one. `reader`: nothing was read from it, and beginning() not called.
FoundFormat find_format(LineReader& reader, const Reading& reading);

/// Checks that line n of one file belongs to line n of the other: with tags the metadata lines are compared and removed, with
/// xml the documents and ids of segments are compared if both files have them. Error with both counts and the first place where
/// the files differ.
void align(TextFile& sources, TextFile& targets, const Say& say);

/// Removes, with a note, the units of a TMX file that only one side has. Other files are unchanged.
void keep_common_units(TextFile& sources, TextFile& targets, const Say& say);

/// Throws the Error for two files of unequal length. `counted_a`, `counted_b`: from TextFile::counted(); `place`: further
/// information.
[[noreturn]] void fail_unequal(const std::string& name_a, const std::string& counted_a, const std::string& name_b,
                               const std::string& counted_b, const std::string& place = "");

}  // namespace heddle::app
