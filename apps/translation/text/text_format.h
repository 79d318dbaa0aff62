// The formats of files of sentences, and their detection.
//
//     text   a sentence per line
//     tags   IWSLT's train.tags.*: a sentence per line, and between the talks metadata lines such as <talkid>343</talkid>
//     xml    IWSLT's and WMT's *.xml and *.sgm: <doc docid="1741"> ... <seg id="1"> a sentence </seg> ... </doc>
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_words.h"

namespace heddle::app {

enum class TextFormat : std::uint8_t { automatic, text, tags, xml };

constexpr auto enum_words(TextFormat) {
    return words_for<TextFormat>(
        {{TextFormat::automatic, "auto"}, {TextFormat::text, "text"}, {TextFormat::tags, "tags"}, {TextFormat::xml, "xml"}});
}

/// The format of a text that begins so. xml: an XML declaration, a doctype, one of <mteval>, <srcset>, <refset>, <tstset>, or a
/// <doc docid> with a <seg> after it. tags: the first line describes a talk, and TalkLines has no doubt. Everything else is text.
TextFormat recognised(std::string_view beginning);

/// Evidence, line by line, that a text is IWSLT's training text: it names a talk (<talkid>, <url> or <doc docid>), and every line
/// that begins with a tag is a whole element that IWSLT describes talks with. Text about web pages has other tags, too.
class TalkLines {
  public:
    TalkLines() = default;
    /// The lines that a text begins with.
    explicit TalkLines(std::string_view beginning);

    void add(std::string_view line);
    bool found() const { return names_a_talk_ && other_line_ == 0; }
    /// The line that speaks against it in a text that begins with a talk: "line 4 (<b>)". Empty otherwise.
    std::string doubt() const;

  private:
    std::int64_t lines_ = 0;
    bool begins_with_a_talk_ = false;
    bool names_a_talk_ = false;
    std::int64_t other_line_ = 0;
    std::string other_;
};

/// Whether a line of a file with tags describes the talk: after spaces it begins with "<" and a letter, "</", or "<!". A line
/// that begins with a heart, "<3", is text.
bool is_metadata(std::string_view line);
/// What has to be the same in the metadata lines of two languages: the element's name, and the number of the talk or document
/// where it is one: "talkid 343", "doc 1741", "title" (a title may be translated). Empty for other lines.
std::string metadata_key(std::string_view line);

}  // namespace heddle::app
