// Pages are well-formed single files, whatever their texts contain.
#include "apps/picture/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/picture/chart.h"
#include "core/file.h"
#include "tests/markup.h"
#include "tests/support.h"

namespace heddle::picture {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Escaped, LeavesNoMarkupNoControlsAndNoBrokenBytes) {
    EXPECT_EQ(escaped("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    EXPECT_EQ(escaped("a\tb\nc"), "a\tb\nc");
    EXPECT_EQ(escaped(std::string_view("\0\x1b[31m\r\x7f", 8)), "\uFFFD\uFFFD[31m\uFFFD\uFFFD");
    EXPECT_EQ(escaped("\xff\xc3"), "\uFFFD\uFFFD");
    EXPECT_EQ(escaped("Mädchen 猫 😀"), "Mädchen 猫 😀");
    EXPECT_EQ(escaped("\xC2\x85\xEF\xBF\xBF"), "\uFFFD\uFFFD");
}

TEST(Page, IsOneWellFormedFileThatLoadsNothing) {
    const std::string map = svg(HeatMap{.title = "m", .rows = 1, .cols = 2, .values = {0, 1}});
    Page page("A <page> & more");
    page.heading("Heading")
        .paragraph("1 < 2")
        .code("heddle lab \"x\"\n  && y")
        .table({"what", "n"}, {{"a & b", "1.5"}, {"c", "nan"}});
    page.figure({svg(LineChart{.title = "<t>", .x = {}, .y = {}, .series = {{"a & b", {0, 1}, {1, 2}}}}), "caption <1>"})
        .figures({{map, "a"}, {map, ""}})
        .cards({{{"a b#c.html", "there"}, "what is <there>"}});
    expect_loads_nothing(page.html());
    const Markup markup = markup_of(page.html());
    EXPECT_EQ(markup.all("figure").size(), 3u);
    EXPECT_EQ(markup.all("figcaption").size(), 2u);
    EXPECT_EQ(markup.all("td").at(1).attributes.at("class"), "n");
    EXPECT_EQ(markup.all("td").at(3).attributes.at("class"), "n") << "nan is a number to read, too";
    EXPECT_EQ(markup.all("a").at(0).attributes.at("href"), "a%20b%23c.html");
    EXPECT_TRUE(markup.all("script").empty());
    EXPECT_THAT(page.html(), HasSubstr("script-src &#39;none&#39;"));
    EXPECT_THAT(page.script("one();").html(), HasSubstr("script-src &#39;unsafe-inline&#39;"));
}

TEST(Page, LaysFiguresOutByTheWidthOfTheWidest) {
    const auto map = [](std::int64_t cols) {
        return Figure{
            svg(HeatMap{.title = "", .rows = 1, .cols = cols, .values = std::vector<double>(static_cast<std::size_t>(cols))}),
            ""};
    };
    const Markup markup = markup_of(Page("p").figures({map(2), map(200)}).html());
    const std::vector<Element> figures = markup.all("figure"), pictures = markup.all("svg");
    ASSERT_EQ(figures.size(), 2u);
    const auto width = [&](std::size_t i) { return std::lround(std::stod(pictures[i].attributes.at("width"))); };
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(figures[i].attributes.at("style"), "--w:" + std::to_string(width(i)) + "px")
            << "below 0.76 of it, it is scrolled";
    EXPECT_LT(width(0), width(1));
    EXPECT_THAT(markup.all("div").at(0).attributes.at("style"), HasSubstr("--w:" + std::to_string(width(1)) + "px;--n:2"));
}

TEST(Page, BreaksLongWordsAndScrollsWideThingsInPlacesOfTheirOwn) {
    const std::string page = Page("p").html();
    EXPECT_THAT(page, HasSubstr("h1, h2, p, summary, figcaption, li { overflow-wrap: anywhere; }"));
    for (const char* wide :
         {"figure { margin: 1rem 0; overflow-x: auto; }", ".wide { overflow-x: auto; }", "overflow-x: auto; border"})
        EXPECT_THAT(page, HasSubstr(wide));
}

TEST(Page, LeadsToItsNeighboursAtBothEnds) {
    const Markup markup = markup_of(Page("p").navigation({{"a.html", "← a & b"}, {"index.html", "all"}}).html());
    EXPECT_EQ(markup.error, "");
    EXPECT_EQ(markup.all("nav").size(), 2u);
    const std::vector<Element> links = markup.all("a");
    ASSERT_EQ(links.size(), 4u);
    EXPECT_EQ(links[0].attributes.at("href"), "a.html");
    EXPECT_EQ(links[2].text, "← a &amp; b");
}

TEST(Page, ShowsOtherPagesAsCards) {
    const std::string small = svg(HeatMap{.title = "a data-b data-c=\"2\"", .rows = 1, .cols = 1, .values = {0}});
    const Markup markup = markup_of(Page("p").cards({{{"one.html", "<one>"}, "a & b", small}, {{"two.html", "two"}, ""}}).html());
    EXPECT_EQ(markup.error, "");
    EXPECT_EQ(markup.all("li").size(), 2u);
    EXPECT_EQ(markup.all("svg").size(), 1u);
    EXPECT_EQ(markup.all("div").at(0).attributes.at("aria-hidden"), "true") << "the link says what it is";
    for (const Element& one : markup.elements)
        for (const auto& [name, value] : one.attributes)
            EXPECT_FALSE(name.starts_with("data-")) << "a small picture does not answer";
    const auto is_name = [](const Element& one) { return one.text == "a data-b data-c=&quot;2&quot;"; };
    EXPECT_EQ(std::ranges::count_if(markup.all("text"), is_name), 1) << "a text stays as it is";
    EXPECT_EQ(markup.all("a").at(0).text, "&lt;one&gt;");
    EXPECT_EQ(markup.all("p").at(0).text, "a &amp; b");
}

// Text that could end an element, begin a comment or end a line in JavaScript.
const std::string hostile = "</script><script>alert(1)</script><!-- ]]> & \u2028 \u2029 \" ' \\ ä 猫";

TEST(Page, KeepsDataThatWouldEndItsElementAsData) {
    const nlohmann::json data = {{"text", hostile}};
    const std::string safe = script_json(data.dump());
    EXPECT_EQ(nlohmann::json::parse(safe), data);
    for (const char* bad : {"<", ">", "&", "\u2028", "\u2029"}) EXPECT_EQ(safe.find(bad), std::string::npos) << bad;
    EXPECT_THAT(safe, HasSubstr("\\u003c/script\\u003e"));
    EXPECT_THAT(safe, HasSubstr("ä 猫"));

    const std::string html = Page("p").data("it", data.dump()).script("if (1 < 2 && true) {}").place("here", "<none>").html();
    expect_loads_nothing(html);
    const std::vector<Element> scripts = markup_of(html).all("script");
    ASSERT_EQ(scripts.size(), 2u);
    EXPECT_EQ(scripts[0].attributes.at("type"), "application/json");
    EXPECT_EQ(nlohmann::json::parse(scripts[0].text), data);
    EXPECT_EQ(scripts[1].text, "if (1 < 2 && true) {}");
    EXPECT_THAT(html, HasSubstr("<div id=\"here\"><noscript><p>&lt;none&gt;</p></noscript></div>"));
    EXPECT_LT(html.find("id=\"here\""), html.find("id=\"it\"")) << "scripts stand behind what they fill";
    EXPECT_THAT(html, HasSubstr("script-src &#39;unsafe-inline&#39;"));
    expect_error([] { Page("p").script("'</script>'"); }, "page 'p': a script has </script or <!-- in it");
}

TEST(Page, SetsWhatReadsAsANumberToTheRight) {
    for (const char* number : {"1", "-1.5", "1e-05", "nan", "-inf", "45,188,096", "12.5 %"})
        EXPECT_THAT(Page("p").table({"n"}, {{number}}).html(), HasSubstr("<td class=\"n\">")) << number;
    for (const char* text : {"", "one", "1 of 2", "1, 2", ",1", "%", "1.5 s", "v4"})
        EXPECT_THAT(Page("p").table({"n"}, {{text}}).html(), Not(HasSubstr("<td class=\"n\">"))) << text;
}

TEST(Page, ShowsAMistakeBesideItsCorrection) {
    const Markup markup = markup_of(Page("p").mistake({"A & B", "if (a > b)\n    b;"}, {"C", "if (a < b)"}).html());
    EXPECT_EQ(markup.error, "");
    const std::vector<Element> titles = markup.all("h2"), pieces = markup.all("pre");
    ASSERT_EQ(titles.size(), 2u);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(titles[0].text, "A &amp; B");
    EXPECT_EQ(pieces[0].text, "if (a &gt; b)\n    b;") << "the first is the wrong one: its place gives it its colour";
    EXPECT_EQ(pieces[1].text, "if (a &lt; b)");
}

TEST(Page, FoldsSections) {
    const Page page =
        Page("p").open_section("<one>", true).paragraph("x").close_section().open_section("two", false).close_section();
    const Markup markup = markup_of(page.html());
    EXPECT_EQ(markup.error, "");
    const std::vector<Element> details = markup.all("details");
    ASSERT_EQ(details.size(), 2u);
    EXPECT_EQ(details[0].attributes.count("open"), 1u);
    EXPECT_EQ(details[1].attributes.count("open"), 0u);
    EXPECT_EQ(markup.all("summary").at(0).text, "&lt;one&gt;");
}

TEST(Page, RefusesARowOfAnotherLength) {
    expect_error([] { Page("p").table({"a", "b"}, {{"1"}}); }, "page 'p': row 0 of a table has 1 cells, its header 2");
}

// A folder's name may contain characters that reverse the direction of the text after them.
TEST(Page, ShowsWhatTurnsTheDirectionOfNames) {
    const std::string turned = "\u202egnp.exe";
    const Page page = Page("Training of " + turned).paragraph(turned).code("heddle train --out " + turned);
    EXPECT_EQ(page.html().find("\u202e"), std::string::npos);
    const Markup markup = markup_of(page.html());
    EXPECT_EQ(markup.all("title").at(0).text, "Training of \\u202egnp.exe");
    EXPECT_EQ(markup.all("h1").at(0).text, "Training of \\u202egnp.exe");
}

TEST(Page, PicturesReplacePicturesOnly) {
    const TemporaryFolder folder;
    const auto path = folder / "one.svg";
    EXPECT_NO_THROW(check_picture_replaceable(path));
    write_file_atomically(
        path, std::string_view(standalone(picture::svg(HeatMap{.title = "one", .rows = 1, .cols = 1, .values = {1}}))));
    EXPECT_NO_THROW(check_picture_replaceable(path));
    for (const char* foreign : {"", "<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"}) {
        write_file_atomically(path, std::string_view(foreign));
        expect_error([&] { check_picture_replaceable(path); }, "one.svg: this file is no picture that heddle drew");
    }
}

TEST(Page, IsWrittenAsAWholeOrAnErrorNamesThePath) {
    const TemporaryFolder folder;
    Page("p").write(folder / "p.html");
    EXPECT_EQ(read_file(folder / "p.html"), Page("p").html());
    expect_error([&] { Page("p").write(folder / "no/p.html"); }, "no/p.html");
}

TEST(MarkupReader, SeesWhatIsWrong) {
    for (const char* bad : {"<a>", "<a></b>", "<a b></a>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a>&</a>", "<a/><b/>",
                            "<a b=\"<\"/>", "x<a/>"})
        EXPECT_NE(markup_of(bad).error, "") << bad;
    EXPECT_EQ(markup_of("<a b=\"1\">x<c/>&amp;</a>").error, "");
}

TEST(Page, APictureAloneBringsItsBackground) {
    const std::string svg = picture::svg(HeatMap{.title = "one", .rows = 1, .cols = 1, .values = {1}});
    const Markup markup = markup_of(standalone(svg));
    EXPECT_EQ(markup.error, "");
    EXPECT_EQ(markup.elements.at(1).name, "style") << "before anything is drawn";
    EXPECT_THAT(markup.elements.at(1).text,
                AllOf(StartsWith("svg{background:#fff;"), HasSubstr("(prefers-color-scheme:dark){svg{")));
    EXPECT_EQ(markup.elements.size(), markup_of(svg).elements.size() + 1);
    expect_error([] { standalone("<g></g>"); }, "a picture begins with '<g></g>', wanted '<svg '");
}

}  // namespace
}  // namespace heddle::picture
