// The presets' files: how they meet the command line.
#include "apps/presets/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/command/option_rows.h"
#include "apps/terminal/option_error.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

/// The settings of `heddle train --preset NAME WORDS...`, resolved.
TrainSettings preset_settings(const std::string& name, std::vector<const char*> words = {}, const std::string& config = "") {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    EXPECT_TRUE(parse_command_line(table, words));
    std::istringstream stream(config);
    table.read_config(stream, "test.toml");
    apply_preset(table, name);
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    return settings;
}

// apply_preset() ignores options that a command lacks, but one that heddle train lacks is a mistake.
TEST(Presets, HoldOptionsOfTrainOnly) {
    for (const Preset& preset : presets()) {
        TrainSettings settings;
        OptionTable table = train_table(settings);
        std::istringstream text{std::string(preset.text)};
        EXPECT_NO_THROW(table.read_config(text, std::string(preset.name))) << preset.name;
        EXPECT_NO_THROW(resolve(settings.model, settings.vocabulary)) << preset.name;
        EXPECT_NO_THROW(resolve(settings.training)) << preset.name;
        EXPECT_TRUE(preset.text.starts_with("# ")) << preset.name << " does not say what it is";
    }
}

TEST(Presets, GiveWayToTheCommandLineAndToAConfigurationFile) {
    const TrainSettings plain = preset_settings("paper");
    EXPECT_EQ(plain.model.d_model, 512);
    EXPECT_EQ(plain.training.adam_betas, std::pair(0.9, 0.98));
    EXPECT_EQ(plain.training.schedule, optim::ScheduleKind::noam);
    const TrainSettings both = preset_settings("paper", {"--d-model", "64", "--heads", "4"}, "d-model = 32\nd-ff = 96\n");
    EXPECT_EQ(both.model.d_model, 64);
    EXPECT_EQ(both.model.head_dim, 16);
    EXPECT_EQ(both.model.d_ff, 96);
    EXPECT_EQ(both.model.encoder_layers, 6);
}

TEST(Presets, GiveWayToOptionsThatTakeThePlaceOfTheirs) {
    EXPECT_EQ(preset_settings("annotated-copy").training.epochs, 2);
    EXPECT_EQ(preset_settings("annotated-copy", {"--updates", "9000"}).training.epochs, std::nullopt);
    EXPECT_EQ(preset_settings("annotated-copy").data.task, "digits");
    EXPECT_EQ(preset_settings("annotated-copy", {"--train", "corpus"}).data.task, "");
    EXPECT_EQ(preset_settings("annotated", {"--vocab-type", "bpe"}).vocabulary.min_count, 1);
    EXPECT_EQ(preset_settings("annotated", {"--lr", "2"}).vocabulary.min_count, 2);
    EXPECT_EQ(preset_settings("paper", {"--optimizer", "sgd"}).training.optimizer, optim::Method::sgd)
        << "no word of Adam's betas";
    EXPECT_EQ(preset_settings("notebook", {"--d-model", "64"}).model.head_dim, 8);
    EXPECT_EQ(preset_settings("annotated", {}, "vocab-type = \"unigram\"\n").vocabulary.min_count, 1);
    EXPECT_EQ(preset_settings("translator").training.adam_eps, 1e-8);
    EXPECT_EQ(preset_settings("translator", {"--optimizer", "sgd"}).training.adam_eps, 1e-9);
    // With noam the rate is the factor of a formula; with other schedules it would be huge, and their rates tiny as a factor.
    const double rate = default_rate(optim::ScheduleKind::inverse_sqrt);
    EXPECT_EQ(preset_settings("paper").training.lr, 1);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "noam"}).training.lr, 1);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "inverse-sqrt"}).training.lr, rate);
    EXPECT_EQ(preset_settings("paper", {"--schedule", "inverse-sqrt", "--lr", "0.1"}).training.lr, 0.1);
    EXPECT_EQ(preset_settings("translator", {"--schedule", "cosine"}).training.lr, 1e-4);
    EXPECT_EQ(preset_settings("translator", {"--schedule", "noam"}).training.lr, 1);
    // The vocabulary of a task's preset is only for that task.
    EXPECT_EQ(preset_settings("annotated-copy").vocabulary.size, 14);
    EXPECT_EQ(preset_settings("annotated-copy", {"--task", "dates"}).vocabulary.size, std::nullopt);
    EXPECT_EQ(preset_settings("annotated-copy", {"--train", "corpus"}).vocabulary.size, std::nullopt);
    EXPECT_EQ(preset_settings("notebook", {"--train", "corpus"}).vocabulary.size, 1000);
}

TEST(Presets, HaveHeadsAsWideAsTheModelAllows) {
    for (const Preset& preset : presets()) {
        const std::string name(preset.name);
        const std::int64_t heads = preset_settings(name).model.heads;
        EXPECT_EQ(preset_settings(name, {"--d-model", "128"}).model.head_dim, 128 / heads) << name;
        EXPECT_EQ(preset_settings(name, {"--heads", "4"}).model.head_dim, *preset_settings(name).model.head_dim * heads / 4)
            << name;
    }
}

// An error names the preset if it is about an option that only the preset set.
TEST(Presets, AreNamedInErrorsAboutTheirOptions) {
    const auto message = [](const std::string& name, std::vector<const char*> words,
                            std::vector<std::string> options) -> std::string {
        TrainSettings settings;
        OptionTable table = train_table(settings);
        EXPECT_TRUE(parse_command_line(table, words));
        try {
            with_preset(table, name, [&]() -> int { throw OptionError(options, "wrong"); });
        } catch (const UsageError& caught) {
            return caught.what();
        }
        return "no error";
    };
    const std::string note = "; --preset paper has --tie embeddings: give another value, or leave out the preset";
    EXPECT_EQ(message("paper", {}, {"tie"}), "wrong" + note);
    EXPECT_EQ(message("paper", {}, {"threads", "tie"}), "wrong" + note);
    EXPECT_EQ(message("paper", {"--tie", "none"}, {"tie"}), "wrong") << "given by a person";
    EXPECT_EQ(message("paper", {}, {"threads"}), "wrong") << "another option";
    EXPECT_EQ(message("paper", {}, {}), "wrong") << "no option";
    EXPECT_EQ(message("", {}, {"tie"}), "wrong") << "no preset";
    EXPECT_THAT(message("translator", {}, {"adam-betas"}), HasSubstr(" has --adam-betas 0.9 0.99: "));
    EXPECT_THAT(message("paper", {"--heads", "7"}, {"heads", "d-model"}), HasSubstr(" has --d-model 512: "));
}

}  // namespace
}  // namespace heddle::app
