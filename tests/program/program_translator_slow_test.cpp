// A translator trained from files as IWSLT publishes them: training on short pairs, a save per epoch, resuming from one of them,
// and a file of results with the weights of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "apps/translation/run/folder.h"
#include "core/digest.h"
#include "core/random.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The preset at a size that trains in a moment.
const std::string small_translator =
    "--preset translator --source de --target en --layers 1 --d-model 32 --heads 2 --d-ff 64 --lr 1e-3 --threads 2 ";

// Generated talks in IWSLT's formats; a word is the same number in both languages, and sentences have 2 to 14 words.
class Translator : public testing::Test {
  protected:
    Translator() {
        Sequence numbers(11);
        std::string de, en;
        for (int talk = 0; talk < 3; ++talk) {
            const std::string id = std::to_string(100 + talk);
            de += "<url>http://talks/de/" + id + "</url>\n<talkid>" + id + "</talkid>\n<title>Rede</title>\n";
            en += "<url>http://talks/" + id + "</url>\n<talkid>" + id + "</talkid>\n<title>Talk</title>\n";
            for (int line = 0; line < 40; ++line) {
                const auto [german, english] = sentence(numbers);
                de += german + "\n";
                en += english + "\n";
            }
        }
        here_.write("train.tags.de-en.de", de);
        here_.write("train.tags.de-en.en", en);
        std::string xml_de = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mteval>\n<srcset>\n<doc docid=\"9\">\n",
                    xml_en = xml_de;
        for (int i = 1; i <= 20; ++i) {
            const auto [german, english] = sentence(numbers);
            sources_.push_back(german);
            references_.push_back(english);
            const std::string head = "<seg id=\"" + std::to_string(i) + "\"> ";
            xml_de += head + german + " </seg>\n";
            xml_en += "   " + head + english + "\n</seg>\n";
        }
        here_.write("test.de.xml", xml_de + "</doc>\n</srcset>\n</mteval>\n");
        here_.write("test.en.xml", xml_en + "</doc>\n</srcset>\n</mteval>\n");
    }

    static std::pair<std::string, std::string> sentence(Sequence& numbers) {
        std::string german, english;
        for (std::uint64_t n = 2 + numbers.below(13); n > 0; --n) {
            const std::string number = std::to_string(numbers.below(12));
            german += (german.empty() ? "d" : " d") + number;
            english += (english.empty() ? "e" : " e") + number;
        }
        return {german, english};
    }
    ProgramResult train(const std::string& arguments) const { return here_.run("train " + arguments); }
    ProgramResult train_whole(const std::string& run, int epochs) const {
        return train(small_translator + "--train train.tags.de-en --min-count 2 --batch-sentences 4 --epochs " +
                     std::to_string(epochs) + " --out " + run);
    }
    std::string digest_of(const std::string& file) const {
        EXPECT_TRUE(here_.exists(file)) << file;
        return digest(here_.read(file));
    }
    std::int64_t updates_of_epoch(const std::string& run, std::int64_t epoch) const {
        return std::stoll(app::save_of_epoch(here_.path(run), epoch).filename().string());
    }
    /// The numbers in a run's log, without times.
    std::string log_without_times(const std::string& run) const {
        std::string text;
        for (const std::string& line : lines_of(here_.read(run + "/log.jsonl"))) {
            nlohmann::ordered_json object = nlohmann::ordered_json::parse(line);
            if (object["kind"] != "training") continue;
            for (const char* time : {"tokens_per_second", "loading_seconds", "step_seconds", "seconds", "eta"})
                object.erase(time);
            text += object.dump() + "\n";
        }
        return text;
    }
    /// Tag, steps and values of all_scalars.json.
    std::string scalars_without_times(const std::string& run) const {
        nlohmann::ordered_json all = nlohmann::ordered_json::parse(here_.read(run + "/all_scalars.json"));
        all.erase("train/tokens_per_second");
        for (auto& [tag, rows] : all.items())
            for (auto& row : rows) row.erase(row.begin());
        return all.dump();
    }

    const Workplace here_;
    std::vector<std::string> sources_, references_;
};

TEST_F(Translator, TrainsOnShortPairsAndSaysSoInItsOwnForm) {
    const ProgramResult trained = train_whole("run", 3);
    ASSERT_EQ(trained.status, 0) << trained.err;
    const auto is_long = [](const std::string& line) { return std::count(line.begin(), line.end(), ' ') >= 10; };
    std::int64_t kept = 0;
    for (const std::string& line : lines_of(here_.read("train.tags.de-en.de"))) kept += line[0] != '<' && !is_long(line) ? 1 : 0;
    const std::int64_t batches = (kept + 3) / 4;
    EXPECT_THAT(trained.err,
                HasSubstr(std::to_string(kept) + " pairs, " + std::to_string(batches) +
                          " batches of up to 4 sentences an epoch (" + std::to_string(120 - kept) + " pairs too long"));
    const std::regex form(
        "epoch (\\d+), batch (\\d+)/(\\d+), loss \\d+\\.\\d+, acc [01]\\.\\d+, loading \\d+\\.\\d+ s, step \\d+\\.\\d+ s");
    std::vector<std::int64_t> updates;
    for (const std::string& line : lines_of(trained.err)) {
        std::smatch found;
        if (!line.starts_with("epoch")) continue;
        ASSERT_TRUE(std::regex_match(line, found, form)) << line;
        EXPECT_EQ(std::stoll(found[3]), batches);
        updates.push_back((std::stoll(found[1]) - 1) * batches + std::stoll(found[2]));
    }
    ASSERT_EQ(updates.size(), static_cast<std::size_t>(3 * batches / 5));
    for (std::size_t i = 0; i < updates.size(); ++i) EXPECT_EQ(updates[i], static_cast<std::int64_t>(5 * (i + 1)));

    const auto all = nlohmann::json::parse(here_.read("run/all_scalars.json"));
    for (const char* tag : {"train/loss", "train/accuracy", "train/learning_rate"}) {
        ASSERT_EQ(all.at(tag).size(), static_cast<std::size_t>(3 * batches / 10)) << tag;
        for (std::size_t i = 0; i < all.at(tag).size(); ++i) EXPECT_EQ(all.at(tag)[i][1], 10 * (i + 1));
    }
    EXPECT_EQ(all.at("train/learning_rate")[0][2], 0.001f);
    const std::vector<std::string> words = lines_of(here_.read("run/vocab.source.tsv"));
    ASSERT_EQ(words.size(), 13u);
    for (std::size_t i = 1; i < words.size(); ++i) EXPECT_TRUE(std::regex_match(words[i], std::regex("d\\d+\t\\d+"))) << words[i];
    EXPECT_EQ(app::saved_updates(here_.path("run")), (std::vector<std::int64_t>{batches, 2 * batches, 3 * batches}));
}

TEST_F(Translator, GoesOnFromAnyEpochAsIfItHadNeverStopped) {
    ASSERT_EQ(train_whole("whole", 4).status, 0);
    for (const int epoch : {1, 3}) {
        std::filesystem::remove_all(here_.path("run"));
        std::filesystem::copy(here_.path("whole"), here_.path("run"),
                              std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
        const ProgramResult resumed = train("--resume run --preload " + std::to_string(epoch));
        ASSERT_EQ(resumed.status, 0) << resumed.err;
        EXPECT_THAT(resumed.err, AllOf(HasSubstr("the end of epoch " + std::to_string(epoch)),
                                       HasSubstr("epoch " + std::to_string(epoch + 1) + ", batch "),
                                       Not(HasSubstr("epoch " + std::to_string(epoch) + ", batch "))));
        EXPECT_EQ(digest_of("run/model.safetensors"), digest_of("whole/model.safetensors"));
        for (int each = 1; each <= 4; ++each)
            for (const char* file : {"/model.safetensors", "/moments.safetensors"}) {
                const std::string name = "/saves/" + std::to_string(updates_of_epoch("whole", each)) + file;
                EXPECT_EQ(digest_of("run" + name), digest_of("whole" + name)) << "epoch " << each;
            }
        EXPECT_EQ(log_without_times("run"), log_without_times("whole"));
        EXPECT_EQ(scalars_without_times("run"), scalars_without_times("whole"));
    }
}

TEST_F(Translator, IsAtTheChosenEpochAtOnceEvenWhenNothingIsLeftToTrain) {
    ASSERT_EQ(train_whole("run", 3).status, 0);
    const std::int64_t first = updates_of_epoch("run", 1), third = updates_of_epoch("run", 3);
    const std::string trained = digest_of("run/model.safetensors"), aside = "model-" + std::to_string(third) + ".safetensors";
    const ProgramResult back = train("--resume run --preload 1 --epochs 1");
    ASSERT_EQ(back.status, 0) << back.err;
    EXPECT_THAT(back.err, HasSubstr("the weights of the run that went on from here stay as run/" + aside));
    EXPECT_EQ(digest_of("run/" + aside), trained);
    EXPECT_NE(digest_of("run/model.safetensors"), trained);
    EXPECT_EQ(app::latest_save(here_.path("run")), app::save_folder(here_.path("run"), first));
    EXPECT_EQ(app::saved_updates(here_.path("run")), std::vector<std::int64_t>{first});
    const ProgramResult resumed = train("--resume run --epochs 3");
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("goes on from update " + std::to_string(first) + "\n"));
    EXPECT_EQ(app::latest_save(here_.path("run")), app::save_folder(here_.path("run"), third));
}

TEST_F(Translator, WritesItsResultsWithTheWeightsOfAnEpoch) {
    ASSERT_EQ(train_whole("run", 3).status, 0);
    const ProgramResult scored = here_.run("evaluate --model run --test test --eval-epoch 2 --beam 1 --results results");
    ASSERT_EQ(scored.status, 0) << scored.err;
    const auto longer = std::count_if(sources_.begin(), sources_.end(),
                                      [](const std::string& line) { return std::count(line.begin(), line.end(), ' ') >= 10; });
    EXPECT_THAT(scored.err, AllOf(HasSubstr("20 sentences translated"),
                                  HasSubstr(std::to_string(longer) + " of 20 sources have more than 10 words")));

    // Line by line, the same as the program's translations with the same weights.
    std::string input;
    for (const std::string& line : sources_) input += line + "\n";
    const ProgramResult translated = here_.run("translate --model run --eval-epoch 2 --beam 1", input);
    const ProgramResult of_xml =
        here_.run("translate --model run --eval-epoch 2 --beam 1 --format xml", here_.read("test.de.xml"));
    EXPECT_EQ(of_xml.out, translated.out) << of_xml.err;
    EXPECT_NE(here_.run("translate --model run --eval-epoch 1 --beam 1", input).out, translated.out);
    const std::vector<std::string> hypotheses = lines_of(translated.out);
    ASSERT_EQ(hypotheses.size(), sources_.size());
    std::string wanted;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        wanted += "- source: " + sources_[i] + "\n- expected: " + references_[i] + "\n- got: " + hypotheses[i] + "\n\n";
    std::smatch bleu;
    ASSERT_TRUE(std::regex_search(scored.out, bleu, std::regex("BLEU = (\\d+\\.\\d\\d) ")));
    wanted += "Bleu Score = " + bleu[1].str() + "\n";
    EXPECT_EQ(here_.read("results/model2.txt"), wanted);

    EXPECT_EQ(here_.run("evaluate --model run --test test --beam 1 --results results").status, 0);
    EXPECT_TRUE(here_.exists("results/model.txt"));
    const ProgramResult score =
        here_.run("score --model run --eval-epoch 3 --format xml --source-file test.de.xml --target-file test.en.xml");
    EXPECT_EQ(lines_of(score.out).size(), 20u) << score.err;
}

TEST_F(Translator, RefusesWhatCannotBe) {
    ASSERT_EQ(train(small_translator + "--train train.tags.de-en --min-count 2 --batch-sentences 4 --epochs 2 --keep 1 --out run")
                  .status,
              0);
    expect_complaint(train("--resume run --preload 1"), 1,
                     "there is no save of the end of epoch 1; it has 1 of the end of an epoch, from 2 to 2");
    expect_complaint(here_.run("evaluate --model run --test test --eval-epoch 7"), 1, "there is no save of the end of epoch 7");
    expect_complaint(here_.run("evaluate --model run --test test --eval-epoch 2 --weights best"), 2,
                     "--weights and --eval-epoch");
    expect_complaint(here_.run("evaluate --model run --test test --results test.de.xml"), 1,
                     "--results test.de.xml: the folder cannot be made");
    expect_complaint(here_.run("translate --model run --eval-epoch 0"), 2, "--eval-epoch is '0'");
    expect_complaint(here_.run("translate --model nowhere --eval-epoch 1"), 1, "nowhere: there is no run");
    expect_complaint(here_.run("summary --model run --input 1x300"), 2,
                     "positions are learned for 256; give shorter sentences\n");
    expect_complaint(train("--preload 1 --train train.tags.de-en --source de --target en --out x"), 2,
                     "--preload EPOCH needs --resume RUN");
    expect_complaint(train("--resume run --max-words 12"), 2, "--max-words 12 (it has 10)");
    const ProgramResult endless = train("--task copy --out x --batch-tokens 0");
    EXPECT_EQ(endless.status, 2);
    EXPECT_THAT(endless.err, HasSubstr("--batch-tokens 0 sets no limit"));
    expect_complaint(train("--task copy --out x --format xml"), 2, "--format");
    expect_complaint(train("--train a --tsv --out x --format xml"), 2, "--tsv is a format of its own");
    expect_complaint(here_.run("evaluate --reference test.en.xml --hypotheses test.de.xml --results r"), 2,
                     "--results is for translating");
    const ProgramResult none = train("--train train.tags.de-en --source de --target en --vocab-type word --max-words 1 --out x");
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, HasSubstr("words (--max-words)"));
    here_.write("short.de", "<talkid>1</talkid>\na\nb\n");
    here_.write("short.en", "<talkid>1</talkid>\na\n");
    const ProgramResult uneven = train("--train short --source de --target en --out x");
    EXPECT_THAT(uneven.err, AllOf(HasSubstr("short.de has 3 lines"), HasSubstr("short.en has 2 lines")));
}

}  // namespace
}  // namespace heddle
