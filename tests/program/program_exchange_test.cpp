// The command lines of heddle import and heddle export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::HasSubstr;

class ExchangeCommands : public testing::Test {
  protected:
    void SetUp() override {
        write_toy_corpus(here, 200);
        const ProgramResult trained = here.run(
            "train --train text --source a --target b --vocab-type unigram --vocab-size 24 --updates 3 --d-model 16 --d-ff 16 "
            "--layers 1 --heads 2 "
            "--norm post --threads 1 --out run");
        ASSERT_EQ(trained.status, 0) << trained.err;
    }
    Workplace here;
};

TEST_F(ExchangeCommands, RefuseWhatIsMissingOrInTheWay) {
    expect_complaint(here.run("export run --to huggingface"), 2, "--model has 1 values, wanted 2");
    expect_complaint(here.run("export run out"), 2, "export: no format; give --to huggingface|marian|ctranslate2|argos");
    expect_complaint(here.run("export run out --to onnx"), 2, "huggingface");
    expect_complaint(here.run("export nothing out --to ctranslate2"), 1, "nothing");
    expect_complaint(here.run("export run run --to ctranslate2"), 1, "is the run itself");
    expect_complaint(here.run("export run out --to argos"), 2, "ends in .argosmodel");
    expect_complaint(here.run("export run out --to marian"), 1, "--positions sinusoidal");
    expect_complaint(here.run("export run out --to ctranslate2 --languages de en"), 2, "leave --languages out");
    expect_complaint(here.run("import run/model.safetensors --out back"), 1, "give its folder");
    EXPECT_FALSE(here.exists("out")) << "nothing is written before an export is known to be possible";
}

TEST_F(ExchangeCommands, ReplaceFilesOnlyWhenToldTo) {
    ASSERT_EQ(here.run("export run out --to huggingface").status, 0);
    const std::string weights = here.read("out/model.safetensors");
    here.write("out/model.safetensors", "other");
    here.write("out/target_vocab.json", "{}");
    here.write("out/notes.txt", "mine");
    expect_complaint(here.run("export run out --to huggingface"), 1, "out is not empty");
    const ProgramResult again = here.run("export run out --to huggingface --overwrite --dtype f32");
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(here.read("out/model.safetensors"), weights);
    EXPECT_FALSE(here.exists("out/target_vocab.json")) << "of an earlier model";
    EXPECT_EQ(here.read("out/notes.txt"), "mine");
    EXPECT_THAT(here.read("out/tokenizer_config.json"), HasSubstr("\"source_lang\": \"a\""));
    const ProgramResult other = here.run("export run out --to ctranslate2 --overwrite");
    ASSERT_EQ(other.status, 0) << other.err;
    for (const char* name : {"model.safetensors", "vocab.json", "tokenizer_config.json"})
        EXPECT_FALSE(here.exists(std::string("out/") + name)) << name << " is of another toolkit";
    EXPECT_EQ(here.read("out/notes.txt"), "mine");
    ASSERT_EQ(here.run("import out --out through").status, 0);
    const std::string own = here.read("through/model.safetensors");
    expect_complaint(here.run("export run through --to huggingface --overwrite"), 1, "through is a run of Heddle");
    EXPECT_EQ(here.read("through/model.safetensors"), own);
    ASSERT_EQ(here.run("export run half --to huggingface --dtype f16").status, 0);
    EXPECT_LT(here.read("half/model.safetensors").size(), weights.size() * 6 / 10);
    ASSERT_EQ(here.run("export run pair.argosmodel --to argos").status, 0);
    expect_complaint(here.run("export run pair.argosmodel --to argos"), 1, "pair.argosmodel exists");
    ASSERT_EQ(here.run("import pair.argosmodel --out back").status, 0);
    EXPECT_THAT(here.read("back/config.toml"), HasSubstr("source = \"a\""));
}

}  // namespace
}  // namespace heddle
