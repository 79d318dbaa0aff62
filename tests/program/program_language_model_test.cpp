// The numbers of heddle generate and heddle score, and both on the device; what they say is in scenarios/generate.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/device.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

class LanguageModelRun : public testing::Test {
  protected:
    void train(const std::string& arguments) const {
        write_toy_corpus(here_, 300);
        const ProgramResult trained = here_.run(
            "train --task names --text text.a --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 200 --threads 1 --out "
            "run " +
            arguments);
        ASSERT_EQ(trained.status, 0) << trained.err;
    }
    std::string drawn(const std::string& arguments) const {
        const ProgramResult result = here_.run("generate run " + arguments);
        EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
        return result.out;
    }

    const Workplace here_;
};

TEST_F(LanguageModelRun, GivesATextTheSameLogPAndThePerplexityOfTheirSum) {
    train("--epochs 4");
    std::string texts;
    double sum = 0, tokens = 0;
    const std::vector<std::string> ten = lines_of(drawn("--prompt ba --samples 10 --seed 3 --scores"));
    ASSERT_EQ(ten.size(), 10u);
    for (const std::string& line : ten) {
        EXPECT_THAT(line, testing::StartsWith("ba"));
        const std::string text = line.substr(0, line.find(" ||| "));
        texts += text + "\n";
        sum += std::stod(line.substr(line.find(" ||| ") + 5));
        tokens += static_cast<double>(text.size()) + 1;
    }
    here_.write("texts", texts);
    const ProgramResult scored = here_.run("score run --target-file texts");
    ASSERT_EQ(scored.status, 0) << scored.err;
    for (std::size_t i = 0; i < 10; ++i)
        EXPECT_NEAR(std::stod(lines_of(scored.out)[i]), std::stod(ten[i].substr(ten[i].find(" ||| ") + 5)), 1e-4);
    double perplexity = 0, bits = 0;
    ASSERT_EQ(std::sscanf(scored.err.c_str(), "perplexity %lf of %*d tokens, %lf bits per byte", &perplexity, &bits), 2)
        << scored.err;
    EXPECT_NEAR(perplexity, std::exp(-sum / tokens), 1e-3);
    EXPECT_NEAR(bits, -sum / std::log(2.0) / tokens, 1e-3) << "a letter is a byte, and the end mark the line end";
}

TEST_F(LanguageModelRun, TrainsAndGeneratesOnTheDevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    train("--updates 3 --device cuda");
    EXPECT_THAT(here_.read("run/config.toml"), testing::HasSubstr("device = \"cuda\"\n"));
    const std::string on_device = drawn("--prompt ba --samples 3 --max-tokens 8 --seed 3 --device cuda");
    EXPECT_EQ(lines_of(on_device).size(), 3u);
    for (const std::string& line : lines_of(on_device)) EXPECT_THAT(line, testing::StartsWith("ba"));
    EXPECT_EQ(drawn("--temperature 0 --max-tokens 8 --device cuda"), drawn("--temperature 0 --max-tokens 8"));
}

}  // namespace
}  // namespace heddle
