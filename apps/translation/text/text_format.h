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

/// The format of a text with this beginning. xml: an XML declaration, a doctype, one of <mteval>, <srcset>, <refset>, <tstset>,
/// or a <doc docid> with a <seg> after it. tags: the first line describes a talk, and TalkLines finds no doubt. Otherwise text.
TextFormat recognised(std::string_view beginning);

/// Decides line by line whether a text is IWSLT's training text: it names a talk (<talkid>, <url> or <doc docid>), and every
/// line that begins with a tag is a complete element by which IWSLT describes talks. Text about web pages has other tags, too.
class TalkLines {
  public:
    TalkLines() = default;
    /// `beginning`: the first lines of the text.
    explicit TalkLines(std::string_view beginning);

    void add(std::string_view line);
    bool found() const { return names_a_talk_ && other_line_ == 0; }
    /// The first line that contradicts the guess in a text that begins with a talk: "line 4 (<b>)". Otherwise empty.
    std::string doubt() const;

  private:
    std::int64_t lines_ = 0;
    bool begins_with_a_talk_ = false;
    bool names_a_talk_ = false;
    std::int64_t other_line_ = 0;
    std::string other_;
};

/// True if a line of a file with tags describes the talk: after spaces it begins with "<" and a letter, "</", or "<!". A line
/// that begins with a heart, "<3", is text.
bool is_metadata(std::string_view line);
/// The part of a metadata line that must agree between two languages: the element's name, and the talk's or document's number if
/// it is one: "talkid 343", "doc 1741", "title" (a title may be translated). Empty for other lines.
std::string metadata_key(std::string_view line);

}  // namespace heddle::app
