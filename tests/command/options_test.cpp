#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/command/run.h"
#include "apps/translation/training/learner.h"
#include "tests/command/options_support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

TEST(Options, ReadEveryKindOfValue) {
    const TrainSettings settings = parsed(
        "--d-model 96 --dropout=0.3 --bias false --lowercase --adam-betas 0.8 0.9 --norm post "
        "--epochs 7 --seed 18446744073709551615 --lr 1e-4");
    EXPECT_EQ(settings.model.d_model, 96);
    EXPECT_EQ(settings.model.dropout, 0.3);
    EXPECT_FALSE(settings.model.bias);
    EXPECT_TRUE(settings.vocabulary.lowercase);
    EXPECT_EQ(settings.training.adam_betas, std::pair(0.8, 0.9));
    EXPECT_EQ(settings.model.norm, nn::NormPlace::post);
    EXPECT_EQ(settings.training.epochs, 7);
    EXPECT_EQ(settings.training.seed, 18446744073709551615u);
    EXPECT_EQ(settings.training.lr, 1e-4);
}

// 3e-3 as noam's factor would give a peak rate of 1.2e-5, with which next to nothing is learned.
TEST(Options, HaveARateThatSuitsTheSchedule) {
    const auto rate = [](const std::string& words) {
        TrainSettings settings = parsed(words);
        resolve(settings.training);
        return settings.training.lr;
    };
    EXPECT_EQ(rate(""), 3e-3);
    EXPECT_EQ(rate("--schedule constant"), 3e-3);
    EXPECT_EQ(rate("--schedule noam"), 1);
    EXPECT_EQ(rate("--schedule noam --lr 3e-3"), 3e-3);
    EXPECT_EQ(rate("--lr 0.5"), 0.5);
}

TEST(Options, TakeTwoNumbersWithAComma) { EXPECT_EQ(parsed("--adam-betas 0.7,0.95").training.adam_betas, std::pair(0.7, 0.95)); }

TEST(Options, TakeTwoTextsAsTwoWords) {
    std::pair<std::string, std::string> files;
    bool flag = false;
    OptionTable table("test", "reads two files");
    table.add("files", files, "two files").called("FILE FILE");
    table.add("flag", flag, "a flag behind them");
    EXPECT_THAT(table.help(), HasSubstr("--files FILE FILE"));
    EXPECT_THAT(table.help(), HasSubstr("two files [none]"));
    EXPECT_THAT(table.config(), testing::Not(HasSubstr("files =")));
    const std::vector<const char*> words = {"--files", "a,b", "c d", "--flag"};
    EXPECT_TRUE(parse_command_line(table, words));
    EXPECT_EQ(files, std::pair(std::string("a,b"), std::string("c d"))) << "a name may hold a comma";
    EXPECT_TRUE(flag);
    EXPECT_THAT(table.config(), HasSubstr("files = [\"a,b\", \"c d\"]"));

    std::pair<std::string, std::string> again;
    OptionTable other("test", "reads the configuration back");
    other.add("files", again, "two files");
    std::istringstream config("files = [\"a,b\", \"c d\"]\n");
    other.read_config(config, "test.toml");
    EXPECT_EQ(again, files);
}

TEST(Options, SayWhatStandsWhereNoneBelongs) {
    const std::string see = "; see heddle train --help";
    EXPECT_EQ(usage_error("--task copy --lr"), "--lr has no value, wanted --lr X" + see);
    EXPECT_EQ(usage_error("--config"), "--config has no value, wanted --config FILE" + see);
    EXPECT_EQ(usage_error("--adam-betas 0.9"), "--adam-betas takes two values: --adam-betas X,X" + see);
    for (const char* zero : {"0", "1e-46", "-1e-9"})  // in f32
        EXPECT_EQ(usage_error(std::string("--adam-eps ") + zero),
                  fmt::format("--adam-eps is '{}', wanted a number >= 1e-30", zero));
    EXPECT_EQ(usage_error("--humour 3 --task copy"), "there is no option --humour" + see);
    EXPECT_EQ(usage_error("--humour=3"), "there is no option --humour" + see);
    EXPECT_EQ(usage_error("--task copy numbers"), "unexpected argument 'numbers'; did you mean --task numbers?" + see.substr(1));
    EXPECT_EQ(usage_error("-"), "unexpected argument '-'" + see);
}

TEST(Options, WriteAPairOfZeros) {
    TrainSettings settings = parsed("--adam-betas 0 0");
    EXPECT_THAT(train_table(settings).config(), HasSubstr("adam-betas = [0.0, 0.0]"));
}

TEST(Options, TakeOneOrMoreTexts) {
    const auto texts = [](std::vector<const char*> words, const std::string& config = "") {
        std::vector<std::string> texts;
        std::int64_t number = 0;
        OptionTable table("test", "");
        table.add("texts", texts, "");
        table.add("number", number, "");
        parse_command_line(table, words);
        std::istringstream stream(config);
        table.read_config(stream, "test.toml");
        std::istringstream written(table.config());
        std::vector<std::string> again;
        OptionTable other("test", "");
        other.add("texts", again, "");
        other.add("number", number, "");
        other.read_config(written, "written");
        EXPECT_EQ(again, texts) << "the configuration reads back";
        return texts;
    };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(texts({}), Texts());
    EXPECT_EQ(texts({"--texts", "a"}), Texts{"a"});
    EXPECT_EQ(texts({"--texts", "a", "b,c", "--number", "3"}), (Texts{"a", "b,c"}));
    EXPECT_EQ(texts({}, "texts = [\"a\", \"b \\\"\"]\n"), (Texts{"a", "b \""}));
    EXPECT_EQ(texts({}, "texts = 'a'\n"), Texts{"a"});
    EXPECT_EQ(texts({"--texts", "a"}, "texts = 'b'\n"), Texts{"a"});
    EXPECT_THROW(texts({"--texts"}), UsageError);
    EXPECT_THROW(texts({"--texts", "a", "--number", "1", "b"}), UsageError);
    EXPECT_THROW(texts({}, "texts = []\n"), UsageError);
}

TEST(Options, RejectWhatIsNoNumberOrOutOfRange) {
    EXPECT_THAT(usage_error("--layers three"), HasSubstr("--layers is 'three', wanted a whole number >= 1"));
    EXPECT_THAT(usage_error("--layers 0"), HasSubstr("--layers is '0', wanted a whole number >= 1"));
    EXPECT_THAT(usage_error("--layers 2.5"), HasSubstr("--layers is '2.5'"));
    EXPECT_THAT(usage_error("--layers 99999999999999999999"), HasSubstr("--layers is '99999999999999999999'"));
    EXPECT_THAT(usage_error("--dropout 1"), HasSubstr("--dropout is '1', wanted a number >= 0 and < 1"));
    EXPECT_THAT(usage_error("--dropout nan"), HasSubstr("--dropout is 'nan'"));
    EXPECT_THAT(usage_error("--lr -1"), HasSubstr("--lr is '-1', wanted a number >= 0"));
    EXPECT_THAT(usage_error("--norm mid"), HasSubstr("--norm is 'mid', wanted one of pre, post"));
    EXPECT_THAT(usage_error("--bias maybe"), HasSubstr("--bias is 'maybe', wanted true or false"));
    EXPECT_THAT(usage_error("--device tpu"), HasSubstr("--device is 'tpu', wanted one of cpu, cuda"));
}

TEST(Options, PreferTheCommandLineToTheFile) {
    const TrainSettings settings = parsed("--layers 2", "layers = 5\nd-model = 64\n");
    EXPECT_EQ(settings.model.layers, 2);
    EXPECT_EQ(settings.model.d_model, 64);
}

TEST(Options, NameFileAndLineOfAWrongSetting) {
    EXPECT_THAT(usage_error("", "layers = 2\nlayer = 3\n"),
                HasSubstr("test.toml:2: 'layer' is not a setting of heddle train; did you mean layers? "));
    EXPECT_THAT(usage_error("", "layers = 2\nlayers = 3\n"), HasSubstr("test.toml:2: 'layers' occurs twice"));
    EXPECT_THAT(usage_error("", "out = \"RUN\"\n"), HasSubstr("test.toml:1: 'out' is not a setting"));
    EXPECT_THAT(usage_error("", "layers 2\n"), HasSubstr("test.toml:1: no = after 'layers'"));
    EXPECT_THAT(usage_error("", "adam-betas = [0.9]\n"), HasSubstr("has 1 values, wanted 2"));
    EXPECT_THAT(usage_error("", "seed = 1\nlayers = \"two\"\n"), HasSubstr("test.toml:2: --layers is 'two'"));
    EXPECT_THAT(usage_error("", "activation = \"swish\"\n"),
                HasSubstr("test.toml:1: --activation is 'swish', wanted one of relu, gelu, gelu-tanh, silu"));
}

// An invalid word is never replaced by a default.
TEST(Options, RefuseUnknownWordsOnTheCommandLineAndInTheFile) {
    TrainSettings settings;
    int with_words = 0;
    const OptionTable table = train_table(settings);
    for (const Option& option : table.options()) {
        if (option.choices.empty()) continue;
        ++with_words;
        const std::string name = "--" + option.name, wanted = name + " is 'sideways', wanted one of " + option.choices.front();
        EXPECT_THAT(usage_error(name + " sideways"), HasSubstr(wanted));
        if (!option.in_config) continue;
        EXPECT_THAT(usage_error("", option.name + " = \"sideways\"\n"), HasSubstr("test.toml:1: " + wanted));
    }
    EXPECT_GE(with_words, 17);
}

template <class Enum>
void expect_words_to_read_back() {
    for (const EnumWord<Enum>& each : enum_words(Enum())) {
        EXPECT_EQ(value_of<Enum>(each.word), each.value) << each.word;
        EXPECT_EQ(word_of(each.value), each.word);
    }
    EXPECT_EQ(value_of<Enum>("sideways"), std::nullopt);
}

TEST(Options, HaveOneWordForEachValue) {
    expect_words_to_read_back<nn::NormPlace>();
    expect_words_to_read_back<ops::Activation>();
    expect_words_to_read_back<nn::Positions>();
    expect_words_to_read_back<nn::Tie>();
    expect_words_to_read_back<nn::EmbeddingInit>();
    expect_words_to_read_back<nn::MemoryFrom>();
    expect_words_to_read_back<VocabularyType>();
    expect_words_to_read_back<optim::Method>();
    expect_words_to_read_back<optim::ScheduleKind>();
    expect_words_to_read_back<OnDivergence>();
    expect_words_to_read_back<SaveSignal>();
    expect_words_to_read_back<LogStyle>();
    expect_words_to_read_back<WeightsKind>();
    expect_words_to_read_back<CpuLevel>();
    expect_words_to_read_back<Device>();
    expect_words_to_read_back<DType>();
}

TEST(Options, WriteAConfigurationThatReadsBackTheSame) {
    TrainSettings settings =
        parsed("--dropout 0.125 --attention-dropout 0 --lr 0.1 --shared-vocab false --seed 42 --minutes 3 --final-norm --out RUN",
               "train = \"a \\\"b\\\" \\\\ #c, d\"\n");
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    const std::string config = train_table(settings).config();
    TrainSettings again = parsed("", config);
    EXPECT_EQ(train_table(again).config(), config);
    EXPECT_EQ(again.data.train, "a \"b\" \\ #c, d");
    EXPECT_EQ(again.data.out, "");
    EXPECT_EQ(again.model.attention_dropout, 0.0);
    EXPECT_EQ(again.model.tie, nn::Tie::target);
    EXPECT_EQ(again.training.minutes, 3.0);
    EXPECT_EQ(again.training.epochs, std::nullopt);
    EXPECT_EQ(again.vocabulary.size, std::nullopt);
}

TEST(Options, HelpShowsEveryOptionWithItsDefault) {
    TrainSettings settings;
    const OptionTable table = train_table(settings);
    const std::string help = table.help();
    for (const Option& option : table.options()) EXPECT_THAT(help, HasSubstr("--" + option.name));
    EXPECT_THAT(help, HasSubstr("longest side of a batch, at most; end of sentence counts; 0: no limit [1500]"));
    EXPECT_THAT(help, HasSubstr("[as --dropout]"));
    EXPECT_THAT(help, HasSubstr("--norm pre|post"));
}

TEST(Options, RefuseShapesThatCannotBe) {
    const auto refused = [](const std::string& words) {
        TrainSettings settings = parsed(words);
        try {
            resolve(settings.model, settings.vocabulary);
            resolve(settings.training);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_THAT(refused("--heads 3"), HasSubstr("--heads 3 does not divide --d-model 128"));
    EXPECT_EQ(refused("--heads 3 --head-dim 40"), "no error");
    EXPECT_THAT(refused("--key-heads 3"), HasSubstr("--key-heads 3 does not divide --heads 4"));
    EXPECT_THAT(refused("--key-heads 8"), HasSubstr("--key-heads 8 does not divide --heads 4"));
    EXPECT_EQ(refused("--key-heads 1"), "no error");
    EXPECT_THAT(refused("--d-model 9 --heads 3"), HasSubstr("odd"));
    EXPECT_THAT(refused("--shared-vocab false --tie all"), HasSubstr("--tie all needs one vocabulary"));
    EXPECT_THAT(refused("--shared-vocab false --vocab-model x"), HasSubstr("--vocab-model"));
    EXPECT_THAT(refused("--source-vocab-size 100"), HasSubstr("--shared-vocab false"));
    EXPECT_THAT(refused("--schedule cosine --minutes 3"), HasSubstr("--schedule cosine"));
    EXPECT_THAT(refused("--momentum 0.5"), HasSubstr("--momentum is of --optimizer sgd"));
    EXPECT_THAT(refused("--optimizer sgd --adam-betas 0.5,0.9"), HasSubstr("sgd has --momentum"));
    EXPECT_THAT(refused("--min-count 3"), HasSubstr("--min-count 3 counts words"));
}

}  // namespace
}  // namespace heddle::app
