// The page that a training leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/markup.h"
#include "tests/program_process.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const std::string tiny =
    " --layers 1 --d-model 32 --heads 2 --d-ff 64 --threads 2 --log-every 5 --valid-every 10 --valid-sentences 10 --schedule "
    "constant";

TEST(ProgramReport, ShowsTheWholeOfARunThatWasResumed) {
    const Workplace here;
    const ProgramResult first = here.run("train --task copy --out 'my RUN' --updates 20" + tiny);
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("wrote my RUN/report.html in "));
    const std::string before = here.read("my RUN/report.html");
    EXPECT_EQ(markup_of(before).error, "");
    EXPECT_THAT(before, AllOf(HasSubstr("heddle train --task copy --out &#39;my RUN&#39; --updates 20"), HasSubstr("<p>heddle "),
                              HasSubstr("d-model = 32"), HasSubstr(">Loss<"), HasSubstr(">Accuracy<"), HasSubstr(">BLEU<"),
                              HasSubstr(">Learning rate<"), HasSubstr("Samples over time"), HasSubstr("update 10<"),
                              HasSubstr("encoder, layer 1, head 2"), HasSubstr("cross, layer 1, head 1"),
                              HasSubstr("<td>attention</td>"), HasSubstr("<td>linear_cross_entropy</td>")));
    EXPECT_THAT(before, Not(HasSubstr("Without")));

    const ProgramResult second = here.run("train --resume 'my RUN' --updates 40");
    ASSERT_EQ(second.status, 0) << second.err;
    const std::string after = here.read("my RUN/report.html");
    EXPECT_EQ(markup_of(after).error, "");
    EXPECT_THAT(after, AllOf(HasSubstr("heddle train --resume &#39;my RUN&#39; --updates 40"), HasSubstr("update 10<"),
                             HasSubstr("update 40<"), HasSubstr("goes on from update 20")));
    // Nothing of the report comes into the run itself.
    EXPECT_EQ(here.run("train --task copy --out ./whole/ --updates 40" + tiny).status, 0);
    EXPECT_THAT(here.read("whole/report.html"), HasSubstr(">Training of whole<"));
    EXPECT_TRUE(here.read("my RUN/model.safetensors") == here.read("whole/model.safetensors"));
}

TEST(ProgramReport, IsWrittenWhenASignalStopsTheRun) {
    const Workplace here;
    RunningProgram program(here, {"train",    "--task",    "copy",    "--out",       "RUN",       "--updates",    "100000",
                                  "--layers", "1",         "--heads", "2",           "--d-model", "32",           "--d-ff",
                                  "64",       "--threads", "1",       "--log-every", "5",         "--save-every", "100000"});
    for (int i = 0; i < 4000 && here.read("log").find("update      5") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
    program.send(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM) << here.read("log");
    EXPECT_THAT(here.read("log"), AllOf(HasSubstr("wrote RUN/report.html"), HasSubstr("stopped by SIGTERM")));
    const std::string page = here.read("RUN/report.html");
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, AllOf(HasSubstr(">Loss<"), HasSubstr("cross, layer 1, head 1"), HasSubstr("<td>attention</td>")));
}

TEST(ProgramReport, ThatCannotBeWrittenIsSaidAndLosesNoRun) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --updates 5" + tiny).status, 0);
    std::filesystem::remove(here.path("RUN/report.html"));
    std::filesystem::create_directories(here.path("RUN/report.html/in the way"));
    const ProgramResult result = here.run("train --resume RUN --updates 10");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("no report: "), HasSubstr("translate with: ")));
}

}  // namespace
}  // namespace heddle
