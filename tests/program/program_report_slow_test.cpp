// The report page of a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/markup.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

// The number of points in a page's first curve, the training loss.
std::int64_t points_of_loss(const std::string& page) {
    const std::vector<Element> curves = markup_of(page).all("path");
    if (curves.empty()) return 0;
    const std::string& line = curves.front().attributes.at("d");
    return 1 + std::count(line.begin(), line.end(), 'L');
}

const std::string reported_run =
    " --layers 1 --d-model 32 --heads 2 --d-ff 64 --threads 2 --log-every 5 --valid-every 10 --valid-sentences 10 --schedule "
    "constant";

TEST(ProgramReport, ShowsTheWholeOfARunThatWasResumed) {
    const Workplace here;
    const ProgramResult first = here.run("train --task copy --out 'my RUN' --updates 20" + reported_run);
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("wrote my RUN/report.html in "));
    const std::string before = here.read("my RUN/report.html");
    EXPECT_EQ(markup_of(before).error, "");
    EXPECT_THAT(before, AllOf(HasSubstr("heddle train --task copy --out &#39;my RUN&#39; --updates 20"), HasSubstr("<p>heddle "),
                              HasSubstr("d-model = 32"), HasSubstr(">Loss<"), HasSubstr(">Accuracy<"), HasSubstr(">BLEU<"),
                              HasSubstr(">Learning rate<"), HasSubstr("Samples over time"), HasSubstr("update\u00a010<"),
                              HasSubstr("\"encoder\":[[["), HasSubstr("id=\"attention\""), HasSubstr("<td>attention</td>"),
                              HasSubstr("<td>linear_cross_entropy</td>"), HasSubstr("<td>step of adam</td>"),
                              HasSubstr("<td>unexplained</td>"), HasSubstr("<p>Ended after 20 updates in ")));
    EXPECT_EQ(points_of_loss(before), 4);
    EXPECT_THAT(before, Not(HasSubstr("Without")));
    EXPECT_THAT(before, ContainsRegex("; a vocabulary of [0-9]+ tokens for both languages; "));

    const ProgramResult second = here.run("train --resume 'my RUN' --updates 40");
    ASSERT_EQ(second.status, 0) << second.err;
    const std::string after = here.read("my RUN/report.html");
    EXPECT_EQ(markup_of(after).error, "");
    EXPECT_THAT(after, AllOf(HasSubstr("heddle train --resume &#39;my RUN&#39; --updates 40"), HasSubstr("update\u00a010<"),
                             HasSubstr("update\u00a040<"), HasSubstr("goes on from update 20"),
                             HasSubstr("<p>Ended after 40 updates in ")));
    EXPECT_EQ(points_of_loss(after), 8) << "those before the resumption, too";
    // Writing the report does not change the run.
    EXPECT_EQ(here.run("train --task copy --out ./whole/ --updates 40" + reported_run).status, 0);
    EXPECT_THAT(here.read("whole/report.html"), HasSubstr(">Training of whole<"));
    EXPECT_TRUE(here.read("my RUN/model.safetensors") == here.read("whole/model.safetensors"));
}

TEST(ProgramReport, IsWrittenWhenASignalStopsTheRun) {
    const Workplace here;
    RunningProgram program(here, {"train",    "--task",    "copy",    "--out",       "RUN",       "--updates",    "100000",
                                  "--layers", "1",         "--heads", "2",           "--d-model", "32",           "--d-ff",
                                  "64",       "--threads", "1",       "--log-every", "5",         "--save-every", "100000"});
    for (int i = 0; i < 4000 && here.read("log").find("update     10") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
    program.send(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM) << here.read("log");
    const std::string log = here.read("log"), page = here.read("RUN/report.html");
    EXPECT_THAT(log, AllOf(HasSubstr("wrote RUN/report.html"), HasSubstr("stopped by SIGTERM")));
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, AllOf(HasSubstr(">Loss<"), HasSubstr("\"cross\":[[["), HasSubstr("<td>attention</td>")));
    // The page has the log's last line, as a sentence.
    const std::string stopped = log.substr(log.find("topped by SIGTERM after"));
    EXPECT_THAT(page, HasSubstr("<p>S" + stopped.substr(0, stopped.find('\n')) + ".</p>"));
    EXPECT_GE(points_of_loss(page), 2);
}

}  // namespace
}  // namespace heddle
