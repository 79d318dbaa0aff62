// A run that Heddle 0.1.0 wrote, at commit de857cb5, is resumed, translated with and scored with.
//
// tests/golden/run_of_0_1.tar.gz holds `run`, trained by that program to update 800 with options of every kind, `lines.txt`, and
// what that program itself made of them: the weights and the log after `train --resume run --updates 840` (continued.*), and with
// these weights translations.txt and scores.txt. All at --cpu-level v2, whose bits do not depend on the processor. GELU has been
// rounded otherwise since (docs/resuming.md: the build), so numbers agree to some digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/safetensors.h"
#include "tests/program.h"

namespace heddle {
namespace {

const std::string level = " --cpu-level v2";
#if defined(__x86_64__)
constexpr double tolerance = 1e-5;
#else
constexpr double tolerance = 1e-4;
#endif

class OlderRun : public testing::Test {
  protected:
    OlderRun() {
        const std::string unpack = "tar -xzf '" HEDDLE_SOURCE_DIR "/tests/golden/run_of_0_1.tar.gz' -C '" + here_.path("") + "'";
        EXPECT_EQ(std::system(unpack.c_str()), 0);
    }

    // The entries of a log that tell what was learned, without times and without what logs have gained since (bleu_tokenizer).
    std::vector<nlohmann::json> learned(const std::string& log) const {
        std::vector<nlohmann::json> entries;
        for (const std::string& line : lines_of(here_.read(log))) {
            const nlohmann::json whole = nlohmann::json::parse(line);
            if (whole.at("kind") == "note") continue;
            nlohmann::json entry = whole;
            for (const auto& [key, value] : whole.items())
                if (key.find("second") != std::string::npos || key == "eta" || key == "bleu_tokenizer") entry.erase(key);
            entries.push_back(std::move(entry));
        }
        return entries;
    }

    // The same entry of a log: each number within the tolerance, all else equal.
    static void expect_near(const nlohmann::json& now, const nlohmann::json& then) {
        ASSERT_EQ(now.size(), then.size()) << now << " and " << then;
        for (const auto& [key, value] : then.items()) {
            ASSERT_TRUE(now.contains(key)) << key << " of " << now;
            if (value.is_number_float())
                EXPECT_NEAR(now[key].get<double>(), value.get<double>(), tolerance * std::max(1.0, std::abs(value.get<double>())))
                    << key << " of " << now;
            else
                EXPECT_EQ(now[key], value) << key << " of " << now;
        }
    }

    void expect_same_weights(const std::string& one, const std::string& other) const {
        const SafetensorsFile a(here_.path(one)), b(here_.path(other));
        ASSERT_EQ(a.names(), b.names());
        for (const std::string& name : a.names()) {
            const std::vector<double> x = a.load(name).to_vector(), y = b.load(name).to_vector();
            ASSERT_EQ(x.size(), y.size()) << name;
            for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - y[i]), tolerance) << name << ", element " << i;
        }
    }

    const Workplace here_;
};

TEST_F(OlderRun, GoesOnAsItWouldHaveThen) {
    const ProgramResult resumed = here_.run("train --resume run --updates 840" + level);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, testing::HasSubstr("goes on from update 800"));
    expect_same_weights("run/model.safetensors", "continued.safetensors");
    const std::vector<nlohmann::json> now = learned("run/log.jsonl"), then = learned("continued.jsonl");
    ASSERT_GE(then.size(), 10u);
    ASSERT_EQ(now.size(), then.size());
    for (std::size_t i = 0; i < now.size(); ++i) expect_near(now[i], then[i]);
}

TEST_F(OlderRun, TranslatesAndScores) {
    std::filesystem::copy(here_.path("continued.safetensors"), here_.path("run/model.safetensors"),
                          std::filesystem::copy_options::overwrite_existing);
    const std::string lines = here_.read("lines.txt");
    const ProgramResult translated = here_.run("translate --model run" + level, lines);
    ASSERT_EQ(translated.status, 0) << translated.err;
    EXPECT_EQ(translated.out, here_.read("translations.txt"));
    const ProgramResult scored = here_.run("score --model run --source-file lines.txt --target-file lines.txt" + level);
    ASSERT_EQ(scored.status, 0) << scored.err;
    const std::vector<std::string> now = lines_of(scored.out), then = lines_of(here_.read("scores.txt"));
    ASSERT_EQ(now.size(), then.size());
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(std::stod(now[i]), std::stod(then[i]), tolerance) << "line " << i;
}

}  // namespace
}  // namespace heddle
