// `heddle translate` and `heddle score` as other programs use them: lists, scores, ensembles, samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "apps/command/run.h"
#include "nn/search/search.h"
#include "tests/program.h"
#include "tests/program/program_decoding.h"

namespace heddle::app {
namespace {

using heddle::Decoding;  // not the search's Decoding
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// One line of a list: id ||| text ||| log p and score.
struct Entry {
    int id = -1;
    std::string text;
    double log_probability = 0;
    double score = 0;
};

std::vector<Entry> entries_of(const std::string& list) {
    std::vector<Entry> entries;
    for (const std::string& line : lines_of(list)) {
        const std::size_t one = line.find(" ||| "), two = line.find(" ||| ", one + 5);
        EXPECT_NE(two, std::string::npos) << line;
        Entry& entry = entries.emplace_back();
        entry.text = line.substr(one + 5, two - one - 5);
        std::istringstream(line.substr(0, one)) >> entry.id;
        std::istringstream(line.substr(two + 5)) >> entry.log_probability >> entry.score;
    }
    return entries;
}

TEST_F(Decoding, ListsTheBestOfEachLine) {
    const std::string input = some(20) + "\n\xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\xA6\x84\n" + some(1);
    const std::vector<std::string> best = lines_of(translated("--model ONE", input));
    ASSERT_EQ(best.size(), 23u);
    const std::vector<Entry> list = entries_of(translated("--model ONE --n-best 3 --scores --length-penalty 1", input));
    ASSERT_EQ(list.size(), 22u * 3 + 1) << "an empty line has one entry";
    std::map<int, std::vector<Entry>> by_id;
    for (const Entry& entry : list) by_id[entry.id].push_back(entry);
    for (int id = 0; id < 23; ++id) {
        const std::vector<Entry>& entries = by_id[id];
        ASSERT_EQ(entries.size(), id == 20 ? 1u : 3u) << id;
        EXPECT_EQ(entries[0].text, best[static_cast<std::size_t>(id)]);
        for (std::size_t i = 1; i < entries.size(); ++i) EXPECT_GE(entries[i - 1].score, entries[i].score);
    }
    for (const std::string& line : lines_of(translated("--model ONE --scores", input)))
        EXPECT_THAT(line, MatchesRegex("[0-9]+ \\|\\|\\| .*\\|\\|\\| -[0-9]+\\.[0-9]{6,} -[0-9]+\\.[0-9]{6,}"));
    const std::vector<std::string> plain = lines_of(translated("--model ONE --n-best 2", input));
    ASSERT_EQ(plain.size(), 22u * 2 + 1);
    EXPECT_EQ(plain[0], "0 ||| " + best[0]);
    EXPECT_EQ(plain[40], "20 ||| ");
    const std::vector<Entry> plain_scores = entries_of(translated("--model ONE --scores --length-penalty 0", input));
    for (const Entry& entry : plain_scores) EXPECT_EQ(entry.log_probability, entry.score);
}

// `heddle score` repeats the scores of translations. If the text is encoded to other tokens than the search chose, it is another
// translation to the model: only those with equal tokens are compared.
TEST_F(Decoding, ScoresWhatItTranslatedAsItSaid) {
    train_subwords();
    for (const char* name : {"ONE", "SUB"}) {
        const std::string run = name, input = some(120);
        const app::Run opened = open_run(here_->path(run));
        std::string sources, targets;
        std::vector<Entry> comparable;
        const std::vector<std::string> lines = lines_of(input);
        for (const Entry& entry : entries_of(translated("--model " + run + " --n-best 4 --scores --length-penalty 0.7", input))) {
            const std::string& line = lines[static_cast<std::size_t>(entry.id)];
            std::vector<std::vector<std::int32_t>> source{opened.vocabularies.source->encode(line)};
            source[0].push_back(eos_id);
            const auto ids = opened.vocabularies.target->encode(entry.text);
            const nn::HypothesisLists found = nn::beam_search(*opened.model, source, {.length_penalty = 0.7, .n_best = 4});
            const bool agree = std::any_of(found[0].begin(), found[0].end(), [&](const nn::Hypothesis& each) {
                return each.ended && each.tokens == ids && std::abs(each.log_probability - entry.log_probability) < 1e-5;
            });
            if (!agree) continue;
            comparable.push_back(entry);
            sources += line + "\n";
            targets += entry.text + "\n";
        }
        ASSERT_GT(comparable.size(), 150u) << run;
        here_->write("sources", sources);
        here_->write("targets", targets);
        const ProgramResult scored = here_->run("score --model " + run + " --source-file sources --target-file targets");
        ASSERT_EQ(scored.status, 0) << scored.err;
        const std::vector<std::string> scores = lines_of(scored.out);
        ASSERT_EQ(scores.size(), comparable.size());
        for (std::size_t i = 0; i < scores.size(); ++i)
            EXPECT_NEAR(std::stod(scores[i]), comparable[i].log_probability, 1.1e-5) << run << ": " << comparable[i].text;
        const auto normalized =
            lines_of(here_->run("score --model " + run + " --source-file sources --target-file targets --normalize").out);
        const double tokens = static_cast<double>(opened.vocabularies.target->encode(comparable[0].text).size() + 1);
        EXPECT_NEAR(std::stod(normalized[0]), std::stod(scores[0]) / tokens, 2e-6);
    }
}

TEST_F(Decoding, ScoresEveryLineOddOnesToo) {
    train_two();
    here_->write("sources", "one two\n\none\n\n\xE6\x97\xA5\ntwo\n");
    here_->write("targets", "eins zwei\n\n\nzwei\neins\n\xE6\x97\xA5\n");
    const ProgramResult scored = here_->run("score --model ONE TWO --source-file sources --target-file targets");
    ASSERT_EQ(scored.status, 0) << scored.err;
    ASSERT_EQ(lines_of(scored.out).size(), 6u);
    for (const std::string& line : lines_of(scored.out)) EXPECT_THAT(line, MatchesRegex("-[0-9]+\\.[0-9]{6}"));
    EXPECT_EQ(entries_of(translated("--model ONE TWO --scores", "\n"))[0].log_probability, std::stod(lines_of(scored.out)[1]))
        << "the empty pair";
    here_->write("targets", "a b\n");
    const ProgramResult refused = here_->run("score --model ONE --source-file sources --target-file targets");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("sources has 6 lines, but targets has 1"));
}

TEST_F(Decoding, TranslatesWithSeveralModels) {
    train_two();
    train_subwords();
    const std::string input = some(200);
    const std::string one = translated("--model ONE", input), two = translated("--model TWO", input);
    EXPECT_EQ(translated("--model ONE ONE", input), one);
    const std::string both = translated("--model ONE TWO --beam 5", input);
    EXPECT_NE(both, one);
    EXPECT_NE(both, two);
    EXPECT_EQ(translated("ONE TWO --beam 5", input), both) << "without --model";
    here_->write("ensemble.toml", "model = [\"ONE\", \"TWO\"]\n");
    EXPECT_EQ(translated("--config ensemble.toml", input), both);
    const ProgramResult refused = here_->run("translate --model ONE SUB", input);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, StartsWith("heddle: --model ONE SUB: models that translate together need the same vocabularies, but "
                                        "those of the source differ: "));
    EXPECT_THAT(refused.err,
                testing::EndsWith("train both with one --vocab-model, or (--shared-vocab false) on the same text with "
                                  "the same vocabulary options\n"));
}

TEST_F(Decoding, BeginsWithThePrefix) {
    train_subwords();
    const std::string input = some(20);
    for (const char* how : {"", "--beam 4 --n-best 4 --scores", "--sample --n-best 2 --scores"}) {
        const std::vector<std::string> lines = lines_of(translated("--model SUB --prefix drei " + std::string(how), input));
        EXPECT_GE(lines.size(), 20u);
        for (const std::string& line : lines) {
            const std::size_t field = line.find(" ||| ");
            EXPECT_THAT(line.substr(field == std::string::npos ? 0 : field + 5), StartsWith("drei"));
        }
    }
    // "ei" may be continued to "eins"; with a space after it, it may not.
    const auto texts = [&](const std::string& prefix, const std::string& how) {
        return entries_of(translated("--model SUB --scores --prefix '" + prefix + "' " + how, input));
    };
    for (const char* how : {"--beam 1", "--beam 4 --n-best 4", "--sample --n-best 2"}) {
        int longer = 0;
        for (const Entry& each : texts("ei", how)) longer += each.text.starts_with("eins") ? 1 : 0;
        EXPECT_GT(longer, 10) << how;
        for (const char* ending : {" ", "  ", "\xE3\x80\x80"}) {
            const std::vector<Entry> entries = texts(std::string("ei") + ending, how);
            EXPECT_GE(entries.size(), 20u);
            for (const Entry& each : entries) {
                EXPECT_TRUE(each.text == "ei" || each.text.starts_with("ei ")) << each.text;
                EXPECT_TRUE(std::isfinite(each.log_probability)) << each.text;
            }
        }
    }
    for (const Entry& each : entries_of(translated("--model ONE --scores --prefix 'vier '", input)))
        EXPECT_TRUE(each.text == "vier" || each.text.starts_with("vier ")) << each.text;
    const ProgramResult unknown = here_->run("translate --model SUB --prefix \xE6\x97\xA5", input);
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("use words and signs of that vocabulary"));
}

TEST_F(Decoding, WritesNoUnknownWordWhereItIsForbidden) {
    train_few();
    const std::string unknown = "\xE2\x81\x87", input = some(60);
    EXPECT_THAT(translated("FEW", input), HasSubstr(unknown));
    for (const std::string options : {"", " --beam 1", " --sample", " --n-best 3", " --device cuda --beam 2"})
        EXPECT_EQ(translated("FEW --forbid-unknown" + options, options.ends_with("2") ? some(3) : input).find(unknown),
                  std::string::npos)
            << options;
    // heddle evaluate writes the same words.
    here_->write("some.en", input);
    here_->write("some.de", input);
    for (const std::string option : {"--forbid-unknown", "--max-output-length 2"}) {
        const ProgramResult evaluated = here_->run("evaluate FEW --test some --output words " + option);
        EXPECT_EQ(evaluated.status, 0) << evaluated.err;
        EXPECT_EQ(here_->read("words"), translated("FEW " + option, input)) << option;
    }
}

TEST_F(Decoding, CutsAtTheGivenLengthAndSaysHowOften) {
    const std::string input = "one two three\none\none two three four\n";
    const ProgramResult cut = here_->run("translate ONE --max-output-length 1 --beam 1", input);
    ASSERT_EQ(cut.status, 0) << cut.err;
    for (const std::string& line : lines_of(cut.out)) EXPECT_EQ(line.find(' '), std::string::npos) << line;
    EXPECT_THAT(cut.err, HasSubstr(" of 3 translations did not end and were cut at --max-output-length 1\n"));
    const ProgramResult free = here_->run("translate ONE", input),
                        wide = here_->run("translate ONE --max-output-length 300", input);
    EXPECT_EQ(wide.out, free.out);
    EXPECT_EQ(wide.err, "");
    expect_complaint(here_->run("translate ONE --max-output-length 1 --prefix 'eins zwei'", input), 1,
                     "a prefix of 2 tokens, but translations of 1 at most; use a shorter prefix, or --max-output-length 3");
}

}  // namespace
}  // namespace heddle::app
