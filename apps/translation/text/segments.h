// Reads test sets as IWSLT and WMT publish them: sentences in <seg> elements of XML, or of SGML that is not quite XML;
// chooses one text of a file that has several: a source with references and translations, or a text in several languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/line_reader.h"

namespace heddle::app {

enum class SegmentRole : std::uint8_t { any, source, reference, hypothesis };

/// Which text to read from a file that contains several.
struct WantedSegments {
    SegmentRole role = SegmentRole::any;
    std::string language = {};  ///< as given by --source and --target: "de", "de.xml"; empty if unknown
    bool of_both = false;       ///< source and target are in one file: even a single text must be marked with this language
};

/// The segments of a file with the same role and language.
struct SegmentGroup {
    SegmentRole role = SegmentRole::any;  ///< from the enclosing <src>, <ref>, <hyp>, <srcset>, <refset>, <tstset>
    std::string language = {};            ///< from the enclosing xml:lang, lang or language; may be empty
    std::int64_t segments = 0;
};

/// The role of segments in an element with this name.
SegmentRole role_of_element(std::string_view name);

/// The index of the only group that fits: first by language ("de" fits "de-DE" unless another is exactly "de"), then by role.
/// Error for the file `name`, listing the groups, if none or several fit.
std::size_t chosen_group(std::span<const SegmentGroup> groups, const WantedSegments& wanted, const std::string& name);

/// The position of a segment. Missing attributes are empty.
struct SegmentPlace {
    std::string document;   ///< docid, or else id, of the enclosing <doc>
    std::string id;         ///< its own id, or its unit's number
    std::int64_t line = 0;  ///< where it starts in the file, from 1
    std::int64_t unit = 0;  ///< number of the enclosing <tu>, from 1: TMX has one for each sentence and its translations

    /// "document 1741, segment 3 (line 31)".
    std::string text() const;
};

struct MarkedSegments {
    std::vector<std::string> texts;    ///< white space is trimmed, and reduced to single spaces
    std::vector<SegmentPlace> places;  ///< of each text
};

/// The segments of a text in the order of the file, whatever stands around them; empty ones are empty texts. Of a file with
/// several texts (TMX; WMT's <src>, <ref> and <hyp>) only those that are `wanted`; of several references or systems of a document
/// the first, with a note. Elements inside a segment are removed and their text is kept, except TMX's codes of formatting. &lt;
/// &gt; &amp; &quot; &apos; &#228; &#xE4; become their characters; other entities stay as they are. Names of elements and
/// attributes count in lower and upper case. SGML is read, too: attributes without quotes, a bare "<" in the text, elements
/// without an end but for those that hold segments.
///
/// `reader`: nothing was read from it yet. Error with name and line when a segment has no end (a file that was cut off), when an
/// id comes twice in a document, when a character reference names no character (or U+FFFD with `replace_invalid`), when there
/// is no segment at all, and as chosen_group() has it. Segments longer than longest_line are cut, with a note.
MarkedSegments read_segments(LineReader& reader, bool replace_invalid, const Say& say, const WantedSegments& wanted = {});

}  // namespace heddle::app
