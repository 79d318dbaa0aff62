// What every page of Heddle promises.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/markup.h"

namespace heddle {

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
