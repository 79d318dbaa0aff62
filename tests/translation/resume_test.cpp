// A resumed run equals the run that never stopped.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/translation/run/json.h"
#include "core/digest.h"
#include "core/file.h"
#include "tests/numbers.h"
#include "tests/support.h"
#include "tests/translation/resume_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

// The lines of log.jsonl without measured times.
std::vector<std::string> events_of(const fs::path& path) {
    std::vector<std::string> events;
    std::ifstream lines(path / "log.jsonl");
    for (std::string line; std::getline(lines, line);) {
        Json object = Json::parse(line);
        for (const char* timing : {"seconds", "tokens_per_second", "loading_seconds", "step_seconds", "eta"})
            object.erase(timing);
        if (object["kind"] != "note") events.push_back(object.dump());
    }
    return events;
}

// TensorBoard's file holds times, but these do not change its length.
std::uintmax_t length_of_events(const fs::path& path) { return fs::file_size(path / event_file_name); }

// Copies the run as it was just after this save.
void copy_back_to(const fs::path& run, std::int64_t update, const fs::path& copy) {
    fs::copy(run, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (const std::int64_t other : saved_updates(copy))
        if (other != update) fs::remove_all(save_folder(copy, other));
    fs::remove(copy / "saves" / "latest");
}

TEST(Resume, GivesTheBitsOfTheRunThatNeverStoppedFromEverySave) {
    const TrainingData data = worsening_data(40, 6);
    const TemporaryFolder here;
    const fs::path whole = here / "whole";
    const Ended reference = train_in(whole, data, eventful_training());
    ASSERT_EQ(reference.result.ended_by, EndReason::patience);
    ASSERT_GE(reference.result.epochs, 2) << "or no save is of a later epoch";
    const std::vector<std::int64_t> saves = saved_updates(whole);
    ASSERT_EQ(saves.size(), static_cast<std::size_t>(reference.result.updates));
    for (const std::int64_t update : saves) {
        const WithThreads on(1 + static_cast<int>(update % 3));
        const fs::path copy = here / ("from-" + std::to_string(update)).c_str();
        copy_back_to(whole, update, copy);
        TrainingOptions options = eventful_training();
        options.save_every = 7;
        const Ended resumed = train_in(copy, data, options);
        EXPECT_EQ(resumed.weights, reference.weights) << "from update " << update;
        EXPECT_EQ(resumed.result.ended_by, reference.result.ended_by);
        EXPECT_EQ(resumed.result.epochs, reference.result.epochs);
        EXPECT_EQ(events_of(copy), events_of(whole)) << "from update " << update;
        EXPECT_EQ(length_of_events(copy), length_of_events(whole)) << "from update " << update;
        for (const char* file : {"model.safetensors", "best.safetensors"})
            EXPECT_EQ(read_file(copy / file), read_file(whole / file)) << file << " from update " << update;
        fs::remove_all(copy);
    }
}

TEST(Resume, GoesOnAfterBeingAskedToStopAtAnyUpdate) {
    const TrainingData data = worsening_data(40, 6);
    TrainingOptions options = eventful_training();
    options.save_every = 0;  // saves at the end of each epoch, and when stopped
    const TemporaryFolder here;
    const Ended reference = train_in(here / "whole", data, options);
    const fs::path again = here / "again";
    int stops = 0;
    for (;;) {
        int asked = 0;
        const Ended part = train_in(again, data, options, [&] { return asked++ == 3; });
        if (part.result.ended_by != EndReason::stopped) {
            EXPECT_EQ(part.weights, reference.weights);
            break;
        }
        EXPECT_FALSE(latest_save(again).empty());
        ++stops;
    }
    EXPECT_GT(stops, 4);
    EXPECT_EQ(events_of(again), events_of(here / "whole"));
}

TEST(Resume, HoldsForEveryOptimizerAndSchedule) {
    const TrainingData data = copy_data(40, 6);
    const TemporaryFolder here;
    for (const optim::Method optimizer : {optim::Method::adam, optim::Method::adamw, optim::Method::sgd}) {
        for (const optim::ScheduleKind schedule : {optim::ScheduleKind::cosine, optim::ScheduleKind::constant}) {
            TrainingOptions options = eventful_training();
            options.optimizer = optimizer;
            options.schedule = schedule;
            options.weight_decay = 0.01;
            options.epochs.reset();
            options.updates = 8;
            options.save_every = 5;
            const std::string name = fmt::format("{}{}", word_of(optimizer), word_of(schedule));
            const Ended whole = train_in(here / name.c_str(), data, options);
            copy_back_to(here / name.c_str(), 5, here / (name + "5").c_str());
            EXPECT_EQ(train_in(here / (name + "5").c_str(), data, options).weights, whole.weights) << name;
        }
    }
}

// A longer run does not have the validation at the end of a shorter one. Once more with nothing to train, a run stays as it is.
TEST(Resume, WithALargerLimitIsTheLongerRun) {
    const TrainingData data = copy_data(40, 6);
    for (const bool by_updates : {false, true}) {
        TrainingOptions options = training_of_updates(17);  // validations are at 6 and 9
        options.save_every = by_updates ? 5 : 0;
        auto& limit = by_updates ? options.updates : options.epochs;
        if (!by_updates) {
            options.updates.reset();
            options.valid_every = 0;
            options.epochs = 5;
        }
        const TemporaryFolder here;
        const Ended longer = train_in(here / "longer", data, options);
        const auto whole = std::exchange(limit, by_updates ? 8 : 2);
        train_in(here / "run", data, options);
        limit = whole;
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(train_in(here / "run", data, options).weights, longer.weights) << by_updates;
            EXPECT_EQ(events_of(here / "run"), events_of(here / "longer")) << by_updates;
        }
    }
}

// In each epoch one sentence that cannot be learned from is skipped; the run still ends well, at once or in two parts.
TEST(Resume, GoesOnBehindASkippedUpdate) {
    TrainingData data = copy_data(40, 6);
    const BatchPlan first = plan_batches(data.training, {.batch_tokens = 60}, 1, 1);
    const std::int64_t poisoned = first.batches[2].front();
    data.training[static_cast<std::size_t>(poisoned)].source = {unk_id};  // the only one that reads this row of the embedding
    TrainingOptions options = eventful_training();
    options.patience = 0;
    options.accumulate = 1;
    options.epochs = 2;
    options.on_divergence = OnDivergence::skip;
    const TemporaryFolder here;
    const auto train = [&](const fs::path& path, std::int64_t stop_after) {
        nn::TransformerOptions shape = tiny_model(data, 0.1);
        shape.tie = nn::Tie::none;
        nn::Transformer model(shape);
        for (auto [name, tensor] : model.named_tensors())
            if (name == "source_embedding.weight")
                tensor.slice(unk_id, unk_id + 1).fill_(std::numeric_limits<double>::infinity());
        const RunFolder folder = fs::exists(path / "config.toml") ? RunFolder::reopen(path) : RunFolder(path, false);
        folder.write_config("\n");
        TrainingLog log(folder.log(), true);
        Trainer trainer(model, data, options, log, &folder, translate_nothing);
        if (const fs::path save = latest_save(path); !save.empty()) trainer.resume(save);
        trainer.stop_when([&] { return trainer.state().updates >= stop_after; });
        const TrainingResult result = trainer.run();
        return std::tuple(result.ended_by, result.updates, trainer.state().skipped,
                          trainer.learner().parameters().values.to_vector().back());
    };
    const auto whole = train(here / "whole", 1000);
    EXPECT_EQ(std::get<0>(whole), EndReason::epochs);
    EXPECT_EQ(std::get<2>(whole), 2);
    for (const std::int64_t stop_after : {1, 2, 4, 7}) {
        const fs::path path = here / std::to_string(stop_after).c_str();
        train(path, stop_after);
        EXPECT_EQ(train(path, 1000), whole) << stop_after;
        EXPECT_EQ(events_of(path), events_of(here / "whole")) << stop_after;
    }
}

// Stopped before its first save, the resumed run continues as if the later saves had never existed.
TEST(Resume, FromAnOlderSaveTurnsTheWholeRunBackAtOnce) {
    const TrainingData data = worsening_data(40, 6);
    TrainingOptions options = eventful_training();
    options.save_every = 5;
    const TemporaryFolder here;
    const fs::path whole = here / "whole", run = here / "run";
    const Ended reference = train_in(whole, data, options);
    ASSERT_GE(saved_updates(whole).size(), 3u);
    fs::copy(whole, run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    {
        nn::Transformer model(tiny_model(data, 0.1));
        const RunFolder folder = RunFolder::reopen(run);
        TrainingLog log(folder.log(), true);
        Trainer(model, data, options, log, &folder, translate_nothing).resume(save_folder(run, 5));
    }
    EXPECT_EQ(latest_save(run), save_folder(run, 5));
    EXPECT_EQ(saved_updates(run), (std::vector<std::int64_t>{3, 5})) << "the first validation, at update 3, made one";
    EXPECT_LT(events_of(run).size(), events_of(whole).size());
    EXPECT_EQ(train_in(run, data, options).weights, reference.weights);
    EXPECT_EQ(events_of(run), events_of(whole));
    EXPECT_EQ(length_of_events(run), length_of_events(whole));
    EXPECT_EQ(saved_updates(run), saved_updates(whole));
}

TEST(Resume, LeavesNoScalarsBehindThatNobodyWritesAnyMore) {
    const TrainingData data = copy_data(40, 6);
    TrainingOptions options = training_of_updates(4);
    options.scalars_every = 2;
    const TemporaryFolder here;
    const fs::path run = here / "run", scalars = run / scalars_file_name;
    const auto last_update = [&] { return Json::parse(read_file(scalars)).at("train/loss").back()[1].get<int>(); };
    train_in(run, data, options);
    EXPECT_EQ(last_update(), 4);
    options.updates = 8;
    options.scalars_every = 0;
    train_in(run, data, options);
    EXPECT_FALSE(fs::exists(scalars));
    options.updates = 12;
    options.scalars_every = 2;
    train_in(run, data, options);
    EXPECT_EQ(last_update(), 12);
    EXPECT_EQ(Json::parse(read_file(scalars)).at("train/loss").size(), 6u) << "with those that were not exported";
}

TEST(Resume, ExportsTheNumbersOfARunThatEndedOrWasStopped) {
    const TrainingData data = copy_data(40, 6);
    TrainingOptions options = eventful_training();
    options.epochs = 2;
    options.scalars_every = 1000;
    const TemporaryFolder here;
    const fs::path run = here / "run";
    const auto exported = [&] {
        std::size_t count = 0;
        for (const Json& values : Json::parse(read_file(run / scalars_file_name))) count += values.size();
        return count;
    };
    train_in(run, data, options, [] { return true; });
    EXPECT_EQ(exported(), read_scalars(run / event_file_name).size());
    train_in(run, data, options);
    EXPECT_EQ(exported(), read_scalars(run / event_file_name).size()) << "those of the averaged weights, too";
}

TEST(Resume, RefusesAnotherText) {
    const TrainingData data = copy_data(40, 6);
    TrainingOptions options = eventful_training();
    options.epochs = 1;
    const TemporaryFolder here;
    train_in(here / "run", data, options);
    TrainingData other = copy_data(40, 6);
    std::swap(other.training[0], other.training[1]);
    EXPECT_THAT(error_of([&] { train_in(here / "run", other, options); }),
                AllOf(HasSubstr("the training text is another one"), HasSubstr("40 pairs")));
    TrainingData fewer = copy_data(40, 6);
    fewer.validation.pop_back();
    EXPECT_THAT(error_of([&] { train_in(here / "run", fewer, options); }),
                AllOf(HasSubstr("the validation text is another one"), HasSubstr("5 pairs")));
    EXPECT_NO_THROW(train_in(here / "run", data, options));
}

TEST(Resume, KeepsAsManySavesAsWasAskedFor) {
    const TrainingData data = copy_data(40, 6);
    TrainingOptions options = eventful_training();
    options.epochs.reset();
    options.updates = 9;
    options.keep = 3;
    const TemporaryFolder here;
    train_in(here / "run", data, options);
    EXPECT_EQ(saved_updates(here / "run"), (std::vector<std::int64_t>{7, 8, 9}));
    EXPECT_EQ(latest_save(here / "run"), here / "run" / "saves" / "9");
    // Resumes from an older save, after which the run takes another course.
    fs::remove(here / "run" / "saves" / "latest");
    fs::create_directory_symlink("7", here / "run" / "saves" / "latest");
    options.updates = 8;
    *options.lr *= 0.5;
    train_in(here / "run", data, options);
    EXPECT_EQ(saved_updates(here / "run"), (std::vector<std::int64_t>{7, 8}));
}

TEST(Resume, IsACommandThatAShellReads) {
    EXPECT_THAT(how_to_go_on("my run"), HasSubstr("heddle train --resume 'my run' "));
    EXPECT_THAT(how_to_go_on("runs/1"), HasSubstr("heddle train --resume runs/1 "));
}

TEST(TrainingState, SurvivesItsText) {
    TrainingState state;
    state.updates = 1'234'567'890'123;
    state.interval.loss = 0.1 + 0.2;
    state.event_interval = {.loss = 0.1, .correct = 2, .targets = 3, .tokens = 7, .seconds = 0.5};
    state.best_loss = 1.0 / 3;
    state.text = {3, "abc", 0, "def"};
    state.cpu_level = "v3 (AVX2)";
    const std::string text = state.serialized();
    EXPECT_EQ(TrainingState::parse(text, "state").serialized(), text);
    EXPECT_EQ(*TrainingState::parse(text, "state").best_loss, 1.0 / 3);
    EXPECT_EQ(TrainingState::parse(text, "state").event_interval.tokens, 7);
    EXPECT_EQ(TrainingState::parse(text, "state").text, state.text);
    EXPECT_EQ(TrainingState::parse(text, "state").cpu_level, "v3 (AVX2)");
    EXPECT_FALSE(TrainingState::parse(TrainingState().serialized(), "state").best_loss);
}

// State written by someone who knows how to compute the digest.
TEST(TrainingState, MadeToHarmIsAnError) {
    const auto sealed = [](const std::string& fields) {
        return fields + ",\n \"digest\": \"" + digest(fields + "\n}") + "\"\n}\n";
    };
    const std::string good = TrainingState().serialized(), fields = good.substr(0, good.find(",\n \"digest\""));
    EXPECT_EQ(sealed(fields), good);
    const std::string deep(400'000, '[');
    const auto refused = [](const std::string& text) {
        const std::string message = error_of([&] { TrainingState::parse(text, "RUN/state.json"); });
        EXPECT_EQ(message.find("RUN/state.json: the file is damaged"), 0u) << message;
        EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
    };
    const auto start = std::chrono::steady_clock::now();
    refused(deep);
    refused(sealed("{\n \"updates\": " + deep));
    refused(sealed("{\n \"updates\": " + deep + std::string(deep.size(), ']')));
    refused(sealed("[\n 1"));
    std::string many = "{\n \"x\": 0";
    for (int i = 0; i < 100'000; ++i) many += ",\n \"" + std::to_string(i) + "\": 0";
    refused(sealed(many));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    for (const char* number : {"-1", "1e300", "0.5", "18446744073709551615", "null", "\"1\"", "[1]"}) {
        std::string changed = fields;
        const std::string was = "\"batches\": 0";
        ASSERT_NE(changed.find(was), std::string::npos);
        refused(sealed(changed.replace(changed.find(was), was.size(), std::string("\"batches\": ") + number)));
    }
}

TEST(TrainingState, NeedsEveryField) {
    TrainingState state;
    state.updates = 12;
    const auto whole = nlohmann::ordered_json::parse(state.serialized());
    for (const auto& [name, value] : whole.items()) {
        if (name == "digest") continue;
        auto object = whole;
        object.erase(name);
        object.erase("digest");
        object["digest"] = digest(object.dump(1));
        const std::string text = object.dump(1) + "\n";
        EXPECT_THAT(error_of([&] { TrainingState::parse(text, "state"); }),
                    testing::HasSubstr("state: the file is damaged: " + name))
            << name;
    }
    EXPECT_THAT(error_of([&] { TrainingState::parse(state.serialized() + " ", "state"); }), testing::HasSubstr("was changed"));
}

}  // namespace
}  // namespace heddle::app
