#include "apps/translation/text/text_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/text/markup.h"
#include "core/format.h"

namespace heddle::app {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
    return out;
}

// The element name of a tag: "doc" for `<doc docid="1">`.
std::string_view element_name(std::string_view tag) {
    tag.remove_prefix(tag.starts_with("</") ? 2 : 1);
    return tag.substr(0, tag.find_first_of(" \t\r\n/>"));
}

// The docid of a tag <doc>.
std::string_view docid(std::string_view tag) {
    return attribute_in(tag.substr(0, tag.find('>')).substr(1 + element_name(tag).size()), "docid");
}

template <class List>
bool contains(const List& list, std::string_view wanted) {
    return std::find(std::begin(list), std::end(list), wanted) != std::end(list);
}

// True for a complete element that describes a talk: IWSLT closes each on its line, except <doc>.
bool describes_talk(std::string_view line) {
    constexpr std::string_view of_talks[] = {"url",   "keywords",    "speaker",  "talkid",
                                             "title", "description", "reviewer", "translator"};
    if (!is_metadata(line)) return false;
    const std::string text = in_lower_case(trimmed(line));
    const std::string_view name = element_name(text);
    if (name == "doc") return text.ends_with('>') && (text == "</doc>" || !docid(text).empty());
    return contains(of_talks, name) && text.ends_with(fmt::format("</{}>", name));
}

std::string_view without_mark(std::string_view text) { return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text; }

}  // namespace

TalkLines::TalkLines(std::string_view beginning) {
    for (std::string_view rest = without_mark(beginning); !rest.empty();) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        // The last line may be incomplete.
        if (end != std::string_view::npos || describes_talk(line)) add(line);
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
}

void TalkLines::add(std::string_view line) {
    const bool describes = describes_talk(line);
    if (++lines_ == 1) begins_with_a_talk_ = describes;
    if (!is_metadata(line)) return;
    if (describes) {
        const std::string key = metadata_key(line);
        names_a_talk_ = names_a_talk_ || key == "url" || key.starts_with("talkid") || key.starts_with("doc ");
    } else if (other_line_ == 0) {
        other_line_ = lines_;
        constexpr std::size_t most = 20;
        const std::string_view tag = trimmed(line), name = element_name(tag);
        const auto end = std::find_if_not(name.begin(), name.end(), is_ascii_letter);
        other_ = fmt::format("<{}{}>", tag.starts_with("</") ? "/" : "", std::string_view(name.begin(), end).substr(0, most));
    }
}

std::string TalkLines::doubt() const {
    return begins_with_a_talk_ && names_a_talk_ && other_line_ > 0 ? fmt::format("line {} ({})", other_line_, other_) : "";
}

TextFormat recognised(std::string_view beginning) {
    constexpr std::string_view sets[] = {"mteval", "srcset", "refset", "tstset"};
    beginning = without_mark(beginning);
    const std::string text = in_lower_case(trimmed(beginning));
    if (text.starts_with("<?xml") || text.starts_with("<!doctype")) return TextFormat::xml;
    if (text.size() < 2 || text[0] != '<' || !is_ascii_letter(text[1])) return TextFormat::text;
    const std::string_view name = element_name(text);
    if (contains(sets, name)) return TextFormat::xml;
    if (name == "doc" && !docid(text).empty() && text.find("<seg") != std::string::npos) return TextFormat::xml;
    return TalkLines(beginning).found() ? TextFormat::tags : TextFormat::text;
}

bool is_metadata(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line.size() > 1 && line[0] == '<' && (is_ascii_letter(line[1]) || line[1] == '/' || line[1] == '!');
}

std::string metadata_key(std::string_view line) {
    if (!is_metadata(line)) return {};
    const std::string text = in_lower_case(trimmed(line));
    const std::string_view name = element_name(text);
    std::string_view id;
    if (name == "doc") id = docid(text);
    if (name == "talkid" && text.starts_with("<talkid>")) {
        id = std::string_view(text).substr(8);
        id = trimmed(id.substr(0, id.find('<')));
    }
    return fmt::format("{}{}{}{}", text.starts_with("</") ? "/" : "", name, id.empty() ? "" : " ", id);
}

}  // namespace heddle::app
