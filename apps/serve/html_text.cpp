#include "apps/serve/html_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

constexpr std::string_view blank = " \t\r\n\f";

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), ascii_lower);
    return result;
}

// The end of the tag, comment or declaration that begins at `at` with '<'; `at` itself if none does.
std::size_t end_of_tag(std::string_view html, std::size_t at) {
    if (html.substr(at).starts_with("<!--")) {
        const std::size_t end = html.find("-->", at + 4);
        return end == std::string_view::npos ? html.size() : end + 3;
    }
    const char next = at + 1 < html.size() ? html[at + 1] : ' ';
    if (!is_ascii_letter(next) && next != '/' && next != '!' && next != '?') return at;
    char quote = 0;
    for (std::size_t i = at + 1; i < html.size(); ++i) {
        const char c = html[i];
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    return html.size();
}

std::string name_of(std::string_view tag) {
    std::size_t begin = tag.starts_with("</") ? 2 : 1, end = begin;
    while (end < tag.size() && blank.find(tag[end]) == std::string_view::npos && tag[end] != '>' && tag[end] != '/') ++end;
    return lower(tag.substr(begin, end - begin));
}

constexpr std::array kept = {"script", "style", "code", "pre", "textarea", "svg", "math"};
constexpr std::array without_content = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                        "input", "link", "meta", "param", "source", "track", "wbr"};

// The end of the element that begins with the tag html[at, end): of as many opening as closing tags of its name.
std::size_t end_of_element(std::string_view html, std::size_t end, const std::string& name) {
    if (name == "script" || name == "style" || name == "textarea") {  // their content has no tags
        for (std::size_t at = html.find("</", end); at != std::string_view::npos; at = html.find("</", at + 2)) {
            if (!same_name(html.substr(at + 2, name.size()), name)) continue;
            const std::size_t close = html.find('>', at);
            return close == std::string_view::npos ? html.size() : close + 1;
        }
        return html.size();
    }
    int depth = 1;
    while (end < html.size()) {
        const std::size_t at = html.find('<', end);
        if (at == std::string_view::npos) return html.size();
        const std::size_t behind = end_of_tag(html, at);
        if (behind == at) {
            end = at + 1;
            continue;
        }
        const std::string_view tag = html.substr(at, behind - at);
        const bool closing = tag.starts_with("</");
        if (name_of(tag) == name) {
            depth += closing ? -1 : tag.ends_with("/>") ? 0 : 1;
            if (depth == 0) return behind;
        }
        end = behind;
    }
    return html.size();
}

constexpr std::pair<std::string_view, std::string_view> references[] = {
    {"amp", "&"},         {"lt", "<"},          {"gt", ">"},          {"quot", "\""},       {"apos", "'"},
    {"nbsp", "\u00a0"},   {"hellip", "\u2026"}, {"ndash", "\u2013"},  {"mdash", "\u2014"},  {"lsquo", "\u2018"},
    {"rsquo", "\u2019"},  {"ldquo", "\u201c"},  {"rdquo", "\u201d"},  {"laquo", "\u00ab"},  {"raquo", "\u00bb"},
    {"bdquo", "\u201e"},  {"euro", "\u20ac"},   {"copy", "\u00a9"},   {"auml", "\u00e4"},   {"ouml", "\u00f6"},
    {"uuml", "\u00fc"},   {"Auml", "\u00c4"},   {"Ouml", "\u00d6"},   {"Uuml", "\u00dc"},   {"szlig", "\u00df"},
    {"eacute", "\u00e9"}, {"egrave", "\u00e8"}, {"agrave", "\u00e0"}, {"ccedil", "\u00e7"}, {"shy", "\u00ad"}};

// What &...; stands for, or nothing: then it stays as it is.
std::string referenced(std::string_view name) {
    if (name.starts_with('#')) {
        name.remove_prefix(1);
        const bool hexadecimal = name.starts_with('x') || name.starts_with('X');
        if (hexadecimal) name.remove_prefix(1);
        std::uint32_t code = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, hexadecimal ? 16 : 10);
        if (error != std::errc() || end != name.data() + name.size() || code == 0 || code > 0x10FFFF ||
            (code >= 0xD800 && code < 0xE000))
            return "";
        return encode_utf8(std::u32string(1, static_cast<char32_t>(code)));
    }
    const auto found = std::ranges::find(references, name, &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(references) ? "" : std::string(found->second);
}

std::string without_references(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t end = text[i] == '&' ? text.substr(0, i + 12).find(';', i) : std::string_view::npos;
        const std::string stands_for = end == std::string_view::npos ? "" : referenced(text.substr(i + 1, end - i - 1));
        if (stands_for.empty()) {
            const char c = text[i];  // a line of text has no line ends
            result += c == '\n' || c == '\r' || c == '\t' || c == '\f' ? ' ' : c;
        } else {
            result += stands_for == "\n" || stands_for == "\r" ? " " : stands_for;
            i = end;
        }
    }
    return result;
}

void append_escaped(std::string& html, std::string_view text) {
    for (const char c : text) switch (c) {
            case '&': html += "&amp;"; break;
            case '<': html += "&lt;"; break;
            case '>': html += "&gt;"; break;
            default: html += c;
        }
}

}  // namespace

HtmlText::HtmlText(std::string_view html) {
    markup_.emplace_back();
    std::size_t at = 0, begin = 0;  // the text between tags begins at `begin`
    const auto take_text = [&](std::size_t end) {
        const std::string_view text = html.substr(begin, end - begin);
        const std::size_t first = text.find_first_not_of(blank), last = text.find_last_not_of(blank);
        if (first == std::string_view::npos) {
            markup_.back() += text;
            return;
        }
        markup_.back() += text.substr(0, first);
        lines_.push_back(without_references(text.substr(first, last + 1 - first)));
        markup_.emplace_back(text.substr(last + 1));
    };
    while (at < html.size()) {
        at = std::min(html.find('<', at), html.size());
        std::size_t end = at < html.size() ? end_of_tag(html, at) : at;
        if (end == at && at < html.size()) {  // a < that begins no tag
            ++at;
            continue;
        }
        take_text(at);
        if (at == html.size()) {
            begin = at;
            break;
        }
        const std::string_view tag = html.substr(at, end - at);
        const std::string name = name_of(tag);
        const bool opens =
            !tag.starts_with("</") && !tag.ends_with("/>") && std::ranges::find(without_content, name) == without_content.end();
        const std::string_view attributes = opens ? tag.substr(1 + name.size(), tag.size() - name.size() - 2) : "";
        const bool no = same_name(attribute_in(attributes, "translate"), "no");
        if (opens && (no || std::ranges::find(kept, name) != kept.end())) end = end_of_element(html, end, name);
        markup_.back() += html.substr(at, end - at);
        at = begin = end;
    }
    if (begin < html.size()) take_text(html.size());
}

std::string HtmlText::with(const std::vector<std::string>& translations) const {
    std::string html = markup_.front();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        append_escaped(html, translations[i]);
        html += markup_[i + 1];
    }
    return html;
}

}  // namespace heddle::app
