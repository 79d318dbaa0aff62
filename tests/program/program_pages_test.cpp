// Files generated from the program's own --help: the page of all options, the manual page, bash completion.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/options/suggestion.h"
#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string maker = "bash '" HEDDLE_SOURCE_DIR "/docs/make-command-line.sh' ";

// The page of all options, which the site shows.
std::string all_options() {
    const ShellOutput made = shell(maker + "'" HEDDLE_PROGRAM "'");
    EXPECT_EQ(made.status, 0);
    EXPECT_THAT(made.text, HasSubstr("\n## heddle bench ops\n"));
    return made.text;
}

// What other toolkits call an option is offered as one of ours: it must be there.
TEST(DidYouMean, OffersForOtherNamesOnlyOptionsThatThereAre) {
    const std::string all = all_options();
    for (const auto& [theirs, ours] : app::other_names())
        EXPECT_THAT(all, HasSubstr(fmt::format("\n  --{} ", ours))) << "offered for --" << theirs;
}

// In each row of the table of options the last cell is Heddle's.
TEST(ComingFromPage, NamesOptionsThatThereAre) {
    const std::string all = all_options();
    std::istringstream page(project_file("docs/coming-from.md"));
    int options = 0;
    for (std::string line; std::getline(page, line);) {
        if (!line.starts_with("| ")) continue;
        const std::size_t cell = line.rfind('|', line.size() - 2);
        for (std::size_t at = line.find("--", cell); at < line.size(); at = line.find("--", at + 2), ++options) {
            const std::string option = line.substr(at, line.find_first_of(" `", at) - at);
            EXPECT_THAT(all, HasSubstr("\n  " + option + " ")) << line;
        }
    }
    EXPECT_GT(options, 40);
}

TEST(ManualPage, IsWellFormed) {
    const TemporaryFolder folder;
    const std::string page = quoted((folder / "heddle.1").string());
    ASSERT_EQ(shell(maker + "--man '" HEDDLE_PROGRAM "' > " + page).status, 0);
    EXPECT_THAT(shell("cat " + page).text, HasSubstr("\n.SH HEDDLE BENCH OPS\n"));
    if (!has_program("groff")) GTEST_SKIP() << "groff is missing: the manual page was not formatted";
    EXPECT_EQ(shell("groff -man -ww -z " + page + " 2>&1").text, "") << "warnings";
    EXPECT_THAT(shell("groff -man -Tascii -P-c " + page).text, HasSubstr("--length-penalty X  "));
}

// The completions that bash offers for a line that ends with `words`.
std::string offered(const std::string& words) {
    return shell("bash -c 'PATH=$(dirname \"" HEDDLE_PROGRAM "\"):$PATH; source \"" HEDDLE_SOURCE_DIR
                 "/apps/completion.bash\"; COMP_WORDS=(" +
                 words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _heddle; echo \"${COMPREPLY[*]}\"'")
        .text;
}

TEST(Completion, OffersCommandsOptionsAndValues) {
    EXPECT_EQ(offered("heddle t"), "train translate\n");
    EXPECT_EQ(offered("heddle bench \"\""), "train ops ladder\n");
    EXPECT_EQ(offered("heddle h"), "help\n");
    EXPECT_EQ(offered("heddle help t"), "train translate\n");
    EXPECT_EQ(offered("heddle help bench \"\""), "train ops ladder\n");
    EXPECT_EQ(offered("heddle bench train --sk"), "--skip\n");
    EXPECT_EQ(offered("heddle translate --model RUN --be"), "--beam --beam-patience\n");
    EXPECT_EQ(offered("heddle train --norm \"\""), "pre post\n");
    EXPECT_EQ(offered("heddle train --norm = po"), "post\n") << "--norm=po is three words of bash";
    EXPECT_EQ(offered("heddle train --norm ="), "pre post\n");
    EXPECT_EQ(offered("heddle train --shared-vocab f"), "false\n");
    EXPECT_EQ(offered("heddle train --overwrite --vocab-m"), "--vocab-model\n") << "a switch needs no value";
    EXPECT_EQ(offered("heddle train --config /et"), "/etc\n");
    EXPECT_EQ(offered("heddle train --lr \"\""), "\n") << "any number";
    EXPECT_EQ(offered("heddle lab ti"), "tiny-mask\n");
    EXPECT_THAT(offered("heddle lab \"\""), StartsWith("list all split-heads "));
    EXPECT_EQ(offered("heddle lab tiny-mask --se"), "--seed\n");
    EXPECT_EQ(offered("heddle data m"), "multi30k\n");
    EXPECT_EQ(offered("heddle lab pap"), "paper\n");
    EXPECT_EQ(offered("heddle gradcheck softm"), "softmax\n");
    EXPECT_EQ(offered("heddle gradcheck --op softm"), "softmax\n");
    EXPECT_EQ(offered("heddle summary pap"), "paper\n") << "a preset, or a folder";
    EXPECT_EQ(offered("heddle summary /et"), "/etc\n");
    EXPECT_EQ(offered("heddle nothing --"), "\n");
    EXPECT_EQ(offered("heddle --v"), "--version\n");
}

TEST(Completion, OffersPathsWhereOneMayStand) {
    EXPECT_EQ(offered("heddle translate --model /et"), "/etc\n");
    EXPECT_EQ(offered("heddle translate --model RUN /et"), "/etc\n") << "any number of runs";
    EXPECT_EQ(offered("heddle translate --model RUN --be"), "--beam --beam-patience\n");
    EXPECT_EQ(offered("heddle evaluate --compare one /et"), "/etc\n") << "two files";
    EXPECT_EQ(offered("heddle evaluate --compare one two --ref"), "--reference\n");
    EXPECT_EQ(offered("heddle evaluate --compare one two /et"), "\n");
    EXPECT_EQ(offered("heddle average /et"), "/etc\n") << "the run is the first word";
    EXPECT_EQ(offered("heddle average runs --la"), "--last\n");
    EXPECT_EQ(offered("heddle data multi30k --out /et"), "/etc\n") << "a folder";
    EXPECT_EQ(offered("heddle translate /et"), "/etc\n");
}

TEST(Completion, FindsAProgramBelowTheTilde) {
    const TemporaryFolder home;
    std::filesystem::create_symlink(HEDDLE_PROGRAM, home / "heddle");
    EXPECT_EQ(shell("HOME=" + quoted(home.path().string()) +
                    " bash -c 'source \"" HEDDLE_SOURCE_DIR
                    "/apps/completion.bash\"; COMP_WORDS=(\\~/heddle tr); COMP_CWORD=1; _heddle; echo \"${COMPREPLY[*]}\"'")
                  .text,
              "train translate\n");
}

TEST(Completion, KnowsEveryOptionOfEveryCommand) {
    for (const std::string& command : every_command()) {
        std::istringstream help(shell("'" HEDDLE_PROGRAM "' " + command + " --help").text);
        std::string wanted;
        for (std::string line; std::getline(help, line);)
            if (line.starts_with("  --"))
                wanted += (wanted.empty() ? "" : " ") + line.substr(2, line.find_first_of(" \n", 2) - 2);
        EXPECT_EQ(offered("heddle " + command + " --"), wanted + "\n");
    }
}

}  // namespace
}  // namespace heddle
