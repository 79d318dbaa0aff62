// Fetching made-up corpora into a folder with real child processes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "apps/corpora/child.h"
#include "apps/corpora/corpora.h"
#include "core/file.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string german = "Guten Tag.\nDanke.\n", english = "Hello.\nThank you.\n";

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

// Changes PATH until the end of the test.
class SearchPath {
  public:
    explicit SearchPath(const std::string& path) : old_(std::getenv("PATH")) { setenv("PATH", path.c_str(), 1); }
    ~SearchPath() { setenv("PATH", old_.c_str(), 1); }
    SearchPath(const SearchPath&) = delete;
    SearchPath& operator=(const SearchPath&) = delete;

  private:
    std::string old_;
};

// A "site" in a folder: one text gzipped, the other plain.
class Corpora : public testing::Test {
  protected:
    Corpora() {
        fs::create_directory(path("site"));
        fs::create_directory(out(""));
        write("site/published.de", german);
        EXPECT_EQ(shell("gzip " + quoted(path("site/published.de"))).status, 0);
        write("site/published.en", english);
    }
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    void write(const std::string& name, const std::string& text) const { write_file_atomically(path(name), text); }
    std::string read(const std::string& name) const { return read_file(path(name)); }
    void fetch(const CorpusSet& set, const std::string& from = "") {
        said_.clear();
        fetch_corpus(set, path("out"), from.empty() ? "" : path(from),
                     [this](std::string_view line) { said_.emplace_back(line); });
    }
    std::string out(const std::string& name) const { return path("out/" + name); }

    TemporaryFolder folder_;
    std::vector<std::string> said_;
    const std::string base_ = "file://" + path("site/");
    const std::string german_digest_ = sha256(german), english_digest_ = sha256(english);
    std::vector<CorpusFile> files_ = {{"train.de", "published.de.gz", german_digest_},
                                      {"train.en", "published.en", english_digest_}};
    CorpusSet set_{
        .name = "made-up", .holds = "two lines", .licence = "free for all", .source = "here", .base = base_, .files = files_};
};

TEST(Sha256, IsThatOfTheStandard) {
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") << "FIPS 180-4's own example";
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_NE(sha256(std::string("a\0b", 3)), sha256(std::string("a\0c", 3)));
}

// True if the process exists and is not a zombie.
bool is_running(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(file, line);
    return !line.empty() && line.substr(line.rfind(')') + 2, 1) != "Z";
}

TEST(Child, SaysHowItEnded) {
    const ScratchFile input("in"), output;
    const ChildResult result =
        run_child({"sh", "-c", "cat; echo one >&2; echo \"$0 $1\" >&2; exit 7", "two $HOME", "*"}, input, output);
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.status, 7);
    EXPECT_EQ(result.errors, "one two $HOME *") << "no shell reads the words";
    EXPECT_EQ(output.text(), "in");
    EXPECT_EQ(run_child({"sh", "-c", "kill -9 $$"}, input, output).status, 128 + 9);
    EXPECT_FALSE(run_child({"heddle-has-no-such-program"}, input, output).found);
}

TEST(Child, IsEndedWhenItsTimeIsOverOrASignalStopsIt) {
    using namespace std::chrono_literals;
    const ScratchFile input, output;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run_child({"sh", "-c", "exit 7"}, input, output, 60s).status, 7);
    const ChildResult late = run_child({"sleep", "100"}, input, output, 50ms);
    EXPECT_TRUE(late.too_long);
    EXPECT_EQ(late.status, 128 + SIGKILL);
    const ChildResult stopped = run_child({"sh", "-c", "kill -STOP $$"}, input, output, 60s);
    EXPECT_EQ(stopped.stopped_by, SIGSTOP);
    EXPECT_FALSE(stopped.too_long);
    EXPECT_EQ(stopped.status, 128 + SIGKILL);
    EXPECT_FALSE(run_child({"heddle-has-no-such-program"}, input, output, 60s).found);
    // Its own children are ended, too.
    EXPECT_EQ(run_child({"sh", "-c", "sleep 100 & echo $!"}, input, output, 60s).status, 0);
    const pid_t left = std::stoi(output.text());
    for (int i = 0; i < 500 && is_running(left); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(is_running(left));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 50s);
}

TEST(Child, IsEndedByASignalThatTakesItsEffectLater) {
    const ScratchFile input, output;
    const auto interrupted = [&] {
        {
            const DelayedSignals delayed;
            run_child({"sh", "-c", "kill -TERM $PPID; exec sleep 100"}, input, output, std::chrono::seconds(60));
            std::fputs("cleaned up", stderr);
        }
        std::fputs(" too late", stderr);
    };
    EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGTERM), "^cleaned up$");
}

TEST_F(Corpora, AreFetchedCheckedAndUnpacked) {
    fetch(set_);
    EXPECT_EQ(read("out/train.de"), german);
    EXPECT_EQ(read("out/train.en"), english);
    EXPECT_THAT(names_in(out("")), ElementsAre("train.de", "train.en"));
    EXPECT_EQ(said_.front(), "made-up, from here; licence: free for all");
    EXPECT_THAT(said_, Contains(out("train.de") + ": written, its SHA-256 is right"));
}

TEST_F(Corpora, KeepWhatIsThere) {
    fetch(set_);
    fs::remove_all(path("site"));
    fetch(set_);
    EXPECT_THAT(said_, ElementsAre(testing::_, out("train.de") + ": already there", out("train.en") + ": already there"));
}

TEST_F(Corpora, OverwriteNothing) {
    write("out/train.de", "my own\n");
    EXPECT_THAT(error_of([&] { fetch(set_); }),
                AllOf(HasSubstr(out("train.de") + " is another file"), HasSubstr(sha256("my own\n")), HasSubstr(german_digest_)));
    EXPECT_EQ(read("out/train.de"), "my own\n");
}

TEST_F(Corpora, AreNotMixedWithAnotherOne) {
    write("out/train.en", "another corpus\n");  // the last of its files
    EXPECT_THAT(error_of([&] { fetch(set_); }), HasSubstr(out("train.en") + " is another file"));
    EXPECT_THAT(names_in(out("")), ElementsAre("train.en")) << "nothing is written beside it";
}

TEST_F(Corpora, MakeNoFolderWhereNothingCanComeFrom) {
    fs::remove(out(""));
    EXPECT_THAT(error_of([&] { fetch(set_, "nowhere"); }), HasSubstr("nowhere: there is no such folder"));
    EXPECT_FALSE(fs::exists(path("out")));
    fetch(set_);
    EXPECT_EQ(read("out/train.de"), german) << "otherwise it is made";
}

TEST_F(Corpora, RefuseAWrongDigestWithBoth) {
    files_[1].sha256 = german_digest_;
    EXPECT_THAT(error_of([&] { fetch(set_); }), AllOf(HasSubstr(base_ + "published.en is not the file that was wanted"),
                                                      HasSubstr(english_digest_), HasSubstr(german_digest_)));
    EXPECT_THAT(names_in(out("")), ElementsAre("train.de")) << "what was right stays, and nothing else";
    files_[1].sha256 = english_digest_;
    fetch(set_);
    EXPECT_THAT(said_, Contains(out("train.de") + ": already there"));
    EXPECT_EQ(read("out/train.en"), english);
}

TEST_F(Corpora, RefuseAFileThatBrokeOff) {
    fs::resize_file(path("site/published.de.gz"), 20);
    EXPECT_THAT(error_of([&] { fetch(set_); }), HasSubstr("published.de.gz"));
    EXPECT_THAT(names_in(out("")), ElementsAre());
}

TEST_F(Corpora, ComeFromAFolderPackedOrNot) {
    fs::rename(path("site"), path("stick"));
    ASSERT_EQ(shell("gunzip " + quoted(path("stick/published.de.gz"))).status, 0);
    fetch(set_, "stick");
    EXPECT_EQ(read("out/train.de"), german);
    EXPECT_EQ(read("out/train.en"), english);
}

TEST_F(Corpora, NameWhatAFolderLacks) {
    fs::remove(path("site/published.de.gz"));
    EXPECT_THAT(error_of([&] { fetch(set_, "site"); }),
                AllOf(HasSubstr("there is no published.de.gz in it, and no published.de"), HasSubstr(base_ + "published.de.gz")));
    EXPECT_THAT(error_of([&] { fetch(set_, "nowhere"); }), HasSubstr("nowhere: there is no such folder"));
    EXPECT_FALSE(fs::exists(out("train.en")));
}

TEST_F(Corpora, SayWhyTheNetworkFailed) {
    fs::remove(path("site/published.de.gz"));
    EXPECT_THAT(error_of([&] { fetch(set_); }),
                AllOf(HasSubstr(base_ + "published.de.gz cannot be fetched: curl: (37)"), HasSubstr("--from")));
}

TEST_F(Corpora, AreNeverFetchedUnencrypted) {
    set_.base = "http://127.0.0.1:1/";
    EXPECT_THAT(error_of([&] { fetch(set_); }), HasSubstr("Protocol \"http\" not supported or disabled"));
}

TEST_F(Corpora, SayWhichProgramIsMissing) {
    const TemporaryFolder bin;
    const SearchPath only(bin.path().string());
    EXPECT_THAT(error_of([&] { fetch(set_); }),
                AllOf(HasSubstr("curl is missing: install it (apt install curl)"), HasSubstr(base_ + "published.de.gz")));
    EXPECT_THAT(error_of([&] { fetch(set_, "site"); }), HasSubstr("sha256sum is missing"));
}

TEST_F(Corpora, WithStepsAreNotFetched) {
    const CorpusSet set{.name = "talks", .holds = "", .licence = "", .source = "https://there", .steps = "do this"};
    EXPECT_EQ(error_of([&] { fetch(set); }), "talks is not fetched by this command; see https://there: do this");
    EXPECT_THAT(names_in(out("")), ElementsAre());
}

// 4,000 pairs. In the first half every tenth German sentence and every seventh English one occur twice; in the second half each
// English sentence has 40 translations, so that some have one in val and one in test.
std::vector<std::string> two_columns() {
    std::vector<std::string> lines;
    for (int i = 0; i < 2000; ++i)
        lines.push_back(fmt::format("Sentence number {}{}\tSatz{} Nummer {}.\tCC-BY {}", i % 7 == 0 ? i + 1 : i,
                                    i % 2 == 0 ? "." : "!", i % 3 == 0 ? "," : "", i % 10 == 0 ? i + 1 : i, i));
    for (int i = 0; i < 2000; ++i) lines.push_back(fmt::format("Greeting {}\tGruß {} an {}", i / 40, i / 40, i % 40));
    return lines;
}

std::string text_of(const std::vector<std::string>& lines) { return fmt::format("{}\n", fmt::join(lines, "\n")); }

// The sentences of a part, ignoring case and punctuation, whose places in the lines above are known.
std::set<std::string> sentences(const std::string& text) {
    std::set<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::erase_if(line, [](char character) { return character == '.' || character == '!' || character == ','; });
        found.insert(line);
    }
    return found;
}

class DividedCorpora : public Corpora {
  protected:
    DividedCorpora() {
        fs::create_directory(path("stick"));
        set_ = {.name = "pairs",
                .holds = "",
                .licence = "",
                .source = "",
                .base = base_,
                .archive = "pairs.zip",
                .member = "pairs.txt"};
    }
    void clear() {
        fs::remove_all(out(""));
        fs::create_directory(out(""));
    }
    void divide(const std::vector<std::string>& lines) {
        clear();
        write("stick/pairs.txt", text_of(lines));
        fetch(set_, "stick");
    }
};

TEST_F(DividedCorpora, ShareNoSentence) {
    divide(two_columns());
    std::int64_t lines = 0;
    for (const std::string language : {".de", ".en"}) {
        const auto train = sentences(read("out/train" + language)), val = sentences(read("out/val" + language)),
                   test = sentences(read("out/test" + language));
        EXPECT_GT(train.size(), 1600u);
        EXPECT_GT(val.size(), 5u);
        EXPECT_GT(test.size(), 5u);
        for (const auto& [one, other] : {std::pair(&train, &val), std::pair(&train, &test), std::pair(&val, &test)})
            for (const std::string& sentence : *one) EXPECT_FALSE(other->contains(sentence)) << sentence;
    }
    for (const std::string part : {"train", "val", "test"}) {
        const std::string sources = read("out/" + part + ".de"), targets = read("out/" + part + ".en");
        EXPECT_EQ(std::ranges::count(sources, '\n'), std::ranges::count(targets, '\n'));
        lines += std::ranges::count(sources, '\n');
    }
    EXPECT_LT(lines, 4000) << "some English sentences are of two German ones, one of them held out";
    EXPECT_THAT(said_, Contains(fmt::format("left out, empty or with a sentence that is in val or test: {}",
                                            counted_lines(4000 - lines))));
}

TEST_F(DividedCorpora, DependOnTheirSentencesAlone) {
    std::vector<std::string> lines = two_columns();
    divide(lines);
    const auto test = sentences(read("out/test.de"));
    std::ranges::reverse(lines);
    lines.push_back("A new one\tEin neuer");
    divide(lines);
    EXPECT_EQ(sentences(read("out/test.de")), test);
}

TEST_F(DividedCorpora, AreNotMixedWithAnotherOne) {
    write("out/test.en", "another corpus\n");  // the last file to be written
    write("stick/pairs.txt", text_of(two_columns()));
    EXPECT_THAT(error_of([&] { fetch(set_, "stick"); }), HasSubstr(out("test.en") + " is another file"));
    EXPECT_THAT(names_in(out("")), ElementsAre("test.en"));
}

TEST_F(DividedCorpora, NameALineThatIsNoPair) {
    EXPECT_THAT(error_of([&] { divide({"Yes\tJa", "No"}); }), HasSubstr("pairs.txt: line 2 has no tab"));
    EXPECT_THAT(error_of([&] { divide({"Yes\tJa"}); }), HasSubstr("pairs.txt: 1 line cannot be divided"));
    EXPECT_THAT(names_in(out("")), ElementsAre());
}

TEST_F(DividedCorpora, ComeFromAnArchive) {
    if (!has_program("zip") || !has_program("unzip")) GTEST_SKIP() << "zip and unzip are not both here";
    divide(two_columns());
    const std::string test = read("out/test.de");
    ASSERT_EQ(
        shell("cd " + quoted(path("stick")) + " && echo about > _about.txt && zip -q ../site/pairs.zip _about.txt pairs.txt")
            .status,
        0);
    clear();
    fetch(set_);
    EXPECT_EQ(read("out/test.de"), test);
    EXPECT_THAT(said_, Contains(HasSubstr("the SHA-256 of this one is " + sha256(read("site/pairs.zip")))));
    fetch(set_);
    EXPECT_THAT(said_, Contains(out("test.de") + ": already there"));

    fs::resize_file(path("site/pairs.zip"), 1000);
    EXPECT_THAT(error_of([&] { fetch(set_); }), HasSubstr("pairs.txt cannot be unpacked"));
}

TEST(CorpusSets, AreWellFormed) {
    std::set<std::string_view> names;
    for (const CorpusSet& set : corpus_sets()) {
        EXPECT_TRUE(names.insert(set.name).second) << set.name;
        EXPECT_NE(set.files.empty(), set.archive.empty() && set.steps.empty()) << set.name;
        EXPECT_FALSE(set.holds.empty() || set.licence.empty() || set.source.empty()) << set.name;
        EXPECT_TRUE(!set.steps.empty() || (set.base.starts_with("https://") && set.base.ends_with("/"))) << set.base;
        for (const CorpusFile& file : set.files)
            EXPECT_TRUE(file.sha256.size() == 64 && file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos)
                << file.name;
    }
}

}  // namespace
}  // namespace heddle::app
