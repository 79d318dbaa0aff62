// Files that contain several texts, such as TMX and WMT's test sets: which of them is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/translation/text/corpus.h"
#include "tests/support.h"
#include "tests/translation/text_support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string tmx =
    "<?xml version=\"1.0\"?>\n<tmx version=\"1.4\"><header srclang=\"de\"/><body>\n"
    "<tu><tuv xml:lang=\"de\"><seg>Eins</seg></tuv><tuv xml:lang=\"en\"><seg>One</seg></tuv></tu>\n"
    "<tu><tuv xml:lang=\"de\"><seg>Zwei</seg></tuv><tuv xml:lang=\"en\"><seg>Two</seg></tuv></tu>\n</body></tmx>\n";

// Two documents in WMT's format, with `more` in the second.
std::string campaign(const std::string& more = "") {
    const auto document = [](const std::string& id, const std::string& inner) {
        return "<doc origlang=\"de\" id=\"" + id +
               "\">\n<src lang=\"de\"><p><seg id=\"1\">Eins</seg>\n<seg id=\"2\">Zwei</seg></p></src>\n" +
               "<ref lang=\"en\" translator=\"A\"><p><seg id=\"1\">One</seg><seg id=\"2\">Two</seg></p></ref>\n" + inner +
               "<hyp system=\"X\" language=\"en\"><p><seg id=\"1\">Wun</seg><seg id=\"2\">Too</seg></p></hyp>\n</doc>\n";
    };
    return "<?xml version='1.0' encoding='utf-8'?>\n<dataset id=\"t\">\n" + document("a", "") + document("b", more) +
           "</dataset>\n";
}

class SeveralTexts : public Formats {
  protected:
    Lines wanted(const std::string& bytes, const WantedSegments& segments) {
        write("t", bytes);
        return read_text_file(path("t"), reading(), segments).lines;
    }
    std::string refusal(const std::string& bytes, const WantedSegments& segments) {
        return error_of([&] { wanted(bytes, segments); });
    }
    Corpus one_file(const std::string& bytes, const std::string& source, const std::string& target) {
        write("t", bytes);
        return read_corpus(path("t"), source, target, reading());
    }
};

TEST_F(SeveralTexts, AreChosenByLanguage) {
    EXPECT_EQ(wanted(tmx, {.language = "de"}), (Lines{"Eins", "Zwei"}));
    EXPECT_EQ(wanted(tmx, {.language = "EN_us"}), (Lines{"One", "Two"}));
    EXPECT_EQ(wanted(tmx, {.language = "en.xml"}), (Lines{"One", "Two"})) << "the ending of a file";
    EXPECT_THAT(refusal(tmx, {.language = "fr"}),
                AllOf(HasSubstr("several texts (text in de, 2 segments; text in en, 2 segments)"), HasSubstr("none is in 'fr'")));
    EXPECT_THAT(refusal(tmx, {}), AllOf(HasSubstr("nothing says which of them is meant"), HasSubstr("--source and --target")));
    std::string regions = tmx;
    for (std::size_t at; (at = regions.find("\"en\"")) != std::string::npos;) regions.replace(at, 4, "\"de-AT\"");
    EXPECT_EQ(wanted(regions, {.language = "de-AT"}), (Lines{"One", "Two"}));
    EXPECT_EQ(wanted(regions, {.language = "de"}), (Lines{"Eins", "Zwei"})) << "exactly so, before any region";
    EXPECT_THAT(refusal(regions, {.language = "de-CH"}), HasSubstr("nothing says which"));
    EXPECT_EQ(wanted("<mteval><tu><tuv lang=de><seg>a<</seg></tuv><tuv lang=en><seg>b <ref>3</ref></seg></tuv></tu></mteval>",
                     {.language = "en"}),
              Lines{"b 3"})
        << "SGML, and a reference in the text";
    EXPECT_EQ(wanted("<mteval><doc><seg lang=\"de\">a</seg><seg lang=\"en\">b</seg></doc></mteval>", {.language = "en"}),
              Lines{"b"});
}

TEST_F(SeveralTexts, AreWithoutTheCodesOfTheirFormatting) {
    const std::string coded =
        "<?xml version=\"1.0\"?>\n<tmx><tu><tuv xml:lang=\"de\"><seg>ein <bpt i=\"1\">&lt;b&gt;</bpt>gro\u00dfer<ept "
        "i=\"1\">&lt;/b&gt;</ept> <hi>Hund</hi><ph>&lt;br/&gt;</ph></seg></tuv></tu></tmx>";
    EXPECT_EQ(wanted(coded, {.language = "de"}), Lines{"ein gro\u00dfer Hund"});
    EXPECT_EQ(lines(document("<seg id=\"1\">a <ph>b</ph></seg>")), Lines{"a b"}) << "elsewhere these names mean nothing";
}

TEST_F(SeveralTexts, AreChosenByRole) {
    const std::string xml = campaign();
    EXPECT_EQ(wanted(xml, {.role = SegmentRole::source}), (Lines{"Eins", "Zwei", "Eins", "Zwei"}));
    EXPECT_EQ(wanted(xml, {.role = SegmentRole::reference}), (Lines{"One", "Two", "One", "Two"}));
    EXPECT_EQ(wanted(xml, {.role = SegmentRole::hypothesis}), (Lines{"Wun", "Too", "Wun", "Too"}));
    EXPECT_TRUE(said_.empty());
    EXPECT_EQ(wanted(xml, {.role = SegmentRole::source, .language = "en"}), (Lines{"One", "Two", "One", "Two"}))
        << "the pair in its other direction";
    EXPECT_THAT(refusal(xml, {.role = SegmentRole::source, .language = "cs"}), HasSubstr("none is in 'cs'"));
    EXPECT_EQ(wanted("<mteval><srcset><doc docid=1><seg id=1>a</seg></doc></srcset><refset><doc docid=1><seg id=1>b</seg></doc>"
                     "</refset></mteval>",
                     {.role = SegmentRole::reference}),
              Lines{"b"});
    EXPECT_EQ(
        wanted("<refset><doc docid=\"1\"><seg id=\"1\">b</seg></doc></refset>", {.role = SegmentRole::source, .language = "x"}),
        Lines{"b"})
        << "a file with one text is that text";
}

TEST_F(SeveralTexts, OfFurtherTranslatorsAreLeftOutAndCounted) {
    const std::string second = "<ref lang=\"en\" translator=\"B\"><seg id=\"1\">1</seg><seg id=\"2\">2</seg></ref>\n";
    EXPECT_EQ(wanted(campaign(second), {.role = SegmentRole::reference}), (Lines{"One", "Two", "One", "Two"}));
    EXPECT_THAT(said_, ElementsAre(HasSubstr("left out 2 segments of further references or systems")));
    const std::string again = "<ref lang=\"en\" translator=\"A\"><seg id=\"1\">1</seg></ref>\n";
    EXPECT_THAT(refusal(campaign(again), {.role = SegmentRole::reference}), HasSubstr("segment 1 of document 'b' again"));
}

TEST_F(SeveralTexts, InOneFileAreBothSides) {
    EXPECT_EQ(one_file(tmx, "de", "en").pairs, (std::vector<SentencePair>{{"Eins", "One"}, {"Zwei", "Two"}}));
    EXPECT_EQ(one_file(tmx, "en", "de").pairs, (std::vector<SentencePair>{{"One", "Eins"}, {"Two", "Zwei"}}));
    EXPECT_EQ(one_file(campaign(), "de", "en").size(), 4);
    EXPECT_EQ(one_file(campaign(), "en", "de").pairs[0], (SentencePair{"One", "Eins"}));
    EXPECT_TRUE(said_.empty());
    EXPECT_THAT(error_of([&] { one_file(tmx, "de", "fr"); }), HasSubstr("none is in 'fr'"));
    const std::string alone = "<?xml version=\"1.0\"?>\n<tmx><tu><tuv xml:lang=\"de\"><seg>Eins</seg></tuv></tu></tmx>";
    EXPECT_THAT(error_of([&] { one_file(alone, "de", "en"); }), HasSubstr("none is in 'en'"));
    EXPECT_THAT(error_of([&] { one_file("<b>x</b>\n", "de", "en"); }), HasSubstr("t is a file, but there is no"));
    const std::string nameless = "<?xml version=\"1.0\"?>\n<doc docid=\"1\"><seg id=\"1\">Eins</seg></doc>";
    EXPECT_THAT(error_of([&] { one_file(nameless, "de", "en"); }),
                HasSubstr("it has one text only (text, 1 segment), and source and target are two"));
}

TEST_F(SeveralTexts, KeepTheirUnitsTogether) {
    const auto unit = [](const std::string& inner) { return "<tu>" + inner + "</tu>\n"; };
    const auto in = [](const std::string& language, const std::string& text) {
        return "<tuv xml:lang=\"" + language + "\"><seg>" + text + "</seg></tuv>";
    };
    const std::string head = "<?xml version=\"1.0\"?>\n<tmx><body>\n", end = "</body></tmx>\n";
    const std::string gaps = head + unit(in("de", "a") + in("en", "A")) + unit(in("de", "nur")) + unit(in("en", "only")) +
                             unit(in("fr", "x")) + unit(in("en", "B") + in("de", "b")) + end;
    EXPECT_EQ(one_file(gaps, "de", "en").pairs, (std::vector<SentencePair>{{"a", "A"}, {"b", "B"}}));
    EXPECT_THAT(said_, ElementsAre(HasSubstr("left out 2 units that only one of the two languages has")));
    write("two.de", gaps);
    write("two.en", gaps);
    EXPECT_THAT(error_of([&] { read_corpus(path("two"), "de", "en", reading()); }), HasSubstr("they part where"));
    EXPECT_THAT(error_of([&] { one_file(head + unit(in("de", "a") + in("de", "b") + in("en", "A")) + end, "de", "en"); }),
                HasSubstr("segment 1 of document '' again"));
}

}  // namespace
}  // namespace heddle::app
