// Attention pages of a trained model, made by the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/markup.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// A model that has learned, in a few seconds, to repeat its input.
class ProgramAttention : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        here_ = new Workplace;
        trained_ = here_->run(
            "train --task copy --out RUN --updates 300 --layers 1 --d-model 32 --heads 2 --d-ff 64 --lr 4e-3 --valid-sentences 0 "
            "--threads 2");
    }
    static void TearDownTestSuite() {
        delete here_;
        here_ = nullptr;
    }
    void SetUp() override { ASSERT_EQ(trained_.status, 0) << trained_.err; }

    static Workplace* here_;
    static ProgramResult trained_;
};
Workplace* ProgramAttention::here_ = nullptr;
ProgramResult ProgramAttention::trained_;

std::string fields_from(const std::string& line, int number) {
    std::size_t at = 0;
    for (int i = 0; i < number; ++i) at = line.find(" ||| ", at) + 5;
    return line.substr(at);
}

TEST_F(ProgramAttention, OfACopyIsTheDiagonal) {
    const ProgramResult result = here_->run("translate --model RUN --alignment", here_->read("RUN/test.in"));
    ASSERT_EQ(result.status, 0) << result.err;
    int diagonal = 0, all = 0;
    for (const std::string& line : lines_of(result.out)) {
        const std::string pairs = fields_from(line, 1);
        ASSERT_THAT(pairs, MatchesRegex("([0-9]+-[0-9]+ ?)*")) << line;
        std::istringstream stream(pairs);
        for (std::string pair; stream >> pair; ++all) {
            const std::size_t dash = pair.find('-');
            diagonal += pair.substr(0, dash) == pair.substr(dash + 1) ? 1 : 0;
        }
    }
    EXPECT_GT(all, 5000);
    EXPECT_GT(diagonal, all * 9 / 10) << diagonal << " of " << all;
}

TEST_F(ProgramAttention, IsWrittenAsAPageAndOnRequestAsPictures) {
    const std::string in = "a b c\n\nd e\n";
    ASSERT_EQ(here_->run("translate --model RUN --attention look", in).status, 0);
    EXPECT_FALSE(std::filesystem::exists(here_->path("look/line-1")));
    const ProgramResult result = here_->run("translate --model RUN --attention look --attention-lines 2 --svg", in);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, here_->run("translate --model RUN", in).out) << "what is translated does not change";
    EXPECT_THAT(result.err, HasSubstr("wrote look/index.html: attention of the first 2 of 3 lines"));
    expect_loads_nothing(here_->read("look/index.html"));
    const Markup page = markup_of(here_->read("look/index.html"));
    EXPECT_EQ(page.all("svg").size(), 1u);
    ASSERT_EQ(page.all("script").size(), 2u);
    const auto data = nlohmann::json::parse(page.all("script")[0].text);
    ASSERT_EQ(data["lines"].size(), 2u);
    EXPECT_EQ(data["lines"][0]["line"], "a b c");
    // It is sure of what it copied: the written token leads the list.
    const nlohmann::json& first = data["lines"][0];
    for (std::size_t i = 0; i < first["written"].size(); ++i) {
        EXPECT_EQ(first["steps"][i]["likeliest"][0][0], first["written"][i]);
        EXPECT_EQ(first["steps"][i]["likeliest"][0][1], first["steps"][i]["probability"]);
    }
    for (const char* kind : {"encoder", "decoder", "cross"})
        for (const char* head : {"1", "2"})
            EXPECT_EQ(markup_of(here_->read("look/line-1/" + std::string(kind) + "-layer-1-head-" + head + ".svg")).error, "");
}

}  // namespace
}  // namespace heddle
