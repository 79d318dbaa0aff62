// docs/make-site.sh, which makes a web site of the documentation: every page is there, and no link leads nowhere.
// docs/make-api.sh, which makes the pages of the API from the headers' comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/file.h"
#include "tests/browser.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string root = HEDDLE_SOURCE_DIR;
const std::string tool = "python3 " + quoted(root + "/docs/site/site.py") + " ";

// Only the committed pages: those of heddle explain and heddle lab take minutes, and need the programs.
TEST(Site, HasEveryPageAndNoDeadLink) {
    if (!has_program("mkdocs"))
        GTEST_SKIP() << "mkdocs is missing: NO SITE WAS BUILT AND NO LINK CHECKED; apt-get install mkdocs";
    const TemporaryFolder here;
    const fs::path site = here / "site";
    const ShellOutput made = shell("bash " + quoted(root + "/docs/make-site.sh") + " " + quoted(site.string()) + " none 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    EXPECT_THAT(made.text, HasSubstr(", 0 dead\n"));
    for (const char* page :
         {"index.html", "docs/install.html", "core/index.html", "search/search_index.json", "kernels/softmax/softmax.cu.html"})
        EXPECT_TRUE(fs::exists(site / page)) << page;
    const std::string first = read_file(site / "index.html");
    for (const auto& folder : fs::directory_iterator(root + "/kernels")) {
        if (!folder.is_directory()) continue;
        const std::string chapter = "kernels/" + folder.path().filename().string() + "/index.html";
        EXPECT_TRUE(fs::exists(site / chapter)) << chapter;
        EXPECT_THAT(first, HasSubstr("href=\"" + chapter + "\"")) << "it is not among the contents";
    }
    for (const auto& file : fs::recursive_directory_iterator(root + "/docs"))
        if (file.path().extension() == ".md" && file.path().string().find("/examples/") == std::string::npos) {
            fs::path page = fs::relative(file.path(), root);
            page.replace_filename(page.filename() == "README.md" ? "index.html" : page.stem().string() + ".html");
            EXPECT_THAT(first, HasSubstr("href=\"" + page.string() + "\"")) << "it is not among the contents";
        }
    const std::size_t start = first.find("<summary>Start<"), learn = first.find("<summary>Learn<"),
                      use = first.find("<summary>Use<"), verify = first.find("<summary>Verify<"),
                      reference = first.find("<summary>Reference<");
    EXPECT_LT(start, learn);
    EXPECT_LT(learn, use);
    EXPECT_LT(use, verify);
    EXPECT_LT(verify, reference);
    EXPECT_NE(reference, std::string::npos);
    const std::string chapter = read_file(site / "kernels/softmax/index.html");
    EXPECT_THAT(chapter, AllOf(HasSubstr("<img alt=\"Softmax of narrow rows"), HasSubstr("<h2 id=\"on-cuda\">"),
                               HasSubstr("<table>"), HasSubstr("<li><strong>Narrow</strong>"), Not(HasSubstr("|---"))));

    // Hits of a search name their page: "On CUDA" is in the chapter of each op.
    std::multiset<std::string> hits;
    const nlohmann::json index = nlohmann::json::parse(read_file(site / "search/search_index.json"));
    for (const nlohmann::json& hit : index["docs"]) hits.insert(hit["title"]);
    EXPECT_EQ(hits.count("Softmax"), 1u) << "the page, and not its heading once more";
    EXPECT_EQ(hits.count("Softmax: On CUDA"), 1u);
    EXPECT_EQ(hits.count("On CUDA"), 0u);

    // The check itself: it finds what is broken, and nothing else.
    std::ofstream(site / "docs/install.html", std::ios::app)
        << "<a href=\"../nowhere.html\">x</a> <img src=\"none.svg\"> <a href=\"cuda.html#no-such-heading\">x</a> <a "
           "href=\"#top-of-nothing\">x</a>"
        << "<a href=\"https://example.org/nowhere\">x</a> <a href=\"cuda.html\">x</a>";
    const ShellOutput broken = shell(tool + "check " + quoted(site.string()) + " 2>&1");
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.text,
                AllOf(HasSubstr(", 4 dead\n"), HasSubstr("dead link in docs/install.html: ../nowhere.html\n"),
                      HasSubstr("docs/install.html: none.svg\n"), HasSubstr("docs/install.html: cuda.html#no-such-heading\n"),
                      HasSubstr("docs/install.html: #top-of-nothing\n")));
}

TEST(Site, PicturesFitAPhoneOrScroll) {
    const std::string front = read_file(root + "/docs/measured/attention.svg");
    EXPECT_THAT(front, HasSubstr("(prefers-color-scheme:dark){svg{")) << "or it is a white card on a dark page";
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: no page was looked at";
    const std::string picture =
        R"(src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='900' height='90'/%3E")";
    const nlohmann::json page = "<!DOCTYPE html><style>" + read_file(root + "/docs/site/theme/style.css") +
                                "</style><header></header><main><p><img width=\"390\" " + picture + "></p><p><img " + picture +
                                "></p></main>";
    const nlohmann::json seen = title_of(fmt::format(
        R"(<!DOCTYPE html><title>[]</title><body><iframe width="400" height="900"></iframe><script>
        const frame = document.querySelector('iframe');
        frame.onload = () => {{
            const {{images, documentElement}} = frame.contentDocument;
            document.title = JSON.stringify([...images].map(one => one.getBoundingClientRect().right).concat(documentElement.scrollWidth));
        }};
        frame.srcdoc = {};
        </script></body>)",
        page.dump()));
    ASSERT_EQ(seen.size(), 3u) << seen;
    EXPECT_LE(seen[0], 400) << "one with a width of its own shrinks, so that its scale is seen";
    EXPECT_GE(seen[1], 900) << "any other keeps its size, so that its text can be read";
    EXPECT_LE(seen[2], 400) << "and scrolls by itself";
}

// MkDocs empties the folder that it writes to.
TEST(Site, DeletesNoFolderThatIsNoSite) {
    const TemporaryFolder here;
    std::ofstream(here / "mine.txt") << "mine";
    const ShellOutput refused =
        shell("bash " + quoted(root + "/docs/make-site.sh") + " " + quoted(here.path().string()) + " none 2>&1");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.text, HasSubstr("is not empty and holds no site"));
    EXPECT_EQ(read_file(here / "mine.txt"), "mine");
}

// A link in Markdown to a file that is not in the repository, before MkDocs has run.
TEST(Site, RefusesALinkToNoFile) {
    if (!has_program("git")) GTEST_SKIP() << "git is missing: it lists the pages";
    const TemporaryFolder here;
    const std::string copy = quoted((here / "copy").string());
    const ShellOutput prepared =
        shell("mkdir -p " + copy + "/docs/site && cd " + copy + " && cp " + quoted(root + "/docs/site/site.py") +
              " docs/site && git init -q && mkdir ../pages && echo '# A page [x](kernels/none.cu)' > README.md");
    ASSERT_EQ(prepared.status, 0) << prepared.text;
    const ShellOutput refused = shell("cd " + copy + " && python3 docs/site/site.py collect ../work ../pages 2>&1");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.text, HasSubstr("README.md: kernels/none.cu leads to no file of the repository"));
}

// docs/make-api.sh, which makes the pages of the API from the headers' comments.

// All pages of one room.
std::string pages(const fs::path& room) {
    std::ostringstream text;
    for (const auto& entry : fs::directory_iterator(room))
        if (entry.path().extension() == ".html") text << std::ifstream(entry.path()).rdbuf();
    return text.str();
}

TEST(ApiPages, HoldTheDeclarationsOfEachRoomWithTheirComments) {
    if (!has_program("doxygen")) GTEST_SKIP() << "doxygen is missing: no pages are made";
    const TemporaryFolder here;
    const ShellOutput made = shell("bash '" HEDDLE_SOURCE_DIR "/docs/make-api.sh' " + quoted((here / "api").string()) + " 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    for (const char* room : {"core", "kernels", "autograd", "nn", "optim", "heddle"})
        EXPECT_TRUE(fs::exists(here.path() / "api" / room / "index.html")) << room;
    EXPECT_THAT(pages(here / "api/core"), AllOf(HasSubstr("mutable_values"), HasSubstr("bumps the version")));
    EXPECT_THAT(pages(here / "api/kernels"), HasSubstr("softmax_backward"));
    EXPECT_THAT(pages(here / "api/autograd"), AllOf(HasSubstr("linear_cross_entropy"), HasSubstr("set_requires_grad")));
    EXPECT_THAT(pages(here / "api/nn"), HasSubstr("CrossAttention"));
    EXPECT_THAT(pages(here / "api/optim"), HasSubstr("NotFinite"));
    EXPECT_THAT(pages(here / "api/heddle"), AllOf(HasSubstr("ModuleOptimizer"), HasSubstr("../optim/class")));
}

TEST(ApiPages, SayWhatIsMissing) {
    const TemporaryFolder here;
    const ShellOutput failed = shell("mkdir " + quoted((here / "bin").string()) + " && cd " + quoted((here / "bin").string()) +
                                     " && for tool in bash dirname realpath; do ln -s \"$(command -v $tool)\"; done && PATH=$PWD "
                                     "bash '" HEDDLE_SOURCE_DIR "/docs/make-api.sh' 2>&1");
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.text, HasSubstr("apt-get install doxygen"));
}

}  // namespace
}  // namespace heddle
