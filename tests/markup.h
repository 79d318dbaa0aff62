// A small reader of XML for tests of pictures and pages: whether a text is well formed, and which elements it has.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/unicode.h"

namespace heddle {

struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;  ///< what stands directly in it, as written
};

/// Elements in the order in which they begin, or what is wrong with the text and where.
struct Markup {
    std::vector<Element> elements;
    std::string error;

    std::vector<Element> all(std::string_view name) const {
        std::vector<Element> found;
        std::copy_if(elements.begin(), elements.end(), std::back_inserter(found),
                     [&](const Element& one) { return one.name == name; });
        return found;
    }
};

class MarkupReader {
  public:
    explicit MarkupReader(std::string_view text) : text_(text) {}

    Markup read() {
        if (!app::is_utf8(text_)) return {.elements = {}, .error = "not UTF-8"};
        if (text_.starts_with("<!DOCTYPE html>")) at_ = 15;
        while (markup_.error.empty() && at_ < text_.size()) text_[at_] == '<' ? tag() : characters();
        if (markup_.error.empty() && !open_.empty()) wrong("unclosed " + markup_.elements[open_.back()].name);
        return markup_;
    }

  private:
    void wrong(const std::string& what) {
        if (markup_.error.empty())
            markup_.error = what + " before: " + std::string(text_.substr(std::min(at_, text_.size()), 60));
    }
    void check_characters(std::string_view part) {
        for (std::size_t i = 0; i < part.size(); ++i) {
            const unsigned char letter = static_cast<unsigned char>(part[i]);
            if (letter < 0x20 && letter != '\n' && letter != '\t') wrong("control character");
            if (letter == '<') wrong("'<' in a text");
            if (letter != '&') continue;
            const std::string_view entity = part.substr(i, part.find(';', i) - i + 1);
            if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;" && entity != "&#39;")
                wrong("bare &");
        }
    }
    void characters() {
        const std::size_t end = std::min(text_.find('<', at_), text_.size());
        const std::string_view part = text_.substr(at_, end - at_);
        check_characters(part);
        if (!open_.empty()) markup_.elements[open_.back()].text += part;
        if (open_.empty() && part.find_first_not_of('\n') != std::string_view::npos) wrong("text outside of the root");
        at_ = end;
    }
    std::string name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')) ++at_;
        if (begin == at_) wrong("no name");
        return std::string(text_.substr(begin, at_ - begin));
    }
    bool take(std::string_view what) {
        if (!text_.substr(at_).starts_with(what)) return false;
        at_ += what.size();
        return true;
    }
    void tag() {
        if (take("</")) {
            const std::string closed = name();
            if (!take(">") || open_.empty() || markup_.elements[open_.back()].name != closed) return wrong("</" + closed + ">");
            open_.pop_back();
            return;
        }
        take("<");
        Element element{name(), {}, {}};
        while (markup_.error.empty() && take(" ")) {
            const std::string attribute = name();
            if (!take("=\"")) return wrong("attribute without a value");
            const std::size_t end = text_.find('"', at_);
            if (end == std::string_view::npos) return wrong("open quotes");
            check_characters(text_.substr(at_, end - at_));
            if (!element.attributes.emplace(attribute, text_.substr(at_, end - at_)).second) wrong("two attributes " + attribute);
            at_ = end + 1;
        }
        const bool whole = take("/>");
        if (!whole && !take(">")) return wrong("no end of <" + element.name);
        if (open_.empty() && !markup_.elements.empty()) wrong("two roots");
        markup_.elements.push_back(element);
        if (!whole) open_.push_back(markup_.elements.size() - 1);
        if (!whole && element.name == "script") raw();
    }
    // As HTML reads a script: whatever stands there up to the tag that ends it.
    void raw() {
        const std::size_t end = text_.find("</script", at_);
        if (end == std::string_view::npos) return wrong("open script");
        markup_.elements.back().text = text_.substr(at_, end - at_);
        at_ = end;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::size_t> open_;
    Markup markup_;
};

inline Markup markup_of(std::string_view text) { return MarkupReader(text).read(); }

// ---- what every page of Heddle promises

/// Expects a well-formed page that refers to no network and forbids a browser to ask it.
inline void expect_loads_nothing(const std::string& page) {
    const Markup markup = markup_of(page);
    EXPECT_EQ(markup.error, "");
    for (const Element& one : markup.elements) {
        EXPECT_EQ(one.attributes.count("src"), 0u) << one.name;
        const auto address = one.attributes.find("href");
        if (address == one.attributes.end() || address->second == "data:,") continue;
        EXPECT_EQ(address->second.find(':'), std::string::npos) << address->second << " is no file beside the page";
    }
    EXPECT_THAT(page, testing::HasSubstr("content=\"default-src &#39;none&#39;; img-src data:;"));
    std::string rest = page;
    const std::string name = "http://www.w3.org/2000/svg";  // of a kind of elements, and no address that is opened
    for (std::size_t at = rest.find(name); at != std::string::npos; at = rest.find(name)) rest.erase(at, name.size());
    for (const char* way :
         {"http:", "https:", "url(", "@import", "import(", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon"})
        EXPECT_EQ(rest.find(way), std::string::npos) << way;
}

}  // namespace heddle
