// Models, trained once, for all tests of `heddle translate` and `heddle score`.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/random.h"
#include "tests/program.h"

namespace heddle {

/// Digits in words, English to German: two runs, ONE and TWO, with one vocabulary of words, and SUB with subwords.
class Decoding : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        here_ = new Workplace;
        constexpr const char* english[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
        constexpr const char* german[] = {"null", "eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben", "acht", "neun"};
        Sequence random(2);
        std::string source, target;
        for (int i = 0; i < 600; ++i)
            for (std::uint64_t words = 1 + random.below(4); words > 0; --words) {
                const std::uint64_t digit = random.below(10);
                source += english[digit] + std::string(words > 1 ? " " : "\n");
                target += german[digit] + std::string(words > 1 ? " " : "\n");
            }
        here_->write("digits.en", source);
        here_->write("digits.de", target);
        train("ONE", "--vocab-type word");
    }
    static void TearDownTestSuite() { delete here_; }

    static void train(const std::string& name, const std::string& options) {
        if (here_->exists(name)) return;
        const ProgramResult trained = here_->run(
            "train --train digits --source en --target de --layers 1 --d-model 32 --heads 2 "
            "--d-ff 64 --valid-sentences 0 --lr 0.01 --warmup 30 --batch-tokens 300 --updates "
            "120 --out " +
            name + " " + options);
        ASSERT_EQ(trained.status, 0) << trained.err;
    }
    static void train_two() { train("TWO", "--vocab-model ONE/vocab.tsv --seed 5"); }
    // The target vocabulary lacks three digits.
    static void train_few() { train("FEW", "--vocab-type word --shared-vocab false --target-vocab-size 11"); }
    static void train_subwords() { train("SUB", "--vocab-type bpe --vocab-size 40"); }

    // The first `count` lines.
    static std::string some(std::size_t count) {
        std::string text;
        for (const std::string& line : lines_of(here_->read("digits.en"))) {
            if (count-- == 0) break;
            text += line + "\n";
        }
        return text;
    }
    static std::string translated(const std::string& arguments, const std::string& input) {
        const ProgramResult result = here_->run("translate " + arguments, input);
        EXPECT_EQ(result.status, 0) << arguments << ": " << result.err;
        return result.out;
    }

    static inline Workplace* here_ = nullptr;
};

}  // namespace heddle
