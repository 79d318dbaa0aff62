// heddle prepare, and heddle train with the text that it writes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "apps/translation/prepared/header.h"
#include "tests/program.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char* const tiny_run =
    " --valid text --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 80 --accumulate 2 --log-every 1 --valid-every 5"
    " --valid-sentences 2 --save-every 4 --keep 0 --tune-search false";
const char* const of_words = " --source a --target b --vocab-type word";

class PreparedText : public testing::Test {
  protected:
    PreparedText() { write_toy_corpus(here_, 90); }

    ProgramResult train(const std::string& arguments) const { return here_.run("train" + arguments + tiny_run); }
    ProgramResult prepare(const std::string& arguments) const { return here_.run("prepare" + arguments); }
    std::map<std::string, std::string> digests(const std::string& run) const { return digests_of_weights(here_, run); }

    const Workplace here_;
};

TEST_F(PreparedText, TrainsToTheBytesOfThePlainOne) {
    ASSERT_EQ(train(" --train text --out plain --updates 10" + std::string(of_words)).status, 0);
    const ProgramResult prepared = prepare(" --train text --out text.prepared" + std::string(of_words));
    ASSERT_EQ(prepared.status, 0) << prepared.err;
    EXPECT_THAT(prepared.err, HasSubstr("heddle train --train text.prepared"));
    // The languages and the vocabulary come from the text.
    const ProgramResult result = train(" --train text.prepared --out files --updates 10");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(digests("files"), digests("plain"));
    EXPECT_EQ(here_.read("files/vocab.tsv"), here_.read("plain/vocab.tsv"));
    std::string config = here_.read("files/config.toml"), wanted = here_.read("plain/config.toml");
    const auto without_seal = [](std::string text) { return text.substr(0, text.find("\n# digest")); };
    config = without_seal(config).replace(config.find("\"text.prepared\""), 15, "\"text\"");
    EXPECT_EQ(config, without_seal(wanted));

    // Each run is resumed with the other's text, in the middle of an epoch.
    ASSERT_EQ(here_.run("train --resume plain --train text.prepared --updates 17").status, 0);
    ASSERT_EQ(here_.run("train --resume files --train text --updates 17").status, 0);
    ASSERT_EQ(train(" --train text --out whole --updates 17" + std::string(of_words)).status, 0);
    for (const char* file : {"saves/17/model.safetensors", "saves/17/moments.safetensors"})
        for (const char* run : {"plain", "files"}) EXPECT_EQ(digests(run).at(file), digests("whole").at(file)) << run << file;
}

TEST_F(PreparedText, LearnsTheVocabularyThatTrainingWouldLearn) {
    for (const std::string options :
         {" --vocab-type word --vocab-lines 40", " --vocab-type word --vocab-lines 7 --shared-vocab false", " --vocab-type char",
          " --vocab-type bpe --vocab-lines 100 --vocab-size 30"}) {
        const std::string both = " --source a --target b" + options;
        ASSERT_EQ(train(" --train text --out run --overwrite --updates 1" + both).status, 0) << options;
        const ProgramResult result = prepare(" --train text --out prepared --overwrite" + both);
        ASSERT_EQ(result.status, 0) << result.err;
        int files = 0;
        for (const auto& entry : std::filesystem::directory_iterator(here_.path("prepared"))) {
            const std::string name = entry.path().filename().string();
            if (!name.starts_with("vocab.")) continue;
            EXPECT_EQ(here_.read("prepared/" + name), here_.read("run/" + name)) << options;
            ++files;
        }
        EXPECT_EQ(files, options.find("false") != std::string::npos ? 2 : 1);
        ASSERT_EQ(train(" --train prepared --out files --overwrite --updates 1").status, 0) << options;
        EXPECT_EQ(digests("files"), digests("run")) << options;
    }
}

TEST_F(PreparedText, LeavesOutPairsWithAnEmptySide) {
    here_.write("text.tsv", "a b\tA B\n\tC\nd\t \nc a\tC A\n");
    const ProgramResult result = prepare(" --train text.tsv --tsv --vocab-type word --out prepared");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("2 training pairs with an empty side are left out"),
                                  HasSubstr("prepared: 2 pairs with 8 tokens")));
    EXPECT_EQ(prepare(" --check prepared").status, 0);
    EXPECT_THAT(here_.run("train --train prepared --out run --updates 1 --layers 1 --d-model 16").err,
                HasSubstr("2 training pairs with an empty side are left out"));
    // The text records no languages, so they come from the validation text.
    for (const std::string valid : {" --valid text --source a --target b", " --valid text.tsv --tsv", ""}) {
        const ProgramResult trained =
            here_.run("train --train prepared --out run --overwrite --updates 2 --layers 1 --d-model 16" + valid);
        EXPECT_EQ(trained.status, 0) << trained.err;
    }
}

TEST_F(PreparedText, KeepsItsVocabularyAndLanguages) {
    ASSERT_EQ(prepare(" --train text --out prepared" + std::string(of_words)).status, 0);
    const std::string use = " --train prepared --out run --updates 1";
    expect_complaint(train(use + " --vocab-type char"), 2,
                     "--train prepared: it was prepared with other options than --vocab-type \"char\" (it has \"word\")");
    expect_complaint(train(use + " --source x"), 2, "--source \"x\" (it has \"a\")");
    expect_complaint(train(use + " --vocab-model prepared/vocab.tsv"), 2, "it has its vocabulary; leave --vocab-model out");
    EXPECT_EQ(train(use + " --vocab-type word --source a").status, 0);

    ASSERT_EQ(train(" --train text --source a --target b --vocab-type char --out letters --updates 1").status, 0);
    expect_complaint(train(" --train prepared --out other --init letters --updates 1"), 1,
                     "it was prepared with another vocabulary than that of letters; prepare the text with --init letters");
    EXPECT_FALSE(here_.exists("other"));
    const ProgramResult tuned = train(" --train prepared --out other --init run --updates 1");
    EXPECT_EQ(tuned.status, 0) << tuned.err;
    const std::string again = " --train text --source a --target b --out letters.text --init letters";
    expect_complaint(prepare(again + " --vocab-type word"), 2,
                     "--init letters: the run has its vocabulary; leave --vocab-type out");
    ASSERT_EQ(prepare(again).status, 0);
    const ProgramResult letters = train(" --train letters.text --out third --init letters --updates 1");
    EXPECT_EQ(letters.status, 0) << letters.err;

    // The same vocabulary, but the text was converted to lower case before it was encoded.
    ASSERT_EQ(train(" --train text --source a --target b --vocab-type bpe --vocab-size 30 --out bpe --updates 1").status, 0);
    ASSERT_EQ(prepare(" --train text --source a --target b --vocab-model bpe/vocab.model --lowercase --out lower").status, 0);
    expect_complaint(train(" --train lower --out fourth --init bpe --updates 1"), 1, "another vocabulary than that of bpe");
}

TEST_F(PreparedText, SetsNoOptionThatIsNotItsOwn) {
    ASSERT_EQ(prepare(" --train text --out prepared" + std::string(of_words)).status, 0);
    const app::PreparedHeader good = app::PreparedHeader::parse(here_.read("prepared/prepared.json"), "good");
    for (const auto& [name, value] : {std::pair("valid", "\"other\""),
                                      {"seed", "2"},
                                      {"embeddings", "[\"text.a\"]"},
                                      {"task", "\"numbers\""},
                                      {"init", "\"elsewhere\""},
                                      {"vocab-model", "\"text.a\""},
                                      {"out", "\"elsewhere\""},
                                      {"nonsense", "1"},
                                      {"vocab-type", "\"word\"\nseed = 2"},
                                      {"source", "\"a\"\rseed = 2"}}) {
        app::PreparedHeader header = good;
        header.options[name] = value;
        here_.write("prepared/prepared.json", header.serialized());
        expect_complaint(here_.run("train --train prepared --out run --updates 1"), 1,
                         fmt::format("prepared: its prepared.json sets the option {}, which a prepared text does not", name));
        EXPECT_FALSE(here_.exists("run"));
    }
}

// The text determines the vocabulary, whatever a preset would set.
TEST_F(PreparedText, KeepsItsVocabularyWithAPreset) {
    ASSERT_EQ(prepare(" --train text --out prepared --vocab-size 30 --source a --target b").status, 0);
    for (const std::string preset : {"notebook", "annotated"}) {
        const ProgramResult result = train(" --train prepared --out run --overwrite --updates 1 --preset " + preset);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(here_.read("run/vocab.model"), here_.read("prepared/vocab.model"));
    }
}

TEST_F(PreparedText, IsNamedWherePlainTextIsRead) {
    ASSERT_EQ(prepare(" --train text --out prepared" + std::string(of_words)).status, 0);
    const std::string is =
        " prepared: it is a prepared text, which only heddle train --train reads; give the PREFIX of plain text";
    expect_complaint(here_.run("train --train text --valid prepared --out run" + std::string(of_words)), 2, "--valid" + is);
    expect_complaint(prepare(" --train prepared --out other" + std::string(of_words)), 2, "--train" + is);
    expect_complaint(here_.run("bench train --train prepared" + std::string(of_words)), 2, "--train" + is);
    ASSERT_EQ(train(" --train prepared --out run --updates 1").status, 0);
    expect_complaint(here_.run("evaluate run --test prepared"), 2, "--test" + is);
}

TEST_F(PreparedText, IsReadFromAPipeOnlyWithAVocabulary) {
    ASSERT_EQ(train(" --train text --out run --updates 1" + std::string(of_words)).status, 0);
    const std::string lines = "a b\tA B\nc\tC\n", tsv = " --tsv --out prepared --train ";
    ASSERT_EQ(mkfifo(here_.path("pipe").c_str(), 0600), 0);
    const std::string from_pipe = "--version >version; cat stdin >pipe & '" HEDDLE_PROGRAM "' prepare" + tsv + "pipe";
    for (const std::string vocabulary : {" --vocab-type word", " --vocab-type word --vocab-lines 2"})
        expect_complaint(here_.run(from_pipe + vocabulary, lines), 1,
                         "pipe: the text is read more than once to learn a vocabulary, which only a file allows");
    EXPECT_FALSE(here_.exists("prepared"));
    const std::string with_vocabulary = " --overwrite --vocab-model run/vocab.tsv";
    for (const ProgramResult& result :
         {here_.run(from_pipe + with_vocabulary, lines), here_.run("prepare" + tsv + "-" + with_vocabulary, lines)}) {
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("prepared: 2 pairs with 6 tokens"));
    }
}

// With a run's vocabulary the text may be a pipe, but no file of the run may: nobody would write to it.
TEST_F(PreparedText, IsMadeOfARunOfRegularFiles) {
    ASSERT_EQ(train(" --train text --out run --updates 1" + std::string(of_words)).status, 0);
    ASSERT_EQ(mkfifo(here_.path("pipe").c_str(), 0600), 0);
    const std::string make = " --train text --source a --target b --out prepared --init ";
    expect_complaint(prepare(make + "pipe"), 1, "pipe: there is no config.toml; wanted a folder that heddle train made");
    for (const std::string file : {"config.toml", "vocab.tsv"}) {
        std::filesystem::rename(here_.path("run/" + file), here_.path("kept"));
        ASSERT_EQ(mkfifo(here_.path("run/" + file).c_str(), 0600), 0);
        expect_complaint(prepare(make + "run"), 1, "run/" + file);
        EXPECT_FALSE(here_.exists("prepared"));
        std::filesystem::rename(here_.path("kept"), here_.path("run/" + file));
    }
    const std::string lines = "a b\tA B\nc\tC\n";
    const ProgramResult result = here_.run(
        "--version >version; cat stdin >pipe & '" HEDDLE_PROGRAM "' prepare --tsv --train pipe --out prepared --init run", lines);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("prepared: 2 pairs with 6 tokens"));
}

TEST_F(PreparedText, IsRefusedBeforeTrainingWhereItIsDamaged) {
    ASSERT_EQ(prepare(" --train text --out prepared" + std::string(of_words)).status, 0);
    const std::string use = " --train prepared --out run --updates 1";
    std::string ids = here_.read("prepared/00000.ids");
    ++ids[10];
    here_.write("prepared/00000.ids", ids);
    expect_complaint(train(use), 1, "prepared/00000.ids: the file is damaged: its digest is");
    expect_complaint(prepare(" --check prepared"), 1, "prepared/00000.ids: the file is damaged");
    std::filesystem::remove(here_.path("prepared/prepared.json"));
    expect_complaint(
        train(use + of_words), 1,
        "prepared is a folder, and there is no prepared.a; wanted the PREFIX of two files, or for heddle train --train a "
        "prepared text");
    EXPECT_FALSE(here_.exists("run"));
}

TEST_F(PreparedText, IsWrittenOnlyWithWhatItNeeds) {
    const std::string all = " --train text --out prepared" + std::string(of_words);
    expect_complaint(prepare(" --out prepared"), 2, "prepare: no text; give --train PREFIX");
    expect_complaint(prepare(" --train text" + std::string(of_words)), 2, "prepare: no folder for the prepared text");
    expect_complaint(prepare(" --train text --out prepared"), 2, "needs the file endings of both languages");
    expect_complaint(prepare(" --train - --tsv --out prepared"), 2,
                     "read more than once; give a file instead of standard input, or a --vocab-model");
    expect_complaint(prepare(" --check prepared --out other"), 2, "leave --out out");
    for (const std::string none : {"none", "text.a"})
        expect_complaint(prepare(" --check " + none), 1,
                         none + "/prepared.json: there is no such file; wanted a folder that heddle prepare made");
    EXPECT_FALSE(here_.exists("prepared"));
    here_.write("text.b", "A\n");
    EXPECT_EQ(prepare(all).status, 1);
    EXPECT_FALSE(here_.exists("prepared"));
    EXPECT_FALSE(here_.exists("prepared.part"));
    write_toy_corpus(here_, 9);
    ASSERT_EQ(prepare(all).status, 0);
    expect_complaint(prepare(all), 1, "there is a prepared text already");
    EXPECT_EQ(prepare(all + " --overwrite").status, 0);
}

}  // namespace
}  // namespace heddle
