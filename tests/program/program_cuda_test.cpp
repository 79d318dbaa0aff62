// `heddle` with --device cuda: on the emulated device, or on a GPU.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/device.h"
#include "core/safetensors.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::HasSubstr;

const std::string tiny_cuda_model = " --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-tokens 60";

// A run on the device from its first update to the scores of its translations, and back on the CPU.
TEST(ProgramCuda, TrainsInBf16AndTranslatesAnywhere) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Workplace here;
    const auto done = [&](const std::string& arguments, const std::string& input = "") {
        const ProgramResult result = here.run(arguments, input);
        EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
        return result;
    };
    write_toy_corpus(here, 12);
    EXPECT_THAT(done("train --train text --valid text --source a --target b --vocab-type word --valid-sentences 0" +
                     tiny_cuda_model + " --device cuda --dtype bf16 --updates 3 --log-every 1 --out run")
                    .err,
                testing::AllOf(HasSubstr(", bf16\n"), HasSubstr("validation"), HasSubstr("training ended after 3 updates in ")));
    EXPECT_THAT(here.read("run/config.toml"),
                testing::AllOf(HasSubstr("\ndevice = \"cuda\"\n"), HasSubstr("\ndtype = \"bf16\"\n")));
    const SafetensorsFile weights(here.path("run/model.safetensors"));
    for (const std::string& name : weights.names()) EXPECT_EQ(weights.dtype(name), "F32") << name;

    // A resumed run keeps its dtype, which the CPU does not have.
    expect_complaint(here.run("train --resume run --device cpu --updates 4"), 2, "on the CPU give --dtype f32");
    EXPECT_THAT(done("train --resume run --device cpu --dtype f32 --updates 5").err,
                testing::AllOf(HasSubstr("goes on from update 3"), HasSubstr("changed: dtype = \"f32\" (was \"bf16\")")));
    EXPECT_THAT(done("train --resume run --device cuda --dtype bf16 --updates 6").err, HasSubstr("goes on from update 5"));

    const std::string translate = "translate --model run --beam 2 --scores", lines = "a b c\nd\nb b a c d e f g\n";
    const ProgramResult on_cpu = done(translate + " --batch-invariant", lines);
    EXPECT_EQ(on_cpu.out, done(translate, lines).out);
    const std::string bf16 = " --device cuda --dtype bf16 --batch-invariant";
    const std::vector<std::string> together = lines_of(done(translate + bf16, lines).out);
    ASSERT_EQ(together.size(), 3u);
    EXPECT_EQ(lines_of(done(translate + bf16, "a b c\n").out), std::vector<std::string>{together[0]});

    here.write("in", lines);
    here.write("out", "c b a\nd\ng f e d c a b b\n");
    const std::string score = "score --model run --source-file in --target-file out";
    const std::vector<std::string> f32_scores = lines_of(done(score).out), scores = lines_of(done(score + bf16).out);
    ASSERT_EQ(scores.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(std::stod(scores[i]), std::stod(f32_scores[i]), 0.02 * -std::stod(f32_scores[i]));
    EXPECT_THAT(done("evaluate --model run --test text --source a --target b --beam 1" + bf16).out, HasSubstr("BLEU"));
}

TEST(ProgramCuda, BenchTrainTellsItsDtype) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Workplace here;
    std::string text;
    for (int i = 0; i < 30; ++i) text += std::string(i % 2 ? "a b c d" : "c a") + "\n";
    here.write("text.de", text);
    here.write("text.en", text);
    const ProgramResult result =
        here.run("bench train --train text --source de --target en --vocab-type word --updates 3 --skip 1 --json" +
                 tiny_cuda_model + " --device cuda --dtype bf16");
    ASSERT_EQ(result.status, 0) << result.err;
    const auto object = nlohmann::json::parse(result.out);
    EXPECT_EQ(object["dtype"], "bf16");
    EXPECT_EQ(object["device"], "cuda");
    EXPECT_GT(object["tokens_per_second"], 0);
}

}  // namespace
}  // namespace heddle
