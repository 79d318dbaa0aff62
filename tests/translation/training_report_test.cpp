// The report of a training: numbers from the log, and measured times.
#include "apps/translation/report/training.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "apps/command/commands.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/training/trainer.h"
#include "core/file.h"
#include "core/text.h"
#include "tests/markup.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Rows = std::vector<std::vector<std::string>>;

// The cells of the table whose header begins with `header`.
Rows table_of(const std::string& page, const std::string& header) {
    const std::size_t begin = page.find("<th>" + header), end = page.find("</table>", begin);
    EXPECT_NE(begin, std::string::npos) << header;
    Rows rows;
    const std::regex row("<tr>(.*)</tr>"), cell("<td[^>]*>([^<]*)</td>");
    std::istringstream lines(page.substr(begin, end - begin));
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (!std::regex_search(line, found, row)) continue;
        const std::string text = found[1];
        auto& cells = rows.emplace_back();
        for (std::sregex_iterator each(text.begin(), text.end(), cell), none; each != none; ++each) cells.push_back((*each)[1]);
    }
    return rows;
}

std::string page_of(const TrainingHistory& history, const UpdateTimes& times = {}) {
    ReportParts parts{.command = "c", .version = "v", .config = "", .machine = "m"};
    parts.times = times;
    return training_report("RUN", history, parts).html();
}

class TrainingReport : public testing::Test {
  protected:
    TrainingHistory history_of(const std::string& lines) const {
        std::ofstream(folder_ / "log.jsonl", std::ios::binary) << lines;
        return read_history(folder_ / "log.jsonl");
    }
    TemporaryFolder folder_;
};

TEST_F(TrainingReport, ReadsWhatTheLogWrote) {
    {
        TrainingLog log(folder_ / "log.jsonl", true);
        log.note("a <note>");
        log.interval({.epoch = 1, .update = 100, .loss = 2.5, .tokens_per_second = 900, .learning_rate = 1e-3});
        log.interval({.epoch = 2, .update = 200, .loss = std::nan(""), .accuracy = 0.25, .learning_rate = 2e-3});
        ValidationReport report;
        report.update = 200;
        report.loss = 2;
        report.accuracy = 0.5;
        report.samples = {{"Quelle", "source", "sauce"}};
        log.validation(report);
        report.bleu = 12.5;
        report.translated = 8;
        report.exact = 3;
        report.averaged = 3;
        log.validation(report);
    }
    std::ofstream(folder_ / "log.jsonl", std::ios::app) << "{\"kind\":\"unknown\"}\n{\"kind\":\"trai";
    const TrainingHistory history = read_history(folder_ / "log.jsonl");
    ASSERT_EQ(history.intervals.size(), 2u);
    EXPECT_EQ(history.intervals[0].update, 100);
    EXPECT_EQ(history.intervals[0].loss, 2.5);
    EXPECT_TRUE(std::isnan(history.intervals[1].loss));
    EXPECT_EQ(history.intervals[1].learning_rate, 2e-3);
    ASSERT_EQ(history.validations.size(), 2u);
    EXPECT_FALSE(history.validations[0].bleu.has_value());
    EXPECT_EQ(history.validations[0].averaged, 0);
    EXPECT_EQ(history.validations[1].bleu, 12.5);
    EXPECT_EQ(history.validations[1].exact_share(), 0.375);
    EXPECT_FALSE(history.validations[0].exact_share().has_value());
    EXPECT_EQ(history.validations[1].averaged, 1);
    EXPECT_EQ(history.validations[0].samples.at(0).hypothesis, "sauce");
    EXPECT_THAT(history.notes, Contains("a <note>"));

    const std::string page =
        training_report("RUN", history, {.command = "heddle train --x '<'", .version = "1", .config = "lr = 1", .machine = "m"})
            .html();
    expect_loads_nothing(page);
    EXPECT_TRUE(markup_of(page).all("script").empty());
    for (const char* part : {"heddle train --x &#39;&lt;&#39;", "BLEU", "Accuracy", "Learning rate", "Quelle",
                             "update\u00a0200, averaged", "a &lt;note&gt;", "lr = 1", "training (1 value not finite)"})
        EXPECT_THAT(page, HasSubstr(part));
    EXPECT_EQ(table_of(page, "</th><th class=\"n\">update"),
              (Rows{{"averaged weights, kept", "200", "2.0000", "50.00 %", "12.50", "37.5 %"},
                    {"best and last validation", "200", "2.0000", "50.00 %", "", ""},
                    {"training, last log line", "200", "nan", "25.00 %", "", ""}}));
    EXPECT_EQ(markup_of(page).all("figure").size(), 5u);
}

TEST_F(TrainingReport, BeginsWithTheWeightsThatWereKept) {
    const auto validation = [](const char* kind, int update, const char* loss) {
        return fmt::format(R"({{"kind":"{}","update":{},"loss":{},"accuracy":0.5,"bleu":{}}})", kind, update, loss, update) +
               "\n";
    };
    const auto names = [&](const std::string& lines) {
        const Rows rows = table_of(page_of(history_of(lines)), "</th><th class=\"n\">update");
        std::vector<std::string> all;
        for (const std::vector<std::string>& row : rows) all.push_back(row[0] + " " + row[1]);
        return all;
    };
    const std::string first = validation("validation", 10, "2"), better = validation("validation", 20, "1.5"),
                      worse = validation("validation", 20, "2.5");
    EXPECT_THAT(names(first + better), ElementsAre("best and last validation 20")) << "the run has not ended";
    EXPECT_THAT(names(first + better + validation("average", 20, "1.75")),
                ElementsAre("best and last validation, kept 20", "averaged weights, not kept 20"));
    EXPECT_THAT(names(first + worse + validation("average", 20, "2.75")),
                ElementsAre("last validation, kept 20", "best validation 10", "averaged weights, not kept 20"));
    EXPECT_THAT(names(first + worse + validation("average", 20, "1.75")),
                ElementsAre("averaged weights, kept 20", "last validation 20", "best validation 10"));
    EXPECT_THAT(names(first + better + validation("average", 20, "null")),
                ElementsAre("averaged weights, kept 20", "best and last validation 20"))
        << "as the trainer decides";
    EXPECT_THAT(names(first + validation("average", 10, "1") + better), ElementsAre("best and last validation 20"))
        << "an average from before the run went on";
}

// With references of one word, BLEU is 0 for all translations.
TEST_F(TrainingReport, ShowsExactTranslationsAloneWhereBleuMeasuresNothing) {
    testing::internal::CaptureStderr();
    {
        TrainingLog log(folder_ / "log.jsonl");
        ValidationReport report;
        report.update = 10;
        report.bleu = 0;
        report.translated = 200;
        report.exact = 75;
        report.bleu_applies = false;
        log.validation(report);
        report.bleu = 31.4159;
        report.bleu_applies = true;
        log.validation(report);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("| exact 37.5 % of 200 sentences (greedy) |"));
    EXPECT_THAT(said, HasSubstr("| BLEU 31.42, exact 37.5 % of 200 sentences (greedy) |"));
    EXPECT_THAT(said, Not(HasSubstr("BLEU 0.00")));
    const std::string lines = read_file(folder_ / "log.jsonl");
    EXPECT_THAT(lines, HasSubstr(R"("bleu":0.0,"bleu_applies":false,"translated":200,"exact":75,"exact_share":0.375,)"));

    const std::string page = page_of(history_of(lines.substr(0, lines.find('\n') + 1)));
    EXPECT_EQ(table_of(page, "</th><th class=\"n\">update"),
              (Rows{{"best and last validation", "10", "0.0000", "0.00 %", "", "37.5 %"}}));
    EXPECT_THAT(page, HasSubstr(">Exact translations<"));
    EXPECT_THAT(page, Not(HasSubstr(">BLEU, greedy<")));
}

TEST_F(TrainingReport, NamesTheTokenizerAndChrfFirstWhereItSaysMore) {
    testing::internal::CaptureStderr();
    ValidationReport report;
    report.update = 10;
    report.bleu = 31.4159;
    report.translated = 200;
    report.exact = 75;
    report.tokenizer = Tokenizer::zh;
    {
        TrainingLog log(folder_ / "log.jsonl");
        log.validation(report);
        report.tokenizer = Tokenizer::character;
        report.chrf = 47.126;
        log.validation(report);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("| BLEU 31.42 (zh), exact 37.5 % of 200 sentences (greedy) |"));
    EXPECT_THAT(said, HasSubstr("| chrF2 47.13, BLEU 31.42 (char), exact 37.5 % of 200 sentences (greedy) |"));
    const TrainingHistory history = read_history(folder_ / "log.jsonl");
    EXPECT_EQ(history.validations.at(0).tokenizer, Tokenizer::zh);
    EXPECT_FALSE(history.validations.at(0).chrf);
    EXPECT_EQ(history.validations.at(1).tokenizer, Tokenizer::character);
    EXPECT_EQ(history.validations.at(1).chrf, 47.126);
    std::string page = page_of(history);
    EXPECT_THAT(page, AllOf(HasSubstr(">chrF2, greedy<"), HasSubstr(">chrF2</th>")));
    EXPECT_EQ(table_of(page, "</th><th class=\"n\">update"),
              (Rows{{"last validation", "10", "0.0000", "0.00 %", "47.13", "37.5 %"},
                    {"best validation", "10", "0.0000", "0.00 %", "", "37.5 %"}}))
        << "no BLEU in a column of chrF";
    page = page_of({.intervals = {}, .validations = {history.validations.front()}, .notes = {}});
    EXPECT_THAT(page, AllOf(HasSubstr(">BLEU (zh)</th>"), Not(HasSubstr("chrF2"))));
}

TEST_F(TrainingReport, ShowsTheUpdatesBehindTheLastLogLineAsAPointOfTheirOwn) {
    ReportParts parts{.command = "c", .version = "v", .config = "", .machine = "m"};
    const TrainingHistory history =
        history_of(R"({"kind":"training","update":100,"loss":2,"accuracy":0.25,"learning_rate":0.1})");
    EXPECT_THAT(training_report("RUN", history, parts).html(), Not(HasSubstr("since")));
    parts.since_last_line = IntervalReport{.update = 103, .loss = 9, .accuracy = 0.125, .learning_rate = 0.2};
    const std::string page = training_report("RUN", history, parts).html();
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, HasSubstr(">since the last log line<"));
    EXPECT_EQ(table_of(page, "</th><th class=\"n\">update"),
              (Rows{{"training, last log line", "100", "2.0000", "25.00 %", "", ""},
                    {"training, since then", "103", "9.0000", "12.50 %", "", ""}}));
}

TEST_F(TrainingReport, OfARunThatSaidNothingIsAPageAllTheSame) {
    const std::string page = page_of(history_of(""));
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, HasSubstr("no value to draw"));
    EXPECT_THAT(page, Not(HasSubstr("BLEU")));
    expect_error([&] { read_history(folder_ / "none"); }, "none");
}

TEST_F(TrainingReport, PassesOverALineThatIsNestedToHarm) {
    const std::string deep(400'000, '['), closed = deep + std::string(deep.size(), ']');
    const TrainingHistory history =
        history_of(deep + "\n{\"kind\":\"validation\",\"update\":1,\"samples\":" + closed +
                   "}\n{\"kind\":\"note\",\"text\":" + closed + "}\n{\"kind\":\"note\",\"text\":\"after it\"}\n");
    EXPECT_TRUE(history.validations.empty());
    EXPECT_EQ(history.notes, std::vector<std::string>{"after it"});
}

TEST_F(TrainingReport, ShowsManyTranslationsOfASampleAtEvenDistances) {
    std::string lines;
    for (int update = 1; update <= 200; ++update)
        lines += R"({"kind":"validation","update":)" + std::to_string(update) +
                 R"(,"loss":1,"samples":[{"source":"s","reference":"r","translation":"t)" + std::to_string(update) + "\"}]}\n";
    const std::string page = page_of(history_of(lines));
    EXPECT_THAT(page, HasSubstr(">t1<"));
    EXPECT_THAT(page, HasSubstr(">t200<"));
    EXPECT_LT(markup_of(page).all("tr").size(), 25u);
}

TEST_F(TrainingReport, TellsWhereTheTimeOfAnUpdateGoesAndChangesNoWeight) {
    const TrainingData data = copy_data(120, 10);
    nn::Transformer model(tiny_model(data, 0.2));
    TrainingLog log({}, true);
    TrainingOptions options = tiny_training();
    options.accumulate = 2;
    options.optimizer = optim::Method::adamw;
    const Trainer trainer(model, data, options, log);
    ASSERT_GE(trainer.batches_per_epoch(), 3);
    model.eval();
    const std::vector<double> before = trainer.learner().parameters().values.to_vector();
    const std::uint64_t random = generator().step_key();
    const UpdateTimes times = measure_update(model, trainer);
    EXPECT_EQ(times.batches, std::min<std::int64_t>(12, trainer.batches_per_epoch()));
    EXPECT_EQ(times.batches_per_update, 2);
    EXPECT_EQ(trainer.learner().parameters().values.to_vector(), before);
    EXPECT_EQ(generator().step_key(), random);
    EXPECT_FALSE(model.training());

    std::map<std::string, TimedWork> works;
    double sum = 0;
    for (const TimedWork& work : times.works) {
        EXPECT_TRUE(works.emplace(work.name, work).second) << work.name << " comes twice";
        EXPECT_GT(work.seconds, 0) << work.name;
        EXPECT_NEAR(work.is_op ? work.seconds : 0, work.forward + work.backward, 1e-9) << work.name;
        sum += work.seconds;
    }
    // Two batches, each with two layers of self-attention and one of cross attention; one step.
    EXPECT_EQ(works["attention"].calls, 6);
    EXPECT_EQ(works["making the batch"].calls, 2);
    for (const char* once : {"zeroing the gradients", "norm of the gradient", "step of adamw"})
        EXPECT_EQ(works[once].calls, 1) << once;
    EXPECT_NEAR(sum + times.unexplained(), times.seconds, 1e-9);
    EXPECT_GE(times.unexplained(), 0) << "no time is counted twice";
    // A busy machine may interrupt the process where no time is counted, but not every time.
    double share = times.unexplained() / times.seconds;
    for (int i = 0; i < 4; ++i) {
        const UpdateTimes again = measure_update(model, trainer);
        share = std::min(share, again.unexplained() / again.seconds);
    }
    EXPECT_LT(share, 0.1) << "and little is lost";
}

TEST_F(TrainingReport, ListsFifteenOpsAllOtherWorkAndTheRest) {
    UpdateTimes times{.seconds = 0.2, .batches_per_update = 1, .batches = 5};
    for (int i = 0; i < 17; ++i)
        times.works.push_back({.name = "op" + std::to_string(i),
                               .seconds = 0.01 - 1e-4 * i,
                               .forward = 0.004,
                               .backward = 0.006 - 1e-4 * i,
                               .calls = 2,
                               .is_op = true});
    times.works.push_back({.name = "step of adam", .seconds = 1e-3, .calls = 1});
    const std::string page = page_of(history_of(R"({"kind":"training","update":1,"loading_seconds":0.001,"step_seconds":0.9}
{"kind":"training","update":2,"loading_seconds":0.002,"step_seconds":0.098}
{"kind":"training","update":3,"loading_seconds":0.003,"step_seconds":0.047}
)"),
                                     times);
    EXPECT_EQ(markup_of(page).error, "");
    const Rows rows = table_of(page, "op or other work");
    ASSERT_EQ(rows.size(), 15u + 4u);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"op0", "5.0", "10.00", "4.00", "6.00", "2"}));
    EXPECT_EQ(rows[15], (std::vector<std::string>{"step of adam", "0.5", "1.00", "", "", "1"}));
    EXPECT_EQ(rows[16][0], "2 other ops");
    EXPECT_EQ(rows[16][2], "16.90");
    EXPECT_EQ(rows[17][0], "unexplained");
    EXPECT_EQ(rows[18], (std::vector<std::string>{"an update", "100.0", "200.00", "", "", ""}));
    double percent = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) percent += std::stod(rows[i][1]);
    EXPECT_NEAR(percent, 100, 0.05 * 18);
    EXPECT_THAT(page, HasSubstr("an update took 100.00 ms, 2.00 of them waiting for its batches (median of the log lines)"));
}

TEST_F(TrainingReport, TellsHowMuchTravelledDuringBackward) {
    UpdateTimes times{.seconds = 0.2, .batches = 5, .shards = 4};
    EXPECT_THAT(page_of({}, times), Not(HasSubstr("during backward")));
    times.exchange = {.updates = 200,
                      .gradients = {.sent = 880'000'000, .received = 440'000'000, .waited = 0.5},
                      .sent_early = 660'000'000,
                      .received_early = 110'000'000,
                      .norm = {.sent = 20'000, .received = 20'000, .waited = 0.002},
                      .weights = {.sent = 440'000'000, .received = 880'000'000, .waited = 0.25}};
    const std::string page = page_of({}, times);
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_EQ(table_of(page, "exchange"), (Rows{{"sums of gradients", "4.400", "3.300", "2.200", "0.550", "2.50"},
                                                {"losses and norm", "0.000", "", "0.000", "", "0.01"},
                                                {"weights", "2.200", "", "4.400", "", "1.25"}}));
    EXPECT_THAT(page, HasSubstr("the mean of the 200 updates"));
    EXPECT_THAT(page, Not(HasSubstr("between devices")));
    EXPECT_THAT(page, HasSubstr("During backward: what began to be sent, and what had arrived, before its last"));
    times.exchange.between_devices = "NCCL 2.28.3";
    const std::string devices = page_of({}, times);
    EXPECT_THAT(devices, HasSubstr(" Bytes travelled between devices by NCCL 2.28.3.</p>"));
    EXPECT_THAT(devices, HasSubstr("During backward: what the device had sent and received before its last"));
}

TEST_F(TrainingReport, SaysWhatIsMissing) {
    ReportParts parts{.command = "c", .version = "v", .config = "", .machine = "m", .ended = "diverged in update 7: <why>"};
    parts.remarks = {"Without attention: <why>"};
    const std::string page = training_report("RUN", {}, parts).html();
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, HasSubstr("Without attention: &lt;why&gt;"));
    EXPECT_THAT(page, HasSubstr("<p>Diverged in update 7: &lt;why&gt;.</p>"));
}

TEST(TerminalText, HasNothingThatATerminalObeys) {
    EXPECT_EQ(terminal_text("Gr\u00fc\u00dfe, \u0645\u0631\u062d\u0628\u0627 \U0001F468\u200D\U0001F469\tx\ny"),
              "Gr\u00fc\u00dfe, \u0645\u0631\u062d\u0628\u0627 \U0001F468\u200D\U0001F469\tx\ny");
    EXPECT_EQ(terminal_text("\x1b]0;title\x07 \x1b[2J\r\b\x7f"), "\\x1b]0;title\\x07 \\x1b[2J\\x0d\\x08\\x7f");
    EXPECT_EQ(terminal_text(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(terminal_text("\u0085\u009b31m"), "\\u0085\\u009b31m");
    EXPECT_EQ(terminal_text("\x9b"
                            "31m \xff"),
              "\\x9b31m \\xff");
    EXPECT_EQ(terminal_text("\u202etxt.exe\u2066"), "\\u202etxt.exe\\u2066");
    EXPECT_EQ(terminal_text("\u061ca\u200eb\u200fc"), "\\u061ca\\u200eb\\u200fc");
    // Invisible characters are shown by number; those that shape letters and emoji are part of them.
    EXPECT_EQ(terminal_text("'\u200b' \u00ad\ufe0f \ufeff\u2060"), "'\\u200b' \\u00ad\\ufe0f \\ufeff\\u2060");
    const std::string shaped = "\u0645\u06cc\u200c\u062e\u0648 \u2764\ufe0f\u200d\U0001F525";
    EXPECT_EQ(terminal_text(shaped), shaped);
    testing::internal::CaptureStderr();
    say("\x1b[31mred");
    EXPECT_EQ(guarded([]() -> int { throw Error("no \x1b[31m" + std::string(1 << 20, 'a')); }), 1);
    TrainingLog().note("\x1b[31mred");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, "\\x1b[31mred\nheddle: no \\x1b[31m" + std::string(4000 - 8, 'a') + "...\n\\x1b[31mred\n");
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadItOtherwise) {
    EXPECT_EQ(shell_word("--lr"), "--lr");
    EXPECT_EQ(shell_word("corpus/train.de-1=2"), "corpus/train.de-1=2");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("two words"), "'two words'");
    EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
    EXPECT_EQ(shell_word("*"), "'*'");
}

}  // namespace
}  // namespace heddle::app
