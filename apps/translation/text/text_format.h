// The formats of files of sentences, and their detection.
//
//     text   a sentence per line
//     tags   IWSLT's train.tags.*: a sentence per line, and between the talks metadata lines such as <talkid>343</talkid>
//     xml    IWSLT's and WMT's *.xml and *.sgm: <doc docid="1741"> ... <seg id="1"> a sentence </seg> ... </doc>
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/translation/text/enum_words.h"

namespace heddle::app {

enum class TextFormat : std::uint8_t { automatic, text, tags, xml };

template <>
struct EnumWords<TextFormat> {
    static constexpr EnumWord<TextFormat> table[] = {
        {TextFormat::automatic, "auto"}, {TextFormat::text, "text"}, {TextFormat::tags, "tags"}, {TextFormat::xml, "xml"}};
};

/// What a text is that begins so: xml for an XML declaration, a doctype, or one of <mteval>, <srcset>, <refset>, <tstset>; tags
/// for one of the elements that IWSLT describes a talk with; a <doc> is xml when a <seg> follows, and tags otherwise. Everything
/// else is text.
TextFormat recognised(std::string_view beginning);

/// Whether a line of a file with tags describes the talk: after spaces it begins with "<" and a letter, "</", or "<!". A line
/// that begins with a heart, "<3", is text.
bool is_metadata(std::string_view line);
/// What has to be the same in the metadata lines of two languages: the element's name, and the number of the talk or document
/// where it is one: "talkid 343", "doc 1741", "title" (a title may be translated). Empty for other lines.
std::string metadata_key(std::string_view line);

}  // namespace heddle::app
