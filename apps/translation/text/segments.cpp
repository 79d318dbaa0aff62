#include "apps/translation/text/segments.h"
#include "core/number_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <pugixml.hpp>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/unicode.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// ---- what stands in a segment

// U+0000 for a reference that names no character; nothing for what is no reference.
std::optional<char32_t> character_of(std::string_view entity) {
    constexpr std::pair<std::string_view, char32_t> named[] = {
        {"lt", U'<'}, {"gt", U'>'}, {"amp", U'&'}, {"quot", U'"'}, {"apos", U'\''}};
    for (const auto& [name, character] : named)
        if (entity == name) return character;
    if (!entity.starts_with('#')) return {};
    entity.remove_prefix(1);
    const bool hexadecimal = entity.starts_with('x') || entity.starts_with('X');
    if (hexadecimal) entity.remove_prefix(1);
    std::uint32_t number = 0;
    const auto [end, failed] = std::from_chars(entity.data(), entity.data() + entity.size(), number, hexadecimal ? 16 : 10);
    if (end != entity.data() + entity.size() || failed == std::errc::invalid_argument) return {};
    const bool character = failed == std::errc() && number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF);
    return character ? static_cast<char32_t>(number) : U'\0';
}

std::string single_spaced(std::string_view text) {
    std::string out;
    for (std::size_t begin = 0; (begin = text.find_first_not_of(markup_space, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(markup_space, begin), text.size());
        if (!out.empty()) out += ' ';
        out += text.substr(begin, end - begin);
        begin = end;
    }
    return out;
}

// Takes documents, segments and text as a parser comes upon them.
class Collector {
  public:
    Collector(std::string_view whole, std::string name, bool replace_invalid)
        : whole_(whole), name_(std::move(name)), replace_invalid_(replace_invalid) {}

    // One without an id is not the one before that had none.
    void document(std::string_view id) {
        check_name("a docid", id);
        document_ = id;
        while (id.empty() && !seen_.empty() && seen_.begin()->first.first.empty()) seen_.erase(seen_.begin());
    }
    void open(std::string_view id, std::size_t offset) {
        const std::int64_t line = line_of(offset);
        check_name("an id", id);
        check(!open_, "{}:{}: a <seg> inside the one of line {}, which has no end", name_, line, line_);
        open_ = true;
        line_ = line;
        segments_.places.push_back({.document = document_, .id = std::string(id), .line = line});
        if (id.empty()) return;
        const auto [first, fresh] = seen_.try_emplace(std::pair(document_, std::string(id)), line);
        check(fresh,
              "{}:{}: segment {} of document '{}' again; it is in line {}, too (wanted each once, one reference in a file)",
              name_, line, id, document_, first->second);
    }
    void add(std::string_view text, bool escaped) {
        if (!open_) return;
        if (escaped)
            decode(text);
        else
            text_ += text;
    }
    void close() {
        if (!open_) return;
        open_ = false;
        std::string text = single_spaced(text_);
        text_.clear();
        if (text.size() > longest_line) {
            text.resize(whole_characters(text, longest_line));
            ++cut_;
        }
        segments_.texts.push_back(std::move(text));
    }
    bool inside() const { return open_; }
    // Offsets come in rising order.
    std::int64_t line_of(std::size_t offset) {
        const std::size_t end = std::min(std::max(offset, counted_), whole_.size());
        lines_ += std::count(whole_.begin() + static_cast<std::ptrdiff_t>(counted_),
                             whole_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        counted_ = end;
        return lines_ + 1;
    }
    const std::string& name() const { return name_; }

    MarkedSegments finish(const Say& say) {
        check(!segments_.texts.empty(),
              "{}: there is no segment in it; wanted IWSLT or WMT XML, <seg id=\"1\"> a sentence </seg>", name_);
        if (say && cut_ > 0)
            say(fmt::format("{}: cut {} segments to {} bytes, the longest a sentence may be", name_, grouped_text(cut_),
                            grouped_text(longest_line)));
        return std::move(segments_);
    }

  private:
    // Each segment keeps both.
    void check_name(const char* attribute, std::string_view name) const {
        constexpr std::size_t longest = 1000;
        check(name.size() <= longest, "{}: {} has {} bytes; wanted at most {}", name_, attribute, name.size(), longest);
    }
    void decode(std::string_view text) {
        constexpr std::size_t longest_entity = 12;
        for (std::size_t at; (at = text.find('&')) != std::string_view::npos;) {
            text_ += text.substr(0, at);
            text.remove_prefix(at);
            const std::size_t end = text.substr(0, longest_entity).find(';');
            const auto found = end == std::string_view::npos ? std::nullopt : character_of(text.substr(1, end - 1));
            check(found != U'\0' || replace_invalid_,
                  "{}:{}: {} in this segment is no character; correct it, or go on with --replace-invalid", name_, line_,
                  text.substr(0, end + 1));
            if (found)
                append_utf8(text_, *found == U'\0' ? replacement_character : *found);
            else
                text_ += '&';
            text.remove_prefix(found ? end + 1 : 1);
        }
        text_ += text;
    }

    std::string_view whole_;
    std::string name_;
    bool replace_invalid_;
    std::size_t counted_ = 0;  // bytes of `whole_` whose line ends are in `lines_`
    std::int64_t lines_ = 0;
    MarkedSegments segments_;
    std::map<std::pair<std::string, std::string>, std::int64_t> seen_;  // document and id: line
    std::string document_;
    std::string text_;
    bool open_ = false;
    std::int64_t line_ = 0;  // of the open segment
    std::int64_t cut_ = 0;
};

// ---- XML

std::string_view attribute(const pugi::xml_node& node, std::string_view name) {
    for (const pugi::xml_attribute& each : node.attributes())
        if (same_name(each.name(), name)) return each.value();
    return {};
}

// Goes through the document without recursion: elements can be nested as deep as a file is long.
class XmlWalker : public pugi::xml_tree_walker {
  public:
    explicit XmlWalker(Collector& segments) : segments_(segments) {}

    bool for_each(pugi::xml_node& node) override {
        if (depth() <= segment_depth_) segments_.close();
        if (depth() <= document_depth_) segments_.document("");
        if (node.type() == pugi::node_pcdata) segments_.add(node.value(), true);
        if (node.type() == pugi::node_cdata) segments_.add(node.value(), false);
        if (node.type() != pugi::node_element) return true;
        if (same_name(node.name(), "doc")) {
            document_depth_ = depth();
            segments_.document(attribute(node, "docid"));
        } else if (same_name(node.name(), "seg")) {
            segments_.open(attribute(node, "id"), static_cast<std::size_t>(node.offset_debug()));
            segment_depth_ = depth();
        }
        return true;
    }
    bool end(pugi::xml_node&) override {
        segments_.close();
        return true;
    }

  private:
    Collector& segments_;
    int segment_depth_ = -1;
    int document_depth_ = -1;
};

// ---- SGML

struct Tag {
    std::string_view name;  // without the slash of an end
    std::string_view attributes;
    bool end = false;
    bool empty = false;  // <seg/>
};

class SgmlReader {
  public:
    SgmlReader(std::string_view text, Collector& segments) : text_(text), segments_(segments) {}

    void read() {
        while (at_ < text_.size()) {
            const std::size_t next = std::min(text_.find('<', at_), text_.size());
            segments_.add(text_.substr(at_, next - at_), true);
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
        if (rest.starts_with("<!") || rest.starts_with("<?")) return skip(">");
        const char c = rest.size() > 1 ? rest[1] : ' ';
        if (c != '/' && !is_ascii_letter(c)) {
            segments_.add("<", false);  // it opens nothing
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
        char quote = '\0', before = '\0';  // except for white space; an apostrophe of the text opens no value
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

    // Only elements that hold segments have to be closed in order; others (<p>, <hl>, <url>) may come as they like.
    void take(const Tag& tag, std::size_t offset) {
        constexpr std::string_view holding[] = {"mteval", "srcset", "refset", "tstset", "doc", "seg"};
        const auto is = [&](std::string_view name) { return same_name(tag.name, name); };
        if (std::none_of(std::begin(holding), std::end(holding), is)) return;
        const bool segment = is("seg"), document = is("doc");
        if (!tag.end) {
            if (segments_.inside()) no_end(open_.back());
            if (document) segments_.document(attribute_in(tag.attributes, "docid"));
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
    }

    std::string_view text_;
    Collector& segments_;
    std::size_t at_ = 0;
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

MarkedSegments read_segments(LineReader& reader, bool replace_invalid, const Say& say) {
    const std::string text = rest_of(reader);
    reader.say_changes(say);
    Collector segments(text, reader.name(), replace_invalid);
    pugi::xml_document document;
    // Entities stay: a reference to U+0000 would end a string here.
    constexpr unsigned how = pugi::parse_cdata | pugi::parse_ws_pcdata | pugi::parse_wconv_attribute;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size(), how, pugi::encoding_utf8);
    if (parsed) {
        XmlWalker walker(segments);
        document.traverse(walker);
        return segments.finish(say);
    }
    Collector tolerant(text, reader.name(), replace_invalid);
    SgmlReader(text, tolerant).read();
    MarkedSegments found = tolerant.finish(say);
    if (say && parsed.status != pugi::status_no_document_element)
        say(fmt::format("{}:{}: no XML ({}); read as SGML", reader.name(),
                        segments.line_of(static_cast<std::size_t>(parsed.offset)), parsed.description()));
    return found;
}

}  // namespace heddle::app
