#include "apps/translation/training/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <string>

#include "apps/command/run.h"
#include "apps/translation/training/history.h"
#include "apps/translation/training/plan.h"
#include "core/error.h"
#include "tests/documents.h"
#include "tests/numbers.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

// Weights after a few updates of a model with dropout.
std::vector<float> trained_weights(const TrainingData& data, std::uint64_t seed) {
    TrainingOptions options = tiny_training();
    options.updates = 12;
    options.seed = seed;
    nn::Transformer model(tiny_model(data, 0.2), seed);
    TrainingLog log({}, true);
    Trainer trainer(model, data, options, log);
    trainer.run();
    return weights_of(trainer.learner());
}

// Trains a tiny model on this data without output.
TrainingResult trained(const TrainingData& data, const TrainingOptions& options) {
    nn::Transformer model(tiny_model(data));
    TrainingLog log({}, true);
    return Trainer(model, data, options, log).run();
}

TEST(Trainer, TeachesATinyModelToCopy) {
    const WithThreads alone(1);  // waking a second thread would cost more than it computes
    const TrainingData data = copy_data(800, 100);
    TrainingOptions options = tiny_training();
    options.epochs = 15;
    nn::Transformer model(tiny_model(data));
    TrainingLog log({}, true);
    const TrainingResult result = Trainer(model, data, options, log).run();
    EXPECT_EQ(result.epochs, 15);
    EXPECT_EQ(result.ended_by, EndReason::epochs);
    EXPECT_EQ(result.limit, "15 epochs");
    ASSERT_TRUE(result.result);
    EXPECT_GT(result.result->accuracy, 0.97);
    EXPECT_LT(result.result->perplexity, 1.2);
    EXPECT_FALSE(model.training());
}

TEST(Trainer, GivesTheSameBitsForTheSameSeedAndAnyNumberOfThreads) {
    const TrainingData data = copy_data(200);
    const std::vector<float> once = trained_weights(data, 3);
    for (const int count : {1, 2, 3}) {
        const WithThreads on(count);
        EXPECT_EQ(trained_weights(data, 3), once) << count << " threads";
    }
    EXPECT_NE(trained_weights(data, 4), once);
}

// The losses and accuracies in TensorBoard's events and in all_scalars.json.
std::vector<std::pair<std::int64_t, float>> curve_points(std::int64_t log_every, std::int64_t events_every) {
    const TrainingData data = copy_data(300);
    TrainingOptions options = tiny_training();
    options.updates = 24;
    options.log_every = log_every;
    options.events_every = events_every;
    nn::Transformer model(tiny_model(data));
    const TemporaryFolder folder;
    TrainingLog log(folder / "log.jsonl", true);
    Trainer(model, data, options, log).run();
    std::vector<std::pair<std::int64_t, float>> points;
    for (const ReadScalar& scalar : read_scalars(folder / event_file_name))
        if (scalar.tag == "train/loss" || scalar.tag == "train/accuracy") points.emplace_back(scalar.step, scalar.value);
    return points;
}

TEST(Trainer, GivesTensorBoardEveryUpdateHoweverOftenLogLinesCome) {
    const auto points = curve_points(8, 8);
    ASSERT_EQ(points.size(), 2u * 3);
    for (const std::int64_t log_every : {1, 5, 24, 100}) EXPECT_EQ(curve_points(log_every, 8), points) << log_every;
}

TEST(Trainer, EndsAtTheLimitThatComesFirst) {
    const TrainingData data = copy_data(300, 20);
    TrainingOptions options = tiny_training();
    options.updates = 3;
    TrainingResult result = trained(data, options);
    EXPECT_EQ(result.updates, 3);
    EXPECT_EQ(result.epochs, 1);
    EXPECT_TRUE(result.result) << "the end of training is validated";

    options = tiny_training();
    options.lr = 0;  // nothing ever improves
    options.epochs = 50;
    options.patience = 2;
    result = trained(data, options);
    EXPECT_EQ(result.epochs, 3) << "the first validation is the best, two more are not better";
    EXPECT_EQ(result.ended_by, EndReason::patience);
    EXPECT_THAT(result.limit, HasSubstr("2 validations"));

    options = tiny_training();
    options.minutes = 0.01;
    result = trained(data, options);
    EXPECT_GE(result.seconds, 0.6);
    EXPECT_LT(result.seconds, 6);
    EXPECT_EQ(result.ended_by, EndReason::minutes);
    EXPECT_EQ(result.limit, "0.01 minutes");
}

// More epochs than updates can be counted for: the cosine schedule never leaves its peak.
TEST(Trainer, PlansMoreEpochsThanItCanCountUpdates) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    const TrainingData data = copy_data(100, 20);
    for (const std::int64_t accumulate : {std::int64_t{1}, most}) {
        TrainingOptions options = tiny_training();
        options.epochs = most;
        options.accumulate = accumulate;
        options.schedule = optim::ScheduleKind::cosine;
        options.warmup = 0;
        options.minutes = 1e-6;
        options.log_every = 1;
        nn::Transformer model(tiny_model(data));
        const TemporaryFolder folder;
        TrainingLog log(folder / "log.jsonl", true);
        Trainer trainer(model, data, options, log);
        ASSERT_GT(trainer.batches_per_epoch(), 1);
        EXPECT_EQ(trainer.run().updates, 1);
        EXPECT_EQ(read_history(folder / "log.jsonl").intervals.at(0).learning_rate, *options.lr);
    }
}

TEST(TrainingResult, SaysOnceHowManyUpdatesThereWere) {
    TrainingResult result;
    result.updates = 2000;
    result.ended_by = EndReason::updates;
    result.limit = "2000 updates";
    EXPECT_THAT(how_it_ended(result), testing::StartsWith("ended after 2000 updates in "));
    result.ended_by = EndReason::epochs;
    result.limit = "3 epochs";
    EXPECT_THAT(how_it_ended(result), testing::StartsWith("ended after 3 epochs: 2,000 updates in "));
    result.skipped = 2;
    EXPECT_THAT(how_it_ended(result), testing::StartsWith("ended after 3 epochs: 2,000 updates, 2 skipped in "));
    result.nothing_to_train = "the run is already at epoch 3";
    EXPECT_EQ(how_it_ended(result), "nothing to train: the run is already at epoch 3");
}

// A training's output when stderr is not a terminal, and its result.
struct Said {
    std::string text;
    std::size_t log_lines = 0;
    std::vector<float> weights;
};

Said said_when_silence_lasts(std::chrono::steady_clock::duration longest, LogStyle style = LogStyle::update) {
    const TrainingData data = copy_data(200);
    TrainingOptions options = tiny_training();
    options.updates = 12;
    options.log_every = 5;
    nn::Transformer model(tiny_model(data));
    const TemporaryFolder folder;
    testing::internal::CaptureStderr();
    Said said;
    {
        TrainingLog log(folder / "log.jsonl", false, style, longest);
        Trainer trainer(model, data, options, log);
        trainer.run();
        said.weights = weights_of(trainer.learner());
    }
    said.text = testing::internal::GetCapturedStderr();
    said.log_lines = read_history(folder / "log.jsonl").intervals.size();
    return said;
}

TEST(Trainer, BreaksALongSilenceWhereNobodySeesItsProgress) {
    using namespace std::chrono_literals;
    const Said quiet = said_when_silence_lasts(1h), talking = said_when_silence_lasts(0s);
    for (const char* update : {"| update      4 |", "| update     12 |"}) {
        EXPECT_THAT(quiet.text, testing::Not(HasSubstr(update)));
        EXPECT_THAT(talking.text, HasSubstr(update));
    }
    EXPECT_THAT(quiet.text, HasSubstr("| update      5 |"));
    EXPECT_THAT(said_when_silence_lasts(0s, LogStyle::batch).text, testing::ContainsRegex("epoch 1, batch 4/[0-9]+, loss "));
    EXPECT_EQ(talking.log_lines, quiet.log_lines) << "the file has the lines of --log-every alone";
    EXPECT_EQ(quiet.log_lines, 2u);
    EXPECT_EQ(talking.weights, quiet.weights);
}

std::string said_by(const TrainingOptions& options) {
    const TrainingData data = copy_data(200);
    nn::Transformer model(tiny_model(data));
    const TemporaryFolder folder;
    TrainingLog log(folder / "log.jsonl");
    Trainer trainer(model, data, options, log);
    testing::internal::CaptureStderr();
    trainer.run();
    return testing::internal::GetCapturedStderr();
}

TEST(Trainer, SaysThatTheRateDoesNotReachItsPeak) {
    TrainingOptions options = tiny_training();  // which has a warm-up of 30 updates
    options.updates = 12;
    const std::string note =
        "the learning rate rises to 40 % of its peak only: 12 of 30 updates of warm-up; train longer, or lower --warmup, to 1 "
        "for "
        "example\n";
    const std::string planned = said_by(options);
    EXPECT_THAT(planned, HasSubstr(note));
    EXPECT_LT(planned.find(note), planned.find("training ended")) << "before the time is spent";
    EXPECT_EQ(planned.find(note, planned.find(note) + 1), std::string::npos) << "once";
    for (const auto kind : {optim::ScheduleKind::constant, optim::ScheduleKind::cosine, optim::ScheduleKind::noam}) {
        options.schedule = kind;
        EXPECT_EQ(said_by(options).find("of its peak") != std::string::npos, kind == optim::ScheduleKind::noam)
            << "a constant rate does not rise, and a short cosine has its own warm-up";
    }
    options = tiny_training();
    options.updates = options.warmup = 12;
    EXPECT_THAT(said_by(options), testing::Not(HasSubstr("of its peak")));

    // If the end is not known before, the log states it at the end.
    options = tiny_training();
    options.minutes = 1e-6;
    const std::string late = said_by(options);
    EXPECT_THAT(late, HasSubstr("rises to 3.3 % of its peak only: 1 of 30 updates"));
    EXPECT_GT(late.find("of its peak"), late.find("training ended"));
}

TEST(Trainer, SaysThatNoUpdateWasMade) {
    TrainingOptions options = tiny_training();
    options.minutes = 0;
    EXPECT_THAT(said_by(options),
                testing::ContainsRegex("training ended after 0 minutes: 0 updates in .*\nno update was made: the "
                                       "weights are those that the run began with; train longer\n"));
}

TEST(WeightAverage, IsTheMeanOfTheLastSnapshots) {
    WeightAverage average(2);
    Tensor weights = Tensor::empty({3}, DType::f32);
    for (const float value : {1.0f, 2.0f, 5.0f}) {
        weights.fill_(value);
        average.add(weights);
    }
    EXPECT_EQ(average.size(), 2);
    EXPECT_EQ(average.mean().to_vector(), (std::vector<double>{3.5, 3.5, 3.5}));
    EXPECT_THROW(WeightAverage(0), Error);
    EXPECT_THROW(WeightAverage(1).mean(), Error);
}

// Learned positions are limited to the rows of their table: longer sentences are left out of training and validation.
TEST(Trainer, LeavesOutWhatLearnedPositionsCannotNumber) {
    const TrainingData data = copy_data(200, 20);
    nn::TransformerOptions narrow = tiny_model(data);
    narrow.positions = nn::Positions::learned;
    narrow.position_table = 4;  // three letters and the end mark
    TrainingOptions options = tiny_training();
    options.updates = 3;
    options.max_length = 0;
    nn::Transformer model(narrow);
    TrainingLog log({}, true);
    EXPECT_EQ(Trainer(model, data, options, log).run().updates, 3);

    narrow.position_table = 2;
    nn::Transformer hopeless(narrow);
    EXPECT_THROW(Trainer(hopeless, data, options, log), Error);
}

TEST(PlanNotes, WarnWhereALimitLeavesOutMoreThanATenth) {
    const PlanCounts counts{.sentences = 85, .empty = 4, .too_long = 10, .too_wide = 12};
    TrainingOptions options;
    options.batch_tokens = 300;
    const std::vector<std::string> notes = plan_notes(counts, 7, options, {});
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_EQ(notes[0], "training: 85 pairs, 7 batches of up to 300 tokens an epoch (22 pairs too long, 4 empty are left out)");
    EXPECT_EQ(notes[1], "warning: 12 of 111 pairs are longer than a batch of --batch-tokens 300, and are not trained on");
    // The message names the limit in effect.
    const PlanCounts long_ones{.sentences = 1, .too_long = 3};
    options.max_length = 20;
    const auto warning = [&](std::optional<std::int64_t> table) { return plan_notes(long_ones, 1, options, table).at(1); };
    EXPECT_THAT(warning({}), HasSubstr("3 of 4 pairs are longer than --max-length 20, and"));
    EXPECT_THAT(warning(30), HasSubstr("longer than --max-length 20, and"));
    EXPECT_THAT(warning(9), HasSubstr("longer than --position-table allows, 9 tokens, and are not trained on"));
    options.max_length = 0;
    options.max_words = 5;
    EXPECT_THAT(warning({}), HasSubstr("longer than --max-words 5, and"));
}

TEST(Trainer, RefusesValidationTextWithoutAUsablePairBeforeItTrains) {
    TrainingData data = copy_data(50, 5);
    for (TokenPair& pair : data.validation) pair.source.clear();
    nn::Transformer model(tiny_model(data));
    TrainingLog log({}, true);
    EXPECT_THROW(Trainer(model, data, tiny_training(), log), Error);
}

TEST(TrainingData, ShrinksAVocabularyThatNobodyAskedFor) {
    Corpus text;
    for (int i = 0; i < 30; ++i) text.pairs.push_back({"eine kleine Zeile", "one short line"});
    std::string said;
    VocabularyRequest request;
    const Vocabularies both = make_vocabularies(request, text, [&](std::string_view line) { said += std::string(line) + "\n"; });
    EXPECT_TRUE(both.shared());
    EXPECT_LT(both.source->size(), default_subwords);
    EXPECT_EQ(request.size, both.source->size()) << "the configuration holds the size that came out";
    EXPECT_THAT(said, HasSubstr("too small for 6000 tokens"));
    VocabularyRequest strict;
    strict.size = default_subwords;
    EXPECT_THROW(make_vocabularies(strict, text, [](std::string_view) {}), Error);
}

// The chapter lists the files that a sentence passes on its way to the weights, up to the kernels.
TEST(Trainer, IsReachedThroughTheFilesThatTheChapterLists) {
    const std::string chapter = project_file("apps/translation/training/README.md");
    const std::size_t begin = chapter.find("\n| what happens | files |"), end = chapter.find("\n\n", begin);
    ASSERT_NE(end, std::string::npos);
    const std::string table = chapter.substr(begin, end - begin);
    const std::regex path("`([^`]+)`");
    std::set<std::string> files;
    for (auto at = std::sregex_iterator(table.begin(), table.end(), path); at != std::sregex_iterator(); ++at) {
        const std::string file = (*at)[1];
        EXPECT_TRUE(std::filesystem::is_regular_file(std::string(HEDDLE_SOURCE_DIR) + "/" + file)) << file;
        EXPECT_TRUE(files.insert(file).second) << file << " is listed twice";
    }
    EXPECT_GT(files.size(), 20u);
    EXPECT_LE(files.size(), 40u);
}

}  // namespace
}  // namespace heddle::app
