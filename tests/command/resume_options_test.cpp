// Changes of config.toml that the save does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/command/option_rows.h"
#include "apps/command/resume.h"
#include "apps/translation/run/folder.h"
#include "core/file.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A run's folder without weights, whose save has the same options as config.toml.
class ResumeOptions : public testing::Test {
  protected:
    ResumeOptions() {
        resolve(settings_.model, settings_.vocabulary);
        resolve(settings_.training);
        folder_.write_config(table_.config());
        saved_ = options_to_save(table_);
    }

    // The differences, or the error message, when the run is resumed with these words.
    std::vector<std::string> going_on(std::vector<const char*> words = {}) const {
        TrainSettings settings;
        OptionTable table = train_table(settings);
        EXPECT_TRUE(parse_command_line(table, words));
        try {
            return take_over_run(table, folder_.path(), saved_);
        } catch (const UsageError& error) {
            return {error.what()};
        }
    }
    std::string config() const { return read_file(folder_.path() / "config.toml"); }
    // Edits config.toml as by hand: its last line is unchanged.
    void edit(const std::string& name, const std::string& value) const {
        std::string text = config();
        const std::string line = "\n" + name + " = ";
        std::size_t at = text.find(line);
        if (at == std::string::npos)
            text.insert(at = text.find('\n'), line + value);
        else
            text.replace(at + line.size(), text.find('\n', at + 1) - at - line.size(), value);
        write_file_atomically(folder_.path() / "config.toml", std::string_view(text));
    }

    TemporaryFolder here_;
    RunFolder folder_{here_ / "run", false};
    TrainSettings settings_;
    OptionTable table_ = train_table(settings_);
    OptionTexts saved_;
};

// Another valid value of the option.
std::string another(const Option& option) {
    const std::string value = option.write();
    if (option.is_flag) return value == "true" ? "false" : "true";
    for (const std::string& choice : option.choices)
        if ("\"" + choice + "\"" != value) return "\"" + choice + "\"";
    if (option.values == 2) return "[0.5, 0.75]";
    if (value.empty() || value.find('.') == std::string::npos) return value == "3" ? "4" : "3";
    return value == "0.125" ? "0.25" : "0.125";
}

TEST_F(ResumeOptions, AreThoseOfTheSave) {
    EXPECT_TRUE(config_is_unchanged(folder_.path()));
    EXPECT_THAT(going_on(), ElementsAre());
    EXPECT_THAT(going_on({"--lr", "0.01"}), ElementsAre("lr = 0.01 (was 0.003)"));
}

TEST_F(ResumeOptions, OfARunWithoutANormalizationAreThoseOfItsTime) {
    std::string text = config();
    const std::size_t at = text.find("vocab-normalization");
    ASSERT_NE(at, std::string::npos);
    folder_.write_config(text.erase(at, text.find('\n', at) + 1 - at));
    saved_.erase("vocab-normalization");
    EXPECT_THAT(going_on(), ElementsAre());
    EXPECT_THAT(going_on({"--vocab-normalization", "nfkc"}), ElementsAre());
    EXPECT_THAT(going_on({"--vocab-normalization", "nfc"}),
                ElementsAre(HasSubstr("--vocab-normalization \"nfc\" (it has \"nfkc\")")));
}

TEST_F(ResumeOptions, AreNamedWhenTheyWereEdited) {
    int named = 0, said = 0;
    for (const Option& option : table_.options()) {
        if (!option.in_config || !saved_.contains(option.name)) continue;
        const std::string before = option.write().empty() ? "none" : option.write(), after = another(option);
        const std::string kept = config();
        edit(option.name, after);
        EXPECT_FALSE(config_is_unchanged(folder_.path())) << option.name;
        const std::vector<std::string> found = going_on();
        write_file_atomically(folder_.path() / "config.toml", std::string_view(kept));
        ASSERT_EQ(found.size(), 1u) << option.name;
        const std::string difference = option.name + " was " + before + " when this was saved, config.toml says " + after;
        if (option.incidental) {
            EXPECT_EQ(found[0], option.name + " = " + after + " (was " + before + ")");
            ++said;
        } else {
            // Some values conflict with others, which is reported first.
            EXPECT_THAT(found[0], AnyOf(HasSubstr(difference), HasSubstr("--" + option.name)));
            named += found[0].find(difference) != std::string::npos ? 1 : 0;
        }
    }
    EXPECT_EQ(said, 11);
    EXPECT_GT(named, 40);
}

TEST_F(ResumeOptions, AreAllNamedInOneLine) {
    edit("seed", "3");
    edit("lr", "0.01");
    EXPECT_THAT(going_on(), ElementsAre(AllOf(HasSubstr("seed was 1 when this was saved, config.toml says 3"),
                                              HasSubstr("lr was 0.003 when this was saved, config.toml says 0.01"),
                                              HasSubstr("on the command line"), HasSubstr("--seed"), HasSubstr("--lr"))));
}

TEST_F(ResumeOptions, CountWhenTheyAreGiven) {
    edit("lr", "0.01");
    EXPECT_THAT(going_on({"--lr", "0.01"}), ElementsAre("lr = 0.01 (was 0.003)"));
    EXPECT_THAT(going_on({"--lr", "0.003"}), ElementsAre("lr = 0.003 (config.toml said 0.01)"));
    edit("seed", "3");
    EXPECT_THAT(going_on({"--lr", "0.01"}), ElementsAre(HasSubstr("seed was 1")));
    EXPECT_THAT(going_on({"--lr", "0.01", "--seed", "3"}), ElementsAre(HasSubstr("cannot change --seed 3 (it has 1)")));
    EXPECT_THAT(going_on({"--lr", "0.01", "--seed", "1"}), ElementsAre("lr = 0.01 (was 0.003)", "seed = 1 (config.toml said 3)"));
}

// A save without grouped keys does not mention them.
TEST_F(ResumeOptions, KnowThatThereWereNoGroupedKeys) {
    EXPECT_THAT(going_on({"--key-heads", "2"}), ElementsAre(HasSubstr("cannot change --key-heads 2 (it has none)")));
    edit("key-heads", "2");
    EXPECT_THAT(going_on(), ElementsAre(HasSubstr("key-heads was none when this was saved, config.toml says 2")));
}

// The run was resumed with --epochs 40 --lr 0.01 and ended before its next save: config.toml is its own, not edited.
TEST_F(ResumeOptions, MayBeNewerThanTheSave) {
    settings_.training.epochs = 40;
    settings_.training.lr = 0.01;
    folder_.write_config(table_.config());
    EXPECT_THAT(going_on(), ElementsAre("lr = 0.01 (was 0.003)", "epochs = 40 (was 20)"));
    // But a run never changes its seed: that would be the file of another run.
    settings_.training.seed = 3;
    folder_.write_config(table_.config());
    EXPECT_THAT(going_on(), ElementsAre(HasSubstr("seed was 1 when this was saved, config.toml says 3")));
}

TEST_F(ResumeOptions, OfASaveThatDoesNotKnowThemAreThoseOfConfigToml) {
    saved_.clear();
    edit("seed", "3");
    EXPECT_THAT(going_on(), ElementsAre());
    EXPECT_THAT(going_on({"--lr", "0.01"}), ElementsAre("lr = 0.01 (was 0.003)"));
    EXPECT_THAT(going_on({"--seed", "1"}), ElementsAre(HasSubstr("cannot change --seed 1 (it has 3)")));
}

TEST_F(ResumeOptions, HaveToBeKnownToBeUnchanged) {
    std::string text = config();
    text.resize(text.rfind("\n# digest"));
    write_file_atomically(folder_.path() / "config.toml", std::string_view(text));
    EXPECT_FALSE(config_is_unchanged(folder_.path()));
    EXPECT_THAT(going_on(), ElementsAre());
}

}  // namespace
}  // namespace heddle::app
