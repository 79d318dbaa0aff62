// Files of sentences as IWSLT and WMT publish them: training text with metadata lines, segments in XML and in SGML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "apps/command/line_stream.h"
#include "apps/translation/text/corpus.h"
#include "tests/support.h"
#include "tests/translation/text_support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

// ---- detection

TEST(TextFormat, IsKnownByTheBeginning) {
    const std::pair<std::string, TextFormat> cases[] = {
        {"", TextFormat::text},
        {"<", TextFormat::text},
        {"Hallo <url>", TextFormat::text},
        {"<3 you\n", TextFormat::text},
        {"<i>so</i>\n", TextFormat::text},
        {"<urls>\n", TextFormat::text},
        {"<doc>\n", TextFormat::text},
        {"<url>http://x</url>\n", TextFormat::tags},
        {bom + "  <talkid>3</talkid>", TextFormat::tags},
        {"<doc docid=\"1\">\n<url>x</url>\nHallo\n", TextFormat::tags},
        {"<DOC docid=\"1\" sysid=\"ref\">\n<SEG id=1>Hallo</SEG>", TextFormat::xml},
        {"<doc docid='1' genre=x>\n<seg>", TextFormat::xml},
        {"<doc sysid=ref docid=1>\n<hl><seg>", TextFormat::xml},
        {"<doc docid=>\n<seg>", TextFormat::text},
        {"<p docid=\"1\"><seg>", TextFormat::text},
        {bom + "\r\n<?xml version=\"1.0\"?>", TextFormat::xml},
        {"<!DOCTYPE mteval SYSTEM \"x\">", TextFormat::xml},
        {"<refset setid=\"a\">", TextFormat::xml},
        {"<tstset>", TextFormat::xml},
        {"<mtevaluation>", TextFormat::text},
        // A page's title is not a talk's, and a talk has no other tags.
        {"<title>\u00dcber uns</title>\nGuten Tag\n", TextFormat::text},
        {"<title>About us</title>\n<b>Important:</b> please read.\nGood day\n", TextFormat::text},
        {"<description>x</description>\n<keywords>a</keywords>\n", TextFormat::text},
        {"<url>http://x</url>\n<b>Important:</b> please read.\n", TextFormat::text},
        {"<url>http://x</url> is where to look\nHallo\n", TextFormat::text},
        {"<url>\nHallo\n", TextFormat::text},
        {"<url>x</url>\n<!-- b -->\n", TextFormat::text},
        {"<url>x</url>\n</b>\n", TextFormat::text},
        {"<doc docid=\"1\">\n<br>\n", TextFormat::text},
        {"<title>x</title>\n<talkid>3</talkid>\n<reviewer href=\"y\">z</reviewer>\n<3 a\n</doc>\n", TextFormat::tags},
        {"<url>x</url>\n<descr", TextFormat::tags},  // cut at the end of beginning()
    };
    for (const auto& [beginning, format] : cases) EXPECT_EQ(recognised(beginning), format) << beginning;
}

TEST_F(Formats, OfTalksAreFoundByTheWholeFile) {
    const std::string talk = "<url>u</url>\n<talkid>1</talkid>\n";
    std::string many;
    for (int i = 0; i < 2000; ++i) many += "ein Satz wie viele\n";
    EXPECT_EQ(lines(talk + many).size(), 2000u);
    EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("left out 2 lines of metadata"), HasSubstr("look like IWSLT's training text"),
                                         HasSubstr("--format text takes every line"))));
    EXPECT_EQ(lines(talk + many + "<i>kursiv</i> Wort\n").size(), 2003u);
    EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("line 2003 (<i>) describes no talk"), HasSubstr("--format tags"))));
    EXPECT_EQ(lines(talk + "</b>" + many).size(), 2002u) << "seen at the beginning";
    EXPECT_THAT(said_, ElementsAre(HasSubstr("line 3 (</b>)")));
    EXPECT_EQ(lines(talk + many + "<i>kursiv</i> Wort\n", TextFormat::tags).size(), 2000u);
    const std::string page = "<title>Welcome</title>\n<b>Important:</b> please read.\nGood day\n<i>italic</i> word\n";
    EXPECT_EQ(lines(page).size(), 4u);
    EXPECT_TRUE(said_.empty());
    EXPECT_EQ(pairs(page, page + "").size(), 4);
    EXPECT_EQ(pairs(talk + many, talk + many).size(), 2000);
    EXPECT_THAT(error_of_pairs(talk + "a\n", "one\ntwo\na\n"), HasSubstr("--format text takes every line as a sentence"));
}

TEST_F(Formats, ThatNobodyChoseAreNamedWhereTheTextLooksLikeXml) {
    write("t", "<refset>\n<seg>a</seg>\n</refset>\n");
    Reading assumed = reading(TextFormat::text);
    assumed.assumed = true;
    EXPECT_EQ(read_text_file(path("t"), assumed).lines.size(), 3u);
    EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("t: looks like XML or SGML"), HasSubstr("--format xml"))));
}

// ---- IWSLT train.tags

TEST_F(Formats, LeaveMetadataOutAndKeepPairsAligned) {
    const Corpus corpus = pairs(bom + "<url>u/de</url>\r\n<talkid>1</talkid>\r\n<title>Leben</title>\r\nEins\r\n\r\n<3\r\n",
                                "<url>u</url>\n<talkid> 1 </talkid>\n<title>Life</title>\n One\nlost\n<3 <url>\n");
    EXPECT_EQ(corpus.pairs, (std::vector<SentencePair>{{"Eins", " One"}, {"", "lost"}, {"<3", "<3 <url>"}}));
    EXPECT_THAT(said_, ElementsAre(HasSubstr("t.de: left out 3 lines of metadata"), HasSubstr("t.en: left out 3 lines")));
}

TEST_F(Formats, ThatPartAreAnErrorWithBothCountsAndThePlace) {
    EXPECT_THAT(error_of_pairs("<url>u</url>\nEins\nZwei\n<talkid>2</talkid>\n", "<url>u</url>\nOne\n<talkid>2</talkid>\n"),
                AllOf(HasSubstr("t.de has 4 lines"), HasSubstr("t.en has 3 lines"), HasSubstr("t.de:3 has the text Zwei"),
                      HasSubstr("t.en:3 has the metadata line <talkid>2</talkid>")));
    EXPECT_THAT(error_of_pairs("<talkid>1</talkid>\na\n", "<talkid>2</talkid>\nb\n"),
                AllOf(HasSubstr("t.de:1 has the metadata line <talkid>1"), HasSubstr("<talkid>2</talkid>")));
    EXPECT_THAT(error_of_pairs("<url>1</url>\na\n", "<title>1</title>\nb\n"), HasSubstr("they part where"));
    EXPECT_THAT(error_of_pairs("<doc docid=\"1\">\na\n</doc>\n", "<doc docid=\"2\">\na\n</doc>\n"), HasSubstr("they part where"));
    EXPECT_THAT(error_of_pairs("<doc docid='1'>\na\n", "<doc docid=2 genre=\"x\">\na\n"), HasSubstr("they part where"));
    EXPECT_EQ(pairs("<doc docid='1' genre=\"de\">\na\n", "<doc docid=1>\nb\n").size(), 1);
    EXPECT_THAT(error_of_pairs("<doc docid = \"1\">\na\n", "<doc x docid = 2>\na\n"), HasSubstr("they part where"));
    EXPECT_THAT(error_of_pairs("<url>1</url>\na\nb\n", "<url>1</url>\na\n"),
                AllOf(HasSubstr("has 3 lines"), HasSubstr("has 2 lines")));
    EXPECT_THAT(error_of_pairs("<url>1</url>\na\n", "one\na\n"), HasSubstr("t.en:1 has the text one"))
        << "one side begins as text";
}

// ---- segments

TEST_F(Formats, GiveTheTextOfSegments) {
    EXPECT_EQ(lines(document("<seg id=\"1\"> Eins </seg>\n  <seg id=\"2\">\n\t zwei\r\n   drei\n</seg>\n<p><hl>\n<seg id=\"3\"/>"
                             "<seg id=\"4\"></seg></hl></p><seg>ohne <b>Nummer</b> <i>da</i></seg>"
                             "<seg id=\"5\"><![CDATA[1 < 2 &amp;]]><!-- nichts --> x</seg>")),
              (Lines{"Eins", "zwei drei", "", "", "ohne Nummer da", "1 < 2 &amp; x"}));
    EXPECT_TRUE(said_.empty());
}

TEST_F(Formats, DecodeCharacterReferences) {
    EXPECT_EQ(lines(document("<seg id=\"1\">&lt;&gt; &amp;amp; &quot;&apos; &#228;&#xE4;&#X1F600; &auml; & &# &; &#x; "
                             "a&#10;b &nosuchentitywithalongname; AT&T</seg>")),
              (Lines{"<> &amp; \"' \u00e4\u00e4\U0001F600 &auml; & &# &; &#x; a b &nosuchentitywithalongname; AT&T"}));
    for (const char* bad : {"&#0;", "&#xD800;", "&#x110000;", "&#99999999;"}) {
        const std::string bytes = document("<seg id=\"1\">a</seg>\n<seg id=\"2\">" + std::string(bad) + "</seg>");
        EXPECT_THAT(error(bytes), AllOf(HasSubstr("t:8: "), HasSubstr(bad), HasSubstr("no character"))) << bad;
        EXPECT_EQ(lines(bytes, TextFormat::automatic, true), (Lines{"a", "\uFFFD"})) << bad;
    }
}

TEST_F(Formats, ReadSgmlThatIsNoXml) {
    const Lines wanted{"Eins < 2 & <3", "zwei \"x\"", "drei"};
    const std::string sgml =
        "<refset setid=x trglang=en>\n<DOC docid=d1 sysid=\"ref\">\n<SEG id=1> Eins < 2 & <3 </SEG>\n"
        "<!-- <seg> --><hl>\n<seg ID='2'>zwei &quot;x&quot;</Seg>\n<seg >drei<br></seg></doc>\n</refset>\n";
    EXPECT_EQ(lines(sgml), wanted);
    EXPECT_TRUE(said_.empty());
    const Corpus corpus = pairs(sgml, "<mteval><doc docid=\"d1\"><seg id=\"1\">1</seg><seg>2</seg><seg>3</seg></doc></mteval>");
    EXPECT_EQ(corpus.size(), 3) << "where one file has no id, none is compared";
    EXPECT_THAT(
        error_of_pairs(document("<seg id=\"1\">a</seg>\n"), "<mteval><doc docid=\"18\"><seg id=\"1\">a</seg></doc></mteval>"),
        AllOf(HasSubstr("document 17, segment 1"), HasSubstr("document 18, segment 1")));
}

TEST_F(Formats, WithoutAnEndAreAnErrorWithThePlace) {
    const std::string whole = document("<seg id=\"1\">eins</seg>\n<seg id=\"2\">zwei</seg>\n<seg id=\"3\">drei</seg>\n");
    // Truncated anywhere, it is never accepted as a shorter test set.
    const std::size_t end = whole.find("</mteval>") + 9;
    for (std::size_t size = whole.find("<mteval"); size < end; ++size)
        EXPECT_NE(error(whole.substr(0, size)), "") << whole.substr(0, size);
    EXPECT_EQ(lines(whole.substr(0, end)).size(), 3u);
    EXPECT_THAT(error(document("<seg id=\"1\">a\n<seg id=\"2\">b</seg>\n")), AllOf(HasSubstr("t:7: "), HasSubstr("<seg>")));
    EXPECT_THAT(error(document("<seg id=\"1\">a<seg id=\"2\">b</seg></seg>\n")), HasSubstr("t:7: "));
    EXPECT_THAT(error(document("<seg id=1>a <b isn't c</seg>\n<seg id=2>d isn't > e</seg>\n")), HasSubstr("t:7: the <seg>"))
        << "what stands between two apostrophes is no value";
    EXPECT_EQ(lines(document("<seg id = 'a>b' x=y>a</seg>")), (Lines{"a"}));
    EXPECT_THAT(error(document("a</seg>\n")), HasSubstr("t:7: </seg> ends nothing"));
    EXPECT_THAT(error("<?xml version=\"1.0\"?>\n<mteval><!-- a\n"), HasSubstr("t:2: the comment or declaration"));
}

TEST_F(Formats, WithoutSegmentsOrWithOneTwiceAreAnError) {
    EXPECT_THAT(error(document("")), HasSubstr("there is no segment in it"));
    EXPECT_THAT(error("<?xml version=\"1.0\"?>\n"), HasSubstr("there is no segment in it"));
    EXPECT_THAT(error("<mteval>"), HasSubstr("t:1: the <mteval> of this line has no end"));
    EXPECT_THAT(error("a\n", TextFormat::xml), HasSubstr("there is no segment in it"));
    EXPECT_THAT(error("", TextFormat::xml), HasSubstr("there is no segment in it"));
    EXPECT_THAT(error(document("<seg id=\"1\">a</seg>\n<seg id=\"2\">b</seg>\n<seg id=\"1\">c</seg>\n")),
                HasSubstr("t:9: segment 1 of document '17' again; it is in line 7, too"));
    EXPECT_THAT(error("<mteval><doc>\n<seg id=\"1\">a</seg>\n<seg id=\"1\">b</seg></doc></mteval>"), HasSubstr("t:3: segment 1"));
    EXPECT_EQ(lines("<mteval><doc docid=\"1\"><seg id=\"1\">a</seg></doc><doc docid=\"2\"><seg id=\"1\">b</seg></doc></mteval>"),
              (Lines{"a", "b"}));
    for (const char* begin : {"<mteval>", "<mteval><p x=y>"})
        EXPECT_EQ(lines(begin + "<doc><seg id=\"1\">a</seg></doc><doc><seg id=\"1\">b</seg></doc></mteval>"s), (Lines{"a", "b"}))
            << "documents without a docid are two all the same";
}

TEST_F(Formats, HoldHugeAndHostileSegments) {
    const std::string huge(300'000, 'x');
    EXPECT_EQ(lines(document("<seg id=\"1\">" + huge + "</seg>")), (Lines{huge.substr(0, longest_line)}));
    EXPECT_THAT(said_, ElementsAre(HasSubstr("cut 1 segments to 65,536 bytes")));
    std::string many, nested;
    for (int i = 0; i < 3000; ++i) many += "<seg id=\"" + std::to_string(i) + "\">Satz</seg>";
    EXPECT_EQ(lines(document(many)).size(), 3000u) << "all of them in one line of the file";
    for (int i = 0; i < 100'000; ++i) nested += "<b>";
    EXPECT_NE(error(document("<seg id=\"1\">" + nested)), "");
    std::string closed = nested + "x";
    for (int i = 0; i < 100'000; ++i) closed += "</b>";
    EXPECT_EQ(lines(document("<seg id=\"1\">" + closed + "</seg>")), (Lines{"x"}));
    EXPECT_THAT(error(document("<seg id=\"1\">gr\xFCn</seg>")), HasSubstr("t:7: this line is not UTF-8"));
    EXPECT_EQ(lines(document("<seg id=\"1\">gr\xFCn</seg>"), TextFormat::automatic, true), (Lines{"gr\uFFFDn"}));
    EXPECT_THAT(error(document("<seg id=\"1\">a\0b</seg>"s)), HasSubstr("t:7: there is a NUL byte"));
}

TEST_F(Formats, AreReadInLinearTimeHoweverManyElementsAreOpen) {
    constexpr int count = 40'000;
    std::string sgml = "<mteval>";
    for (int i = 0; i < count; ++i) sgml += "<doc>";
    for (int i = 0; i < count; ++i) sgml += "<seg>x</seg>";
    for (int i = 0; i < count; ++i) sgml += "</doc>";
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(lines(sgml + "</mteval> < ").size(), static_cast<std::size_t>(count));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));  // quadratic: a minute
}

TEST_F(Formats, KeepNoNamesOfAnyLength) {
    const std::string name(1000, 'n');
    for (const char* end : {"", " < "}) {  // XML; SGML
        EXPECT_EQ(lines("<mteval><doc docid=\"" + name + "\"><seg id=\"" + name + "\">x</seg></doc></mteval>" + end), Lines{"x"});
        EXPECT_THAT(error("<mteval><doc docid=\"" + name + "n\"><seg>x</seg></doc></mteval>" + end),
                    HasSubstr("a docid has 1001 bytes"));
        EXPECT_THAT(error("<mteval><doc docid=\"1\"><seg id=\"" + name + "n\">x</seg></doc></mteval>" + end),
                    HasSubstr("an id has 1001 bytes"));
    }
}

// ---- file names and streams

TEST_F(Formats, AreFoundUnderTheirUsualNames) {
    write("t.de.xml", document("<seg id=\"1\">a</seg>\n"));
    write("t.en.sgm", document("<seg id=\"1\">b</seg>\n"));
    EXPECT_EQ(read_corpus(path("t"), "de", "en").pairs, (std::vector<SentencePair>{{"a", "b"}}));
    write("t.en.xml", "");
    EXPECT_THAT(error_of([&] { read_corpus(path("t"), "de", "en"); }), AllOf(HasSubstr("t.en.xml"), HasSubstr("t.en.sgm")));
    write("t.en", "plain\n");
    EXPECT_EQ(read_corpus(path("t"), "de", "en").pairs, (std::vector<SentencePair>{{"a", "plain"}}));
}

TEST_F(Formats, ComeFromAStream) {
    const auto read = [&](const std::string& bytes, TextFormat format) {
        write("in", bytes);
        FILE* file = fopen(path("in").c_str(), "rb");
        LineStream stream(fileno(file), false, format);
        Lines all;
        for (Lines some = stream.next(2); !some.empty(); some = stream.next(2)) {
            EXPECT_LE(some.size(), 2u);
            all.insert(all.end(), some.begin(), some.end());
        }
        said_.clear();
        stream.say_changes([&](std::string_view text) { said_.emplace_back(text); });
        fclose(file);
        return all;
    };
    const std::string xml = document("<seg id=\"1\">a</seg><seg>b</seg><seg/>"), tags = "<url>x</url>\na\n<title>y</title>\nb\n";
    EXPECT_EQ(read(xml, TextFormat::xml), (Lines{"a", "b", ""}));
    EXPECT_EQ(read(xml, TextFormat::automatic), (Lines{"a", "b", ""}));
    EXPECT_EQ(read(tags, TextFormat::tags), (Lines{"a", "b"}));
    EXPECT_THAT(said_, ElementsAre("standard input: left out 2 lines of metadata"));
    EXPECT_EQ(read(tags, TextFormat::automatic), (Lines{"a", "b"}));
    EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("left out 2 lines"), HasSubstr("--format text"))));
    const std::string page = tags + std::string(20'000, 'x') + "\n<b>c</b>\n";
    EXPECT_EQ(read(page, TextFormat::automatic).size(), 6u) << "a line far behind the beginning says that it is none";
    EXPECT_THAT(said_, ElementsAre(HasSubstr("line 6 (<b>) describes no talk")));
    EXPECT_EQ(read(tags, TextFormat::text).size(), 4u) << "one line in, one line out";
    EXPECT_EQ(read("a\nb\nc", TextFormat::automatic), (Lines{"a", "b", "c"}));
}

}  // namespace
}  // namespace heddle::app
