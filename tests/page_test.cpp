// Pages: one well-formed file, and nothing that a text can break.
#include "apps/picture/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/picture/chart.h"
#include "core/file.h"
#include "tests/markup.h"
#include "tests/support.h"

namespace heddle::picture {
namespace {

using testing::HasSubstr;
using testing::Not;

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
        .link("a b#c.html", "there");
    const Markup markup = markup_of(page.html());
    EXPECT_EQ(markup.error, "");
    EXPECT_EQ(markup.all("figure").size(), 3u);
    EXPECT_EQ(markup.all("figcaption").size(), 2u);
    EXPECT_EQ(markup.all("td").at(1).attributes.at("class"), "n");
    EXPECT_EQ(markup.all("td").at(3).attributes.at("class"), "n") << "nan is a number to read, too";
    EXPECT_EQ(markup.all("a").at(0).attributes.at("href"), "a%20b%23c.html");
    EXPECT_TRUE(markup.all("script").empty());
    for (const Element& one : markup.elements) EXPECT_EQ(one.attributes.count("src"), 0u);
    EXPECT_EQ(page.html().find("url("), std::string::npos);
    EXPECT_EQ(page.html().find("@import"), std::string::npos);
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
    EXPECT_THAT(markup.elements.at(0).attributes.at("style"), HasSubstr("background:#ffffff"));
    EXPECT_EQ(markup.elements.size(), markup_of(svg).elements.size());
    expect_error([] { standalone("<g></g>"); }, "a picture begins with '<g></g>', wanted '<svg '");
}

}  // namespace
}  // namespace heddle::picture
