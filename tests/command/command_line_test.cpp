// Parsing of command lines: words without an option's name, repeated options, and typing errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/options/option_table.h"
#include "apps/options/suggestion.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;
using Texts = std::vector<std::string>;

// A command with an option of each kind.
struct Values {
    Texts runs;
    std::string kind = "plain";
    bool scores = false;
    std::int64_t beam = 5;
    std::pair<double, double> betas = {0.9, 0.98};
};

OptionTable table_of(Values& values) {
    OptionTable table("try", "");
    table.add("model", values.runs, "folders").called("RUN...").positional();
    table.add("kind", values.kind, "").one_of({"plain", "fancy"});
    table.add("scores", values.scores, "");
    table.add("beam", values.beam, "");
    table.add("adam-betas", values.betas, "");
    return table;
}

Values values_of(const std::vector<const char*>& words) {
    Values values;
    OptionTable table = table_of(values);
    EXPECT_TRUE(parse_command_line(table, words));
    return values;
}

std::string error(const std::vector<const char*>& words) {
    try {
        values_of(words);
    } catch (const UsageError& caught) {
        return caught.what();
    }
    return "no error";
}

const std::string see = "see heddle try --help";

TEST(CommandLine, TakesWordsForThePositionalRow) {
    EXPECT_EQ(values_of({"one"}).runs, Texts{"one"});
    EXPECT_EQ(values_of({"one", "two", "--beam", "3"}).runs, (Texts{"one", "two"}));
    EXPECT_EQ(values_of({"--beam", "3", "one"}).runs, Texts{"one"});
    EXPECT_EQ(values_of({"--model", "one", "two"}).runs, (Texts{"one", "two"})) << "they are the option's";
    EXPECT_EQ(error({"one", "--model", "two"}), "'one' and --model both choose the model; give only one");
    EXPECT_EQ(error({"--model", "two", "--beam", "3", "one"}), "'one' and --model both choose the model; give only one");
    EXPECT_EQ(error({""}), "--model is empty, wanted RUN...") << "a word is checked like the option's value";
}

TEST(CommandLine, TakesOneWordForARowOfOneValue) {
    std::string op;
    const auto parse = [&op](const std::vector<const char*>& words) {
        op = "none";
        OptionTable table("prove", "");
        table.add("op", op, "").called("NAME").positional();
        parse_command_line(table, words);
        std::istringstream config("op = \"of the file\"\n");
        table.read_config(config, "file");
        return op;
    };
    EXPECT_EQ(parse({"softmax"}), "softmax") << "it goes before a file's";
    EXPECT_EQ(parse({}), "of the file");
    try {
        parse({"softmax", "matmul"});
        ADD_FAILURE() << "two words";
    } catch (const UsageError& caught) {
        EXPECT_STREQ(caught.what(), "unexpected argument 'matmul'; see heddle prove --help");
    }
}

TEST(CommandLine, AsksTheRowsWhoseWordItIs) {
    std::string run, preset;
    OptionTable table("show", "");
    table.add("model", run, "").positional([](const std::string& word) { return word.starts_with("runs/"); });
    table.add("preset", preset, "").one_of({"paper"}).positional();
    const std::vector<const char*> folder = {"runs/first"}, name = {"paper"};
    EXPECT_TRUE(parse_command_line(table, folder));
    EXPECT_TRUE(parse_command_line(table, name));
    EXPECT_EQ(run, "runs/first");
    EXPECT_EQ(preset, "paper");
    EXPECT_THAT(table.help(), HasSubstr("; also without --model [runs/first]"));
}

TEST(CommandLine, LeavesAWordBehindAFlagToTheCommand) {
    for (const std::vector<const char*>& words :
         {std::vector<const char*>{"--scores", "one"}, {"one", "--scores"}, {"--scores=on", "one"}}) {
        EXPECT_EQ(values_of(words).runs, Texts{"one"});
        EXPECT_TRUE(values_of(words).scores);
    }
    EXPECT_FALSE(values_of({"--scores", "false", "one"}).scores);
    EXPECT_TRUE(values_of({"--scores", "--beam", "3"}).scores);
    EXPECT_EQ(error({"--scores=maybe"}), "--scores is 'maybe', wanted true or false");
    EXPECT_EQ(error({"--scores="}), "--scores has no value, wanted --scores true|false; " + see);
    // In a command without such words, a wrong word is a wrong value.
    bool flag = false;
    OptionTable table("test", "");
    table.add("flag", flag, "");
    const std::vector<const char*> words = {"--flag", "maybe"};
    EXPECT_THROW(parse_command_line(table, words), UsageError);
}

TEST(CommandLine, RefusesAnOptionThatIsGivenTwice) {
    EXPECT_EQ(error({"--beam", "3", "--beam", "4"}), "--beam is given twice; give it once");
    EXPECT_EQ(error({"--beam=3", "one", "--beam=3"}), "--beam is given twice; give it once") << "the same value, too";
    EXPECT_EQ(error({"--scores", "--scores"}), "--scores is given twice; give it once");
    EXPECT_EQ(error({"--scores", "--beam", "1", "--scores", "false"}), "--scores is given twice; give it once");
    EXPECT_EQ(error({"--model", "a", "--beam", "3", "--model", "b"}), "--model is given twice; give it once: --model RUN...");
    EXPECT_EQ(error({"--adam-betas", "0.9", "0.98", "--adam-betas", "0.9,0.98"}), "--adam-betas is given twice; give it once");
    EXPECT_EQ(error({"--config", "a", "--config", "b"}), "--config is given twice; give it once");
}

TEST(CommandLine, AsksWhichOptionWasMeant) {
    EXPECT_EQ(error({"--modle", "RUN"}), "there is no option --modle; did you mean --model? " + see);
    EXPECT_EQ(error({"--Adam_Betas=1,2"}), "there is no option --Adam_Betas; did you mean --adam-betas? " + see);
    EXPECT_EQ(error({"-beam", "3"}), "there is no option -beam; did you mean --beam? " + see);
    EXPECT_EQ(error({"--confg", "file"}), "there is no option --confg; did you mean --config? " + see);
    EXPECT_EQ(error({"--speed", "3"}), "there is no option --speed; " + see);
    EXPECT_EQ(error({"--kind", "fanzy"}), "--kind is 'fanzy', wanted one of plain, fancy; did you mean fancy?");
    EXPECT_EQ(error({"--kind", "other"}), "--kind is 'other', wanted one of plain, fancy");
}

TEST(CommandLine, NamesTheOptionThatAStrayWordIsAValueOf) {
    std::string kind;
    OptionTable table("test", "");
    table.add("kind", kind, "").one_of({"plain", "fancy"});
    const std::vector<const char*> words = {"fancy"};
    try {
        parse_command_line(table, words);
        ADD_FAILURE() << "no row takes words";
    } catch (const UsageError& caught) {
        EXPECT_STREQ(caught.what(), "unexpected argument 'fancy'; did you mean --kind fancy? see heddle test --help");
    }
}

TEST(CommandLine, ReadsAndShowsAPairAsItIsTyped) {
    for (const std::vector<const char*>& words :
         {std::vector<const char*>{"--adam-betas", "0.5,0.9"}, {"--adam-betas", "0.5", "0.9"}})
        EXPECT_EQ(values_of(words).betas, std::pair(0.5, 0.9));
    EXPECT_EQ(error({"--adam-betas", "0.9", "--scores"}), "--adam-betas takes two values: --adam-betas X,X; " + see);
    Values values;
    EXPECT_THAT(table_of(values).help(), HasSubstr(" [0.9,0.98]\n"));
}

TEST(DidYouMean, CountsLettersAddedLeftOutChangedAndSwapped) {
    const Texts ops = {"softmax", "matmul", "layer_norm"};
    for (const char* slip : {"softmax", "sofmax", "sooftmax", "softnax", "sotfmax", "SoftMax", "--softmax", "osftmxa"})
        EXPECT_EQ(did_you_mean(slip, ops), "; did you mean softmax?") << slip;
    EXPECT_EQ(did_you_mean("layer-norm", ops, "see there"), "; did you mean layer_norm? see there");
}

TEST(DidYouMean, KnowsWhatOtherProgramsCallAnOption) {
    const Texts options = {"--lr", "--batch-tokens", "--batch-sentences", "--out", "--output"};
    for (const char* name : {"--learning-rate", "--learning_rate", "learn-rate"})
        EXPECT_EQ(did_you_mean(name, options), "; did you mean --lr?") << name;
    EXPECT_EQ(did_you_mean("--batch-size", options), "; did you mean --batch-tokens?");
    EXPECT_EQ(did_you_mean("--beam-size", options), "") << "there is no --beam";
}

TEST(DidYouMean, StaysSilentWhenNothingIsNear) {
    const Texts choices = {"cpu", "cuda", "label-smoothing"};
    for (const char* other : {"", "-", "tpu", "gpu", "smoothing", "warmup"}) EXPECT_EQ(did_you_mean(other, choices), "") << other;
    EXPECT_EQ(did_you_mean("tpu", choices, "see there"), "; see there");
    EXPECT_EQ(did_you_mean(std::string(1'000'000, 'c'), choices), "") << "at once";
    EXPECT_EQ(did_you_mean("word", {}), "");
}

TEST(DidYouMean, TakesTheNearestAndOfSeveralTheFirst) {
    EXPECT_EQ(did_you_mean("--layer", {"--lawyer", "--layers", "--player"}), "; did you mean --lawyer?");
    EXPECT_EQ(did_you_mean("decoder-layrs", {"encoder-layers", "decoder-layers"}), "; did you mean decoder-layers?");
}

}  // namespace
}  // namespace heddle::app
