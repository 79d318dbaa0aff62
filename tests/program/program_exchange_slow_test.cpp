// heddle import and heddle export, from a training to the toolkits themselves: the same greedy translations in transformers,
// CTranslate2 and Argos Translate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/file.h"
#include "tests/program.h"
#include "tests/shell.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr int sentences = 100;

/// Trains for some seconds on letters; with HEDDLE_TEST_ALL=1 for half a minute, on sentences where they are.
class Exchange : public testing::Test {
  protected:
    void train(const std::string& options) {
        const std::string folder = HEDDLE_SOURCE_DIR "/../shared/data/tatoeba_deen";
        const bool real = std::getenv("HEDDLE_TEST_ALL") != nullptr && fs::exists(folder + "/short_train.de");
        if (!real) write_toy_corpus(here_, 2000);
        const std::string text =
            real ? "--train " + folder + "/short_train --source de --target en --vocab-size 2000 --updates 300"
                 : "--train text --source a --target b --vocab-type unigram --vocab-size 24 --updates 150";
        const ProgramResult trained =
            here_.run("train " + text + " --out run --threads 1 --d-model 64 --d-ff 128 --layers 2 " + options);
        ASSERT_EQ(trained.status, 0) << trained.err;
        const std::vector<std::string> all = lines_of(read_file(real ? folder + "/test.de" : here_.path("text.a")));
        for (int line = 0; line < sentences; ++line) source_ += all.at(static_cast<std::size_t>(line)) + "\n";
        const ProgramResult translated = here_.run("translate run --beam 1 --max-output-length 256 --threads 1", source_);
        ASSERT_EQ(translated.status, 0) << translated.err;
        wanted_ = lines_of(translated.out);
        ASSERT_EQ(wanted_.size(), sentences);
    }
    void expect_the_same_in(const std::string& toolkit, const std::string& path) {
        here_.write("source", source_);
        const ShellOutput other =
            shell(quoted(python()) + " " + quoted(HEDDLE_SOURCE_DIR "/tests/exchange/translate_export.py") + " " + toolkit + " " +
                  quoted(here_.path(path)) + " < " + quoted(here_.path("source")) + " 2> " + quoted(here_.path("errors")));
        ASSERT_EQ(other.status, 0) << here_.read("errors");
        const std::vector<std::string> found = lines_of(other.text);
        ASSERT_EQ(found.size(), sentences);
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], wanted_[i]) << toolkit << ", line " << i;
    }
    void export_to(const std::string& toolkit, const std::string& out, const std::string& options = "") {
        const ProgramResult exported = here_.run("export run --to " + toolkit + " " + out + " " + options);
        ASSERT_EQ(exported.status, 0) << exported.err;
    }

    Workplace here_;
    std::string source_;
    std::vector<std::string> wanted_;
};

TEST_F(Exchange, TransformersTranslatesThePaperModelAsHeddle) {
    HEDDLE_NEEDS_PYTHON_WITH("transformers torch sentencepiece");
    train("--norm post --positions sinusoidal");
    export_to("huggingface", "hf");
    expect_the_same_in("huggingface", "hf");
}

TEST_F(Exchange, CTranslate2AndArgosTranslateTheDefaultModelAsHeddle) {
    HEDDLE_NEEDS_PYTHON_WITH("ctranslate2 sentencepiece argostranslate");
    train("");
    export_to("ctranslate2", "ct2");
    expect_the_same_in("ctranslate2", "ct2");
    export_to("argos", "de_en.argosmodel", "--languages de en");
    expect_the_same_in("argos", "de_en.argosmodel");
}

}  // namespace
}  // namespace heddle
