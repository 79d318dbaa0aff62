// The whole program on small tasks: train, choose a length penalty, translate, evaluate, and repeat.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/safetensors.h"
#include "tests/program.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* small_run = " --layers 1 --d-model 32 --heads 2 --d-ff 64 --threads 2 --log-every 10";

TEST(ProgramSlow, TrainsTranslatesAndEvaluatesATask) {
    const Workplace here;
    const ProgramResult trained =
        here.run("train --task copy --out RUN --updates 40 --valid-sentences 20" + std::string(small_run));
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(trained.out, "");
    EXPECT_THAT(trained.err, AllOf(HasSubstr("task copy"), HasSubstr("the task sets"), HasSubstr("update     20"),
                                   HasSubstr("perplexity"), HasSubstr("BLEU"), HasSubstr("translation ")));
    for (const char* file :
         {"RUN/config.toml", "RUN/vocab.tsv", "RUN/model.safetensors", "RUN/best.safetensors", "RUN/log.jsonl", "RUN/test.in",
          "RUN/test.out", "RUN/saves/latest/model.safetensors", "RUN/saves/latest/moments.safetensors"})
        EXPECT_TRUE(here.exists(file)) << file;

    const ProgramResult translated = here.run("translate --model RUN --beam 2", "a b c\n\nd e\r\n  \nf");
    ASSERT_EQ(translated.status, 0) << translated.err;
    EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 5) << "one line in, one line out";
    EXPECT_THAT(translated.out, HasSubstr("\n\n"));
    EXPECT_EQ(here.run("translate --model RUN", "").out, "");

    const ProgramResult evaluated = here.run("evaluate --model RUN --beam 1 --output hypotheses");
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, AllOf(HasSubstr("BLEU = "), HasSubstr("of 1000 lines")));
    const ProgramResult scored = here.run("evaluate --hypotheses hypotheses --reference RUN/test.out");
    EXPECT_EQ(scored.out, evaluated.out) << "the file of translations scores as the run did";

    const ProgramResult summary = here.run("summary --model RUN");
    EXPECT_EQ(summary.status, 0) << summary.err;
    EXPECT_THAT(summary.out, HasSubstr("EncoderLayer "));
}

// Characters that SentencePiece's own rules would replace by similar ones: superscripts, fractions, full-width signs, ligatures,
// joiners.
TEST(ProgramSlow, WritesTheCharactersThatItLearned) {
    const Workplace here;
    here.write("text.de", "Es sind 5 m².\nein ½ Pfund\nhallo Welt\nMarke™\nWasser ist H₂O\n");
    here.write("text.en", "It is 5 m².\n½ pound\n你好，世界！\nﬁrst™\nH₂O is می‌خواهم\n");
    const std::string text = " --source de --target en";
    const ProgramResult trained = here.run(
        "train --train text --valid text --out RUN --updates 250 --vocab-size 120 --lr 0.005 "
        "--warmup 30 --dropout 0 --valid-every 250" +
        text + small_run);
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult evaluated = here.run("evaluate --model RUN --test text" + text);
    EXPECT_THAT(evaluated.out, HasSubstr("exact: 5 of 5 lines")) << trained.err;
    const ProgramResult mistaken =
        here.run("train --train text --out OTHER --vocab-model RUN/vocab.model --vocab-type unigram" + text);
    EXPECT_EQ(mistaken.status, 2);
    EXPECT_THAT(mistaken.err, HasSubstr("it is a bpe vocabulary; leave out --vocab-type unigram"));
}

// The demo's training, with the options that the task sets.
TEST(ProgramSlow, LearnsNumbersAndTranslatesUnseenOnes) {
    const Workplace here;
    const ProgramResult trained = here.run("train --task numbers --out RUN --valid-sentences 0");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult translated = here.run("translate --model RUN", here.read("RUN/test.en"));
    ASSERT_EQ(translated.status, 0) << translated.err;
    std::istringstream given(translated.out), wanted(here.read("RUN/test.de"));
    int exact = 0, total = 0;
    for (std::string a, b; std::getline(wanted, b); ++total) exact += std::getline(given, a) && a == b ? 1 : 0;
    EXPECT_EQ(total, 1000);
    EXPECT_GE(exact, 990);
}

TEST(ProgramSlow, RepeatsARunFromItsConfiguration) {
    const Workplace here;
    ASSERT_EQ(
        here.run("train --task reverse --out ONE --updates 12 --valid-sentences 0 --dropout 0.1" + std::string(small_run)).status,
        0);
    const ProgramResult again = here.run("train --config ONE/config.toml --out TWO");
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(here.read("ONE/config.toml"), here.read("TWO/config.toml"));
    EXPECT_EQ(here.read("ONE/vocab.tsv"), here.read("TWO/vocab.tsv"));
    EXPECT_EQ(here.read("ONE/model.safetensors"), here.read("TWO/model.safetensors")) << "bit for bit";
    ASSERT_EQ(here.run("train --config ONE/config.toml --seed 2 --out THREE").status, 0);
    EXPECT_NE(here.read("ONE/model.safetensors"), here.read("THREE/model.safetensors"));
}

TEST(ProgramSlow, WritesWhatAGivenVocabularyIsIntoTheConfiguration) {
    const Workplace here;
    const std::string data = "train --train text --source a --target b --updates 1" + std::string(small_run);
    here.write("text.a", "Eins Zwei\nDrei\n");
    here.write("text.b", "One Two\nThree\n");
    ASSERT_EQ(here.run(data + " --out ONE --vocab-type word --lowercase").status, 0);
    const ProgramResult given = here.run(data + " --out TWO --vocab-model ONE/vocab.tsv");
    ASSERT_EQ(given.status, 0) << given.err;
    EXPECT_THAT(given.err, HasSubstr("10 word tokens from ONE/vocab.tsv, in lower case"));
    EXPECT_THAT(here.read("TWO/config.toml"),
                AllOf(HasSubstr("vocab-type = \"word\""), HasSubstr("vocab-size = 10"), HasSubstr("lowercase = true")));
    EXPECT_EQ(here.run("translate --model TWO", "eins\n").status, 0);
}

TEST(ProgramSlow, SaysInOneLineThatWeightsDoNotFit) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --updates 1 --valid-sentences 0" + std::string(small_run)).status, 0);
    std::string config = here.read("RUN/config.toml");
    const std::size_t at = config.find("d-ff = 64");
    ASSERT_NE(at, std::string::npos);
    here.write("RUN/config.toml", config.replace(at, 9, "d-ff = 65"));
    const ProgramResult refused = here.run("translate --model RUN", "a b");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("holds a model with d-ff = 64, but the configuration says d-ff = 65"));

    // Weights from another program have no options recorded, so every tensor is checked.
    const SafetensorsFile file(here.path("RUN/model.safetensors"));
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name));
    save_safetensors(here.path("RUN/model.safetensors"), tensors);
    const ProgramResult misshapen = here.run("translate --model RUN", "a b");
    EXPECT_EQ(misshapen.status, 1);
    EXPECT_EQ(std::count(misshapen.err.begin(), misshapen.err.end(), '\n'), 1) << misshapen.err;
    EXPECT_THAT(misshapen.err, AllOf(HasSubstr("wanted [65"), HasSubstr(" more")));
}

TEST(ProgramSlow, RefusesToReplaceARun) {
    const Workplace here;
    const std::string train = "train --task copy --out RUN --updates 1 --valid-sentences 0" + std::string(small_run);
    ASSERT_EQ(here.run(train).status, 0);
    const ProgramResult refused = here.run(train);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("--overwrite"));
    EXPECT_EQ(here.run(train + " --overwrite").status, 0);
}

TEST(ProgramSlow, BeginsARunAgainThatLearnedNothing) {
    const Workplace here;
    const std::string train = "train --task copy --out RUN --updates 2 --valid-sentences 0" + std::string(small_run);
    EXPECT_EQ(here.run(train + " --lr 1e30 --clip 0 --warmup 0").status, 3) << "it diverges in its first updates";
    ASSERT_TRUE(here.exists("RUN/config.toml"));
    const ProgramResult again = here.run(train);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("RUN: the run there ended before its first save; another one begins in its place\n"));
    EXPECT_THAT(here.read("RUN/config.toml"), Not(HasSubstr("1e+30")));
    EXPECT_EQ(here.run(train).status, 1) << "now there is something to lose";
}

// Ten short pairs, repeated: enough for a run, too little for 6000 subwords.
void write_pairs(const Workplace& here, const std::string& name) {
    std::string de, en;
    for (int i = 0; i < 40; ++i) {
        de += "ein Hund läuft\ndas Haus ist groß\ndie Katze schläft nicht\n";
        en += "a dog runs\nthe house is big\nthe cat does not sleep\n";
    }
    here.write(name + ".de", de + "\n");
    here.write(name + ".en", en + "left alone\n");
}

TEST(ProgramSlow, TrainsOnFilesWithEveryKindOfVocabulary) {
    const Workplace here;
    write_pairs(here, "t");
    for (const char* kind : {"--vocab-type bpe", "--vocab-type unigram --vocab-size 40", "--vocab-type word --lowercase",
                             "--vocab-type char --shared-vocab false", "--vocab-type word --shared-vocab false --tie none"}) {
        const ProgramResult trained =
            here.run("train --train t --valid t --source de --target en --out RUN --overwrite --updates 3 " + std::string(kind) +
                     small_run);
        ASSERT_EQ(trained.status, 0) << kind << "\n" << trained.err;
        EXPECT_THAT(trained.err, HasSubstr("1 training pairs with an empty side")) << kind;
        const ProgramResult translated = here.run("translate --model RUN", "ein Hund\n");
        EXPECT_EQ(translated.status, 0) << kind << "\n" << translated.err;
        EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 1) << kind;
    }
}

TEST(ProgramSlow, TrainsWithEveryModelOption) {
    const Workplace here;
    write_pairs(here, "t");
    for (const char* options :
         {"--norm post --final-norm --activation gelu --bias false",
          "--positions learned --position-table 64 --activation gelu-tanh",
          "--tie target --encoder-layers 2 --decoder-layers 1 --head-dim 8 --key-heads 1",
          "--tie none --attention-dropout 0 --ffn-dropout 0.5", "--optimizer adamw --weight-decay 0.01 --schedule noam --lr 1",
          "--optimizer sgd --schedule constant --lr 0.01",
          "--schedule cosine --accumulate 2 --batch-tokens 100 --adam-betas 0.9,0.99 --adam-eps 1e-8 --clip 0"}) {
        const ProgramResult trained = here.run("train --train t --source de --target en --out RUN --overwrite --updates 4" +
                                               std::string(small_run) + " --vocab-type word " + options);
        EXPECT_EQ(trained.status, 0) << options << "\n" << trained.err;
    }
}

TEST(ProgramSlow, MeasuresTraining) {
    const Workplace here;
    write_pairs(here, "t");
    const ProgramResult result =
        here.run("bench train --train t --source de --target en --updates 6 --skip 2 --json --vocab-type word" +
                 std::string(" --layers 1 --d-model 32 --heads 2 --d-ff 64"));
    ASSERT_EQ(result.status, 0) << result.err;
    const auto object = nlohmann::json::parse(result.out);
    for (const char* field : {"peer", "mode", "device", "dtype", "threads", "parameters", "updates", "replayed_steps",
                              "tokens_per_second", "seconds", "peak_memory_mb"})
        EXPECT_TRUE(object.contains(field)) << field;
    EXPECT_EQ(object["updates"], 6);
    EXPECT_GT(object["tokens_per_second"], 0);
}

TEST(ProgramSlow, MeasuresOps) {
    const Workplace here;
    const ProgramResult table = here.run("bench ops --op layer_norm --seconds 0");
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out, AllOf(HasSubstr("GFLOP/s"), HasSubstr("layer_norm"), Not(HasSubstr("attention"))));
    const auto object = nlohmann::json::parse(here.run("bench ops --op linear --seconds 0 --json").out);
    EXPECT_GT(object["peak_gflops"], 0);
    EXPECT_GT(object["ops"][0]["forward_gflops"], 0);
}

// The presets train what their write-ups describe.

// Two layers, ten symbols, 400 updates of warm-up, label smoothing 0.1; tested on 1,000 unseen sequences.
TEST(ProgramPresets, AnnotatedLearnsToCopyWhatItNeverSaw) {
    const Workplace here;
    const ProgramResult trained = here.run("train --preset annotated-copy --valid-sentences 0 --out RUN");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult evaluated = here.run("evaluate --model RUN --test RUN/test --beam 1");
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    const std::size_t at = evaluated.out.find("exact: ");
    ASSERT_NE(at, std::string::npos) << evaluated.out;
    int exact = 0, lines = 0;
    ASSERT_EQ(std::sscanf(evaluated.out.c_str() + at, "exact: %d of %d", &exact, &lines), 2) << evaluated.out;
    EXPECT_EQ(lines, 1000);
    EXPECT_GE(exact, 990);
}

// The choice of a length penalty at the end of training.

using testing::StartsWith;

constexpr const char* small =
    " --layers 1 --d-model 16 --heads 2 --d-ff 32 --valid-sentences 0 --average 2 --log-every 1000 --schedule constant --lr 1e-3";

// The log lines about the choice, without the seconds and the folder.
std::string chosen(const ProgramResult& trained) {
    EXPECT_EQ(trained.status, 0) << trained.err;
    for (const std::string& line : lines_of(trained.err))
        if (line.starts_with("length penalty ")) return line.substr(0, line.find(" (chosen in"));
    return {};
}

TEST(ProgramSearchSlow, IsChosenAtTheEndAndTheSameOnAnyThreadsAndWayThere) {
    const Workplace here;
    const std::string straight = chosen(here.run("train --task copy --out ONE --epochs 2 --threads 2" + std::string(small)));
    EXPECT_THAT(straight, AllOf(StartsWith("length penalty "), HasSubstr(" % exact of "), HasSubstr(" validation pairs")));
    EXPECT_THAT(here.read("ONE/search.toml"), HasSubstr("\nlength-penalty = "));

    ASSERT_EQ(here.run("train --task copy --out TWO --epochs 1 --threads 1 --tune-search false" + std::string(small)).status, 0);
    EXPECT_FALSE(here.exists("TWO/search.toml"));
    EXPECT_EQ(chosen(here.run("train --resume TWO --epochs 2 --tune-search")), straight);
    EXPECT_EQ(here.read("TWO/search.toml"), here.read("ONE/search.toml"));
    // Resuming a finished run does not train further, and makes the same choice.
    std::filesystem::remove(here.path("TWO/search.toml"));
    EXPECT_EQ(chosen(here.run("train --resume TWO")), straight);
    EXPECT_EQ(here.read("TWO/search.toml"), here.read("ONE/search.toml"));
    // A choice that exists is kept, since it may be the user's.
    here.write("TWO/search.toml", "length-penalty = 0.77\n");
    const ProgramResult again = here.run("train --resume TWO");
    EXPECT_THAT(again.err, AllOf(HasSubstr("nothing to train"), Not(HasSubstr("choosing the length penalty"))));
    EXPECT_EQ(here.read("TWO/search.toml"), "length-penalty = 0.77\n");
}

TEST(ProgramSearchSlow, IsNotChosenByATrainingThatIsToldToStop) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --out RUN --epochs 1 --tune-search false" + std::string(small)).status, 0);
    RunningProgram program(here, {"train", "--resume", "RUN", "--epochs", "2", "--tune-search"});
    for (int i = 0; i < 12000 && here.read("log").find("choosing the length penalty") == std::string::npos; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.send(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM) << here.read("log");
    EXPECT_THAT(here.read("log"),
                AllOf(HasSubstr("no length penalty was chosen: stopped by SIGTERM; heddle evaluate --tune RUN "),
                      HasSubstr("wrote RUN/report.html")));
    EXPECT_FALSE(here.exists("RUN/search.toml"));
}

}  // namespace
}  // namespace heddle
