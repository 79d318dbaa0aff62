// heddle data run as a program; tests/command/corpora_test.cpp tests the made-up corpora.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/corpora/child.h"
#include "apps/corpora/corpora.h"
#include "tests/program.h"

namespace heddle::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DataCommand, ListsAndRefuses) {
    const Workplace here;
    const ProgramResult listed = here.run("data list");
    EXPECT_EQ(listed.status, 0);
    EXPECT_EQ(listed.err, "");
    EXPECT_EQ(here.run("data").out, listed.out);
    EXPECT_THAT(here.run("help data").out, HasSubstr("test.* [corpus]")) << "the first hour's commands read them there";
    for (const CorpusSet& set : corpus_sets())
        for (const std::string_view part : {set.name, set.holds, set.licence, set.source, set.steps})
            EXPECT_THAT(listed.out, HasSubstr(part));
    expect_complaint(here.run("data multi20k"), 2, "there is no corpus 'multi20k'; did you mean multi30k? see heddle data list");
    expect_complaint(here.run("data --out corpus"), 2, "--out needs a corpus name: heddle data NAME --out FOLDER");
    expect_complaint(here.run("data iwslt2016-de-en"), 1, "download 2016-01.tgz");
}

TEST(DataCommand, RefusesOtherCaptions) {
    const Workplace here;
    std::filesystem::create_directory(here.path("stick"));
    here.write("stick/train.de", "Ein Hund.\n");
    const ProgramResult result = here.run("data multi30k --from stick --out 'a b'");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("licence: "), HasSubstr("stick/train.de is not"), HasSubstr(sha256("Ein Hund.\n")),
                                  HasSubstr(corpus_sets()[0].files[0].sha256)));
    EXPECT_TRUE(std::filesystem::is_empty(here.path("a b")));
    expect_complaint(here.run("data multi30k --from nowhere --out new"), 1, "--from nowhere: there is no such folder");
    EXPECT_FALSE(here.exists("new"));
}

}  // namespace
}  // namespace heddle::app
