#include "apps/translation/text/segments.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <numeric>
#include <vector>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/segment_collector.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

struct Tag {
    std::string_view name;  // without the slash of an end tag
    std::string_view attributes;
    bool end = false;
    bool empty = false;  // <seg/>
};

// Reads XML and SGML, in which elements need no end and attributes no quotes.
class MarkupReader {
  public:
    MarkupReader(std::string_view text, SegmentCollector& segments) : text_(text), segments_(segments) {}

    void read() {
        while (at_ < text_.size()) {
            const std::size_t next = std::min(text_.find('<', at_), text_.size());
            if (code_.empty()) segments_.add(text_.substr(at_, next - at_), true);
            at_ = next;
            if (at_ < text_.size()) read_markup();
        }
        if (!open_.empty()) no_end(open_.back());
    }

  private:
    struct Element {
        std::string_view name;
        std::int64_t line = 0;
    };

    [[noreturn]] void no_end(const Element& element) {
        fail_with("{}:{}: the <{}> of this line has no end; is the file complete?", segments_.name(), element.line, element.name);
    }

    void read_markup() {
        const std::string_view rest = text_.substr(at_);
        if (rest.starts_with("<!--")) return skip("-->");
        constexpr std::string_view characters = "<![CDATA[";
        if (rest.starts_with(characters)) {
            const std::size_t begin = at_ + characters.size();
            skip("]]>");
            if (!code_.empty()) return;
            return segments_.add(text_.substr(begin, at_ - begin - 3), false);
        }
        if (rest.starts_with("<!") || rest.starts_with("<?")) return skip(">");
        const char c = rest.size() > 1 ? rest[1] : ' ';
        if (c != '/' && !is_ascii_letter(c)) {
            segments_.add("<", false);  // a bare "<" that does not open a tag
            ++at_;
            return;
        }
        const std::size_t begin = at_;
        const Tag tag = read_tag();
        take(tag, begin);
    }

    void skip(std::string_view end) {
        const std::size_t found = text_.find(end, at_);
        check(found != std::string_view::npos, "{}:{}: the comment or declaration of this line has no end; is the file complete?",
              segments_.name(), segments_.line_of(at_));
        at_ = found + end.size();
    }

    Tag read_tag() {
        const std::size_t begin = at_;
        char quote = '\0', before = '\0';  // `before` skips white space; an apostrophe in text does not start a value
        std::size_t end = at_ + 1;
        for (; end < text_.size() && (quote != '\0' || text_[end] != '>'); ++end) {
            const char c = text_[end];
            if (quote == '\0' && before == '=' && (c == '"' || c == '\''))
                quote = c;
            else if (c == quote)
                quote = '\0';
            if (markup_space.find(c) == std::string_view::npos) before = c;
        }
        check(end < text_.size(), "{}:{}: the tag of this line has no end; is the file complete?", segments_.name(),
              segments_.line_of(begin));
        at_ = end + 1;
        std::string_view inside = text_.substr(begin + 1, end - begin - 1);
        Tag tag;
        tag.end = inside.starts_with('/');
        if (tag.end) inside.remove_prefix(1);
        tag.empty = inside.ends_with('/');
        if (tag.empty) inside.remove_suffix(1);
        tag.name = inside.substr(0, inside.find_first_of(markup_space));
        tag.attributes = inside.substr(tag.name.size());
        return tag;
    }

    // Only elements that contain segments must be closed in order; others (<p>, <hl>, <url>) need not be.
    void take(const Tag& tag, std::size_t offset) {
        // In the last ones TMX keeps formatting of the original document.
        constexpr std::string_view holding[] = {"mteval", "srcset", "refset", "tstset", "doc", "seg"},
                                   parts[] = {"src", "ref", "hyp", "tu", "tuv"}, codes[] = {"bpt", "ept", "ph", "it", "ut"};
        const auto is = [&](std::string_view name) { return same_name(tag.name, name); };
        if (segments_.in_unit() && segments_.inside() && std::ranges::any_of(codes, is))
            code_ = tag.end || tag.empty ? std::string_view() : tag.name;
        if (is("seg")) code_ = {};
        // Inside a segment these are part of its text: a <ref> there has another meaning.
        const bool part = !segments_.inside() && std::any_of(std::begin(parts), std::end(parts), is);
        if (!part && std::none_of(std::begin(holding), std::end(holding), is)) return;
        const bool segment = is("seg"), document = is("doc");
        if (!tag.end) {
            if (segments_.inside()) no_end(open_.back());
            const auto attribute_of = [&](std::string_view name) { return attribute_in(tag.attributes, name); };
            segments_.enter(tag.name, static_cast<int>(open_.size()), attribute_of);
            const std::string_view id = attribute_of("docid");
            if (document) segments_.document(id.empty() ? attribute_of("id") : id);
            if (segment) segments_.open(attribute_in(tag.attributes, "id"), offset);
            open_.push_back({.name = tag.name, .line = segments_.line_of(offset)});
        }
        if (!tag.end && !tag.empty) return;
        const auto begins_it = [&](const Element& element) { return same_name(element.name, tag.name); };
        if (open_.empty() || !begins_it(open_.back())) {
            check(std::any_of(open_.begin(), open_.end(), begins_it), "{}:{}: </{}> ends nothing; is the file complete?",
                  segments_.name(), segments_.line_of(offset), tag.name);
            no_end(open_.back());
        }
        open_.pop_back();
        if (segment) segments_.close();
        if (document) segments_.document("");
        if (is("tu")) segments_.leave_unit();
        segments_.leave(static_cast<int>(open_.size()));
    }

    std::string_view text_;
    SegmentCollector& segments_;
    std::size_t at_ = 0;
    std::string_view code_;  // the open element of a segment that is no text of it
    std::vector<Element> open_;
};

std::string rest_of(LineReader& reader) {
    reader.keep_whole_lines();
    std::string text;
    for (std::string line; reader.next(line);) text.append(line).push_back('\n');
    return text;
}

}  // namespace

std::string SegmentPlace::text() const {
    const std::string inside = document.empty() ? "" : fmt::format("document {}, ", document);
    return fmt::format("{}segment {} (line {})", inside, id.empty() ? "without id" : id, line);
}

MarkedSegments read_segments(LineReader& reader, bool replace_invalid, const Say& say, const WantedSegments& wanted) {
    const std::string text = rest_of(reader);
    reader.say_changes(say);
    SegmentCollector segments(text, reader.name(), replace_invalid);
    MarkupReader(text, segments).read();
    return segments.finish(wanted, say);
}

namespace {

// "de-de" for "de_DE".
std::string plain_code(std::string_view language) {
    std::string code;
    for (const char c : language) code += c == '_' ? '-' : ascii_lower(c);
    return code;
}

std::string_view without_region(std::string_view code) { return code.substr(0, code.find('-')); }

std::string_view word_of_role(SegmentRole role) {
    switch (role) {
        case SegmentRole::source: return "source";
        case SegmentRole::reference: return "reference";
        case SegmentRole::hypothesis: return "translation";
        case SegmentRole::any: break;
    }
    return "text";
}

// "reference in en, 1,305 segments".
std::string described(const SegmentGroup& group) {
    return fmt::format("{}{}{}, {} segment{}", word_of_role(group.role), group.language.empty() ? "" : " in ", group.language,
                       grouped_text(group.segments), group.segments == 1 ? "" : "s");
}

// The indices of the groups that fit, or all indices if none does.
template <class Fits>
std::vector<std::size_t> those_that_fit(const std::vector<std::size_t>& numbers, const Fits& fits) {
    std::vector<std::size_t> fitting;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(fitting), fits);
    return fitting.empty() ? numbers : fitting;
}

}  // namespace

SegmentRole role_of_element(std::string_view name) {
    constexpr std::pair<std::string_view, SegmentRole> roles[] = {
        {"src", SegmentRole::source},    {"ref", SegmentRole::reference},    {"hyp", SegmentRole::hypothesis},
        {"srcset", SegmentRole::source}, {"refset", SegmentRole::reference}, {"tstset", SegmentRole::hypothesis}};
    for (const auto& [element, role] : roles)
        if (same_name(name, element)) return role;
    return SegmentRole::any;
}

std::size_t chosen_group(std::span<const SegmentGroup> groups, const WantedSegments& wanted, const std::string& name) {
    // A suffix such as de.xml begins with the language.
    const std::string language = plain_code(wanted.language.substr(0, wanted.language.find('.')));
    const auto code_of = [&](std::size_t i) { return plain_code(groups[i].language); };
    std::vector<std::size_t> fitting(groups.size());
    std::iota(fitting.begin(), fitting.end(), 0);
    bool missing = false;
    if (!language.empty() && std::ranges::any_of(groups, [](const SegmentGroup& group) { return !group.language.empty(); })) {
        const auto fits = [&](std::size_t i) {
            return groups[i].language.empty() || without_region(code_of(i)) == without_region(language);
        };
        fitting = those_that_fit(fitting, fits);
        missing = !fits(fitting.front());
        fitting = those_that_fit(fitting, [&](std::size_t i) { return code_of(i) == language; });
    }
    // With source and target exchanged, a pair's reference is the source.
    if (wanted.role != SegmentRole::hypothesis)
        fitting = those_that_fit(fitting, [&](std::size_t i) { return groups[i].role != SegmentRole::hypothesis; });
    fitting = those_that_fit(fitting, [&](std::size_t i) { return groups[i].role == wanted.role; });
    const bool alone = groups.size() == 1;
    const bool serves_both = wanted.of_both && alone && groups.front().language.empty();
    if (fitting.size() == 1 && !missing && !serves_both) return fitting.front();
    std::vector<std::string> all;
    for (const SegmentGroup& group : groups) all.push_back(described(group));
    fail_with("{}: it has {} ({}), and {}; {}", name, alone ? "one text only" : "the segments of several texts",
              fmt::join(all, "; "),
              missing       ? fmt::format("none is in '{}'", language)
              : serves_both ? "source and target are two"
                            : "nothing says which of them is meant",
              "give --source and --target as the file names its languages, or a file for each text");
}

}  // namespace heddle::app
