// The report of a training: what the log said, and what was measured.
#include "apps/translation/training_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "apps/output.h"
#include "apps/translation/trainer.h"
#include "tests/markup.h"
#include "tests/support.h"
#include "tests/training_support.h"

namespace heddle::app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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
        log.interval({.epoch = 2, .update = 200, .loss = std::nan(""), .learning_rate = 2e-3});
        ValidationReport report;
        report.update = 200;
        report.loss = 2;
        report.accuracy = 0.5;
        report.samples = {{"Quelle", "source", "sauce"}};
        log.validation(report);
        report.bleu = 12.5;
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
    EXPECT_EQ(history.validations[1].averaged, 1);
    EXPECT_EQ(history.validations[0].samples.at(0).hypothesis, "sauce");
    EXPECT_THAT(history.notes, Contains("a <note>"));

    const std::string page =
        training_report("RUN", history, {.command = "heddle train --x '<'", .version = "1", .config = "lr = 1", .machine = "m"})
            .html();
    EXPECT_EQ(markup_of(page).error, "");
    for (const char* part : {"heddle train --x &#39;&lt;&#39;", "BLEU", "Accuracy", "Learning rate", "Quelle",
                             "update 200, averaged", "a &lt;note&gt;", "lr = 1", "training (1 value not finite)"})
        EXPECT_THAT(page, HasSubstr(part));
    EXPECT_EQ(markup_of(page).all("figure").size(), 4u);
}

TEST_F(TrainingReport, OfARunThatSaidNothingIsAPageAllTheSame) {
    const std::string page =
        training_report("RUN", history_of(""), {.command = "c", .version = "v", .config = "", .machine = "m"}).html();
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, HasSubstr("no value to draw"));
    EXPECT_THAT(page, Not(HasSubstr("BLEU")));
    expect_error([&] { read_history(folder_ / "none"); }, "none");
}

TEST_F(TrainingReport, ShowsManyTranslationsOfASampleAtEvenDistances) {
    std::string lines;
    for (int update = 1; update <= 200; ++update)
        lines += R"({"kind":"validation","update":)" + std::to_string(update) +
                 R"(,"loss":1,"samples":[{"source":"s","reference":"r","translation":"t)" + std::to_string(update) + "\"}]}\n";
    const std::string page =
        training_report("RUN", history_of(lines), {.command = "c", .version = "v", .config = "", .machine = "m"}).html();
    EXPECT_THAT(page, HasSubstr(">t1<"));
    EXPECT_THAT(page, HasSubstr(">t200<"));
    EXPECT_LT(markup_of(page).all("tr").size(), 25u);
}

TEST_F(TrainingReport, MeasuresTheOpsOfItsBatchesAndChangesNoWeight) {
    const TrainingData data = copy_data(120, 10);
    nn::Transformer model(tiny_model(data, 0.2));
    TrainingLog log({}, true);
    const TrainingOptions options = tiny_training();
    Trainer trainer(model, data, options, log);
    const std::vector<Batch> batches = trainer.some_batches(2);
    ASSERT_EQ(batches.size(), 2u);
    model.eval();
    const std::vector<double> before = trainer.learner().parameters().values.to_vector();
    const std::uint64_t random = generator().step_key();
    const OpMeasurement measured = measure_ops(model, batches, 0.1);
    EXPECT_EQ(measured.batches, 2);
    EXPECT_EQ(trainer.learner().parameters().values.to_vector(), before);
    EXPECT_EQ(generator().step_key(), random);
    EXPECT_FALSE(model.training());
    std::vector<std::string> names;
    double sum = 0;
    for (const OpTime& each : measured.ops) {
        names.push_back(each.op);
        sum += each.total();
    }
    EXPECT_THAT(names, Contains("attention"));
    EXPECT_GT(sum, 0);
    EXPECT_NEAR(sum, measured.seconds, 1e-9);
    ReportParts parts{.command = "c", .version = "v", .config = "", .machine = "m", .ops = measured};
    parts.remarks = {"Without attention: <why>"};
    const std::string page = training_report("RUN", {}, parts).html();
    EXPECT_EQ(markup_of(page).error, "");
    EXPECT_THAT(page, HasSubstr("<td>attention</td>"));
    EXPECT_THAT(page, HasSubstr("&lt;why&gt;"));
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
