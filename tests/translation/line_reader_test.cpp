// Real-world text: line ends, characters to keep, errors, and gzip.
#include "apps/translation/text/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "apps/translation/text/unicode.h"
#include "core/random.h"
#include "tests/support.h"
#include "tests/translation/text_support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_literals;

std::string gzipped(const std::string& text, int level = 6) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(packed.size() - stream.avail_out);
    deflateEnd(&stream);
    return packed;
}

/// The result of reading a file.
struct ReadText {
    Lines lines;
    LineChanges changes;
    Lines said;
};

class WrittenFile {
  public:
    explicit WrittenFile(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
    std::string path() const { return (folder_.path() / "text").string(); }
    ReadText read(bool replace_invalid = false) const {
        LineReader reader(path(), replace_invalid);
        ReadText text;
        for (std::string line; reader.next(line);) text.lines.push_back(line);
        std::string none = "untouched";
        EXPECT_FALSE(reader.next(none)) << "the end stays the end";
        EXPECT_EQ(static_cast<std::size_t>(reader.number()), text.lines.size());
        text.changes = reader.changes();
        reader.say_changes([&](std::string_view line) { text.said.emplace_back(line); });
        return text;
    }

  private:
    TemporaryFolder folder_;
};

struct Case {
    const char* name;
    std::string bytes;
    Lines lines;
};

const Case kept[] = {
    {"Nothing", "", {}},
    {"OneEnd", "\n", {""}},
    {"Lf", "eins\nzwei\n\ndrei\n", {"eins", "zwei", "", "drei"}},
    {"CrlfAndNoLastEnd", "eins\r\nzwei\r\n\r\ndrei", {"eins", "zwei", "", "drei"}},
    {"CrAtTheVeryEnd", "eins\r\nzwei\r", {"eins", "zwei"}},
    {"OnlyTheLastCrOfSeveral", "eins\r\r\n", {"eins\r"}},
    {"EmptyLinesAtTheEnd", "a\n\n\n", {"a", "", ""}},
    {"Bom", bom + "gr\u00fcn\n" + bom + "x", {"gr\u00fcn", bom + "x"}},
    {"OnlyABom", bom, {}},
    {"BomAndAnEmptyLine", bom + "\r\n", {""}},
    {"OneBomOfTwo", bom + bom + "a", {bom + "a"}},
    {"LoneCr", "a\rb\n\rc\n", {"a\rb", "\rc"}},
    {"UnicodeLineEnds", "a\u2028b\u2029c\u0085d\ve\ff\n", {"a\u2028b\u2029c\u0085d\ve\ff"}},
    {"TabsAndSpaces", " a\t\u00a0b \n \n\t\n", {" a\t\u00a0b ", " ", "\t"}},
    {"ControlCharacters", "\x01\x1b[31m\x7f\u009f\n", {"\x01\x1b[31m\x7f\u009f"}},
    {"Emoji", "\U0001F468\u200D\U0001F469 \U0001F1E9\U0001F1EA\n", {"\U0001F468\u200D\U0001F469 \U0001F1E9\U0001F1EA"}},
    {"Noncharacters", "\uFFFE\uFFFF\U0010FFFF\n", {"\uFFFE\uFFFF\U0010FFFF"}},
    {"HalfAGzipMagic", "\x1f", {"\x1f"}},
};

class KeptText : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Text, KeptText, testing::ValuesIn(kept), [](const auto& info) { return info.param.name; });

TEST_P(KeptText, AsItIsPlainGzippedAndByteByByte) {
    for (const std::string& bytes : {GetParam().bytes, gzipped(GetParam().bytes)}) {
        for (const bool replace : {false, true}) {
            const ReadText text = WrittenFile(bytes).read(replace);
            EXPECT_EQ(text.lines, GetParam().lines);
            EXPECT_EQ(text.changes.cut + text.changes.replaced, 0);
            EXPECT_TRUE(text.said.empty());
        }
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        std::thread writer([&] {
            for (const char byte : bytes) {
                EXPECT_EQ(write(ends[1], &byte, 1), 1);
                for (int waiting = 1; waiting > 0; std::this_thread::yield()) ioctl(ends[0], FIONREAD, &waiting);
            }
            close(ends[1]);
        });
        LineReader reader(ends[0], "a pipe", false);
        Lines lines;
        for (std::string line; reader.next(line);) lines.push_back(line);
        writer.join();
        close(ends[0]);
        EXPECT_EQ(lines, GetParam().lines);
    }
}

struct Wrong {
    const char* name;
    std::string bytes;
    std::string message;  // follows the path in the message
    Lines replaced;
};

const Wrong wrong[] = {
    {"Latin1", "ok\ngr\xFCn\n", ":2: this line is not UTF-8; convert the text", {"ok", "gr\uFFFDn"}},
    {"HalfACharacterAtTheEnd", "a\xE2\x82", ":1: this line is not UTF-8", {"a\uFFFD\uFFFD"}},
    {"ACharacterAcrossLines", "a\xE2\x82\n\xAC\n", ":1: this line is not UTF-8", {"a\uFFFD\uFFFD", "\uFFFD"}},
    {"Surrogate", "\n\n\xED\xA0\x80\n", ":3: this line is not UTF-8", {"", "", "\uFFFD\uFFFD\uFFFD"}},
    {"Overlong", "\xC0\x80\n", ":1: this line is not UTF-8", {"\uFFFD\uFFFD"}},
    {"Nul", "a\nb\0c\n"s, ":2: there is a NUL byte", {"a", "b\uFFFDc"}},
    {"OnlyNul", "\0"s, ":1: there is a NUL byte", {"\uFFFD"}},
    {"Utf16", "\xFF\xFE\x61\0\x0A\0"s, ":1: this is UTF-16", {"\uFFFD\uFFFD\x61\uFFFD", "\uFFFD"}},
};

/// Text that is not UTF-8, with the error's description; CONVERT stands for a command that converts the text to "wanted".
const std::string latin1 =
    "Tom schl\xE4"
    "ft.\nIch bin m\xFC"
    "de.\n";

std::string wide(const std::string& text, int bytes, bool little, const std::string& mark) {
    std::string out = mark;
    for (const char32_t c : decode_utf8(text))
        for (int i = 0; i < bytes; ++i) out += static_cast<char>(c >> 8 * (little ? i : bytes - 1 - i) & 0xFF);
    return out;
}

TEST(UnreadableText, IsConvertedByTheCommandThatTheErrorNames) {
    const std::string text =
                          "Tom schl\u00e4ft.\nIch bin m\u00fc"
                          "de.\n",
                      quoted = "\u201eTom\u201c schl\u00e4ft \u2013 fest.\n";
    const struct {
        std::string name, bytes, what, command, text;
    } cases[] = {
        {"Latin-1", latin1, "this line is not UTF-8", "iconv -f ISO-8859-1 -t UTF-8", text},
        {"Windows",
         "\x84Tom\x93 schl\xE4"
         "ft \x96 fest.\n",
         "this line is not UTF-8", "iconv -f WINDOWS-1252 -t UTF-8", quoted},
        {"UTF-16", wide(text, 2, true, "\xFF\xFE"), "this is UTF-16,", "iconv -f UTF-16 -t UTF-8", text},
        {"UTF-16, big end first", wide(text, 2, false, "\xFE\xFF"), "this is UTF-16,", "iconv -f UTF-16 -t UTF-8", text},
        {"UTF-32", wide(text, 4, true, "\xFF\xFE\0\0"s), "this is UTF-32,", "iconv -f UTF-32 -t UTF-8", text},
        {"UTF-32, big end first", wide(text, 4, false, "\0\0\xFE\xFF"s), "this is UTF-32,", "iconv -f UTF-32 -t UTF-8", text},
        {"NUL", "Tom\0 schlief tief.\n"s, "there is a NUL byte", "tr -d '\\000' <", "Tom schlief tief.\n"},
    };
    for (const auto& [name, bytes, what, command, converted] : cases)
        for (const bool packed : {false, true}) {
            const WrittenFile file(packed ? gzipped(bytes) : bytes);
            const std::string error = error_of([&] { file.read(); });
            EXPECT_THAT(error, StartsWith(file.path() + ":1: " + what)) << name;
            const std::string filter = command.substr(0, command.find(" <")),
                              line = packed ? "gzip -dc " + file.path() + " | " + filter : command + " " + file.path();
            EXPECT_THAT(error, HasSubstr("for example with " + line + " > NEW, or go on with --replace-invalid")) << name;
            const std::string into = file.path() + ".new";
            ASSERT_EQ(std::system((line + " > " + into).c_str()), 0) << line;
            LineReader reader(into, false);
            std::string again;
            for (std::string next; reader.next(next);) again += next + "\n";
            EXPECT_EQ(again, converted) << name;
        }
    EXPECT_THAT(error_of([&] { WrittenFile("gr\u00fcn\ngr\xFCn\n").read(); }),
                HasSubstr(":2: this line is not UTF-8, though others are; correct it, or go on with --replace-invalid"));
}

TEST(PackedText, IsNamedWithTheCommandThatUnpacksIt) {
    const std::pair<std::string, std::string> cases[] = {
        {"\xFD"
         "7zXZ\0\0\4"s,
         "this is xz, wanted text; unpack it first: xz -dc "},
        {"BZh91AY&SYxx", "this is bzip2, wanted text; unpack it first: bzip2 -dc "},
        {"PK\3\4\x14", "this is a zip archive, wanted text; unpack it first: unzip -p "},
        {"\x28\xB5\x2F\xFD\4", "this is zstd, wanted text; unpack it first: zstd -dc "}};
    for (const auto& [bytes, message] : cases) {
        const WrittenFile file(bytes + "\n\0more"s);
        for (const bool replace : {false, true})
            EXPECT_EQ(error_of([&] { file.read(replace); }), file.path() + ": " + message + file.path() + " > NEW");
        EXPECT_EQ(WrittenFile(bytes.substr(0, 1)).read(true).lines.size(), 1u) << "too little to know";
    }
    for (const std::string text : {"BZ is short for Bozen\n", "PK\n", "(", "BZh91AY is text\n"})
        EXPECT_EQ(WrittenFile(text).read().lines.size(), 1u) << text;
}

class InvalidText : public testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(Text, InvalidText, testing::ValuesIn(wrong), [](const auto& info) { return info.param.name; });

TEST_P(InvalidText, IsAnErrorWithTheLineOrIsReplacedAndCounted) {
    const auto& [name, bytes, message, replaced] = GetParam();
    const WrittenFile file(bytes);
    EXPECT_THAT(error_of([&] { file.read(); }), AllOf(StartsWith(file.path() + message), HasSubstr("--replace-invalid")));
    const ReadText text = file.read(true);
    EXPECT_EQ(text.lines, replaced);
    const auto changed = std::count_if(replaced.begin(), replaced.end(),
                                       [](const auto& line) { return line.find("\uFFFD") != std::string::npos; });
    EXPECT_EQ(text.changes.replaced, changed);
    ASSERT_EQ(text.said.size(), 1u) << "said once";
    EXPECT_EQ(text.said[0], file.path() + ": replaced what is not UTF-8 by U+FFFD in " + counted_lines(changed));
}

TEST(LongLines, AreKeptUpToTheLimitWhateverStandsAroundThem) {
    const std::string longest(longest_line, 'x');
    for (const std::string& bytes : {longest, longest + "\n", longest + "\r\n", bom + longest + "\r\n", gzipped(longest)}) {
        const ReadText text = WrittenFile(bytes).read();
        EXPECT_EQ(text.lines, Lines{longest});
        EXPECT_EQ(text.changes.cut, 0);
    }
    for (const std::string more : {"y", "\r\r\n", "\ry", "\u20ac", "yyyyyyyyyy\r\n"}) {
        for (const std::string& first : {""s, bom}) {
            const ReadText text = WrittenFile(first + longest + more).read();
            EXPECT_EQ(text.lines, Lines{longest}) << more;
            EXPECT_EQ(text.changes.cut, 1);
        }
    }
}

TEST(LongLines, AreCutWhereACharacterEndsAndCounted) {
    const std::string euro = "\u20ac", grin = "\U0001F600";
    for (std::size_t shift = 0; shift < 7; ++shift) {
        std::string line(shift, 'x');
        while (line.size() < 1'000'000) line += grin + euro;
        const WrittenFile file("short\n" + line + "\nlast\n" + line);
        const ReadText text = file.read();
        ASSERT_EQ(text.lines.size(), 4u);
        EXPECT_EQ(text.lines[2], "last");
        EXPECT_TRUE(line.starts_with(text.lines[1]));
        EXPECT_TRUE(is_utf8(text.lines[1]));
        EXPECT_LE(text.lines[1].size(), longest_line);
        EXPECT_GT(text.lines[1].size(), longest_line - 4);
        EXPECT_EQ(text.lines[1], text.lines[3]);
        EXPECT_EQ(text.said, Lines{file.path() + ": cut 2 lines to 65,536 bytes, the longest a line may be"});
    }
}

TEST(LongLines, OfBytesThatFollowNothingAreCutToo) {
    const ReadText text = WrittenFile(std::string(70000, '\x80')).read(true);
    EXPECT_EQ(text.changes.cut, 1);
    EXPECT_EQ(text.changes.replaced, 1);
    EXPECT_EQ(decode_utf8(text.lines.at(0)).size(), longest_line);
}

TEST(Gzip, MayHaveSeveralMembersAndZerosBehind) {
    const Lines wanted{"eins", "zwei", "drei"};
    EXPECT_EQ(WrittenFile(gzipped("eins\nzw") + gzipped("") + gzipped("ei\ndrei\n")).read().lines, wanted);
    EXPECT_EQ(WrittenFile(gzipped("eins\nzwei\ndrei\n") + std::string(1000, '\0')).read().lines, wanted);
    EXPECT_EQ(WrittenFile(gzipped("eins\n") + std::string(70000, '\0') + gzipped("zwei\ndrei")).read().lines, wanted);
    EXPECT_TRUE(WrittenFile(gzipped("")).read().lines.empty());
}

TEST(Gzip, IsUnpackedWhateverTheSizes) {
    Sequence numbers(3);
    for (const std::int64_t size : {65535, 65536, 65537, 131072, 1000000}) {
        Lines lines;
        std::string text;
        while (static_cast<std::int64_t>(text.size()) < size) {
            lines.emplace_back(numbers.below(2) == 0 ? 1000 : numbers.below(50), static_cast<char>('a' + numbers.below(26)));
            text += lines.back() + "\n";
        }
        for (const int level : {0, 1, 9}) EXPECT_EQ(WrittenFile(gzipped(text, level)).read().lines, lines) << size;
    }
}

TEST(Gzip, ThatIsNoTextButABombIsAnError) {
    const std::string bomb = gzipped(std::string(32 << 20, '\n'));
    EXPECT_LT(bomb.size(), 40'000u);
    const WrittenFile file(bomb);
    EXPECT_THAT(error_of([&] { file.read(); }), AllOf(StartsWith(file.path() + ": "), HasSubstr("unpack it with gunzip first")));
    // Dividing the file into members makes no difference.
    std::string members;
    for (int i = 0; i < 32; ++i) members += gzipped(std::string(1 << 20, '\n'));
    EXPECT_THAT(error_of([&] { WrittenFile(members).read(); }), HasSubstr("that is no text"));
    // A small file does no harm, and real text may repeat itself.
    EXPECT_EQ(WrittenFile(gzipped(std::string(3 << 20, '\n'))).read().lines.size(), std::size_t{3 << 20});
    std::string text;
    while (text.size() < 8 << 20) text += "Das ist der Satz Nummer " + std::to_string(text.size() / 1000) + " von vielen.\n";
    const std::string packed = gzipped(text, 9);
    EXPECT_GT(text.size(), 30 * packed.size());
    EXPECT_EQ(WrittenFile(packed).read().lines.size(), static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
}

TEST(Gzip, ThatIsDamagedOrEndsTooEarlyIsAnErrorWithTheName) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += std::to_string(i * i) + "\n";
    const std::string packed = gzipped(text);
    for (const std::size_t size : {std::size_t{2}, std::size_t{9}, packed.size() / 2, packed.size() - 8, packed.size() - 1}) {
        const WrittenFile file(packed.substr(0, size));
        EXPECT_EQ(error_of([&] { file.read(); }), file.path() + ": the gzip data end too early; the file is not complete");
    }
    for (const std::size_t at : {std::size_t{2}, packed.size() / 2, packed.size() - 6, packed.size() - 1}) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        const WrittenFile file(damaged);
        EXPECT_THAT(error_of([&] { file.read(); }), StartsWith(file.path() + ": the gzip data are damaged (")) << at;
    }
    const WrittenFile file(packed + "more");
    EXPECT_THAT(error_of([&] { file.read(); }), HasSubstr("damaged"));
}

}  // namespace
}  // namespace heddle::app
