// Training on a prepared text gives the same weights as in memory, also in windows, and ends if a file was changed; which texts
// training prepares in the run's folder by itself.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <fstream>

#include "apps/translation/text/byte_source.h"
#include "apps/translation/training/auto_packed_text.h"
#include "tests/support.h"
#include "tests/translation/prepared_support.h"
#include "tests/translation/resume_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

TEST_F(Prepared, TrainsToTheWeightsOfTheSamePairsInMemory) {
    const TrainingOptions options = eventful_training();
    const Ended in_memory = train_in(here_ / "memory", data_, options),
                in_files = train_in(here_ / "files", prepared(text_, data_), options);
    EXPECT_EQ(in_files.weights, in_memory.weights);
    EXPECT_EQ(in_files.result.pairs, in_memory.result.pairs);
    EXPECT_EQ(in_files.result.updates, in_memory.result.updates);
}

// Weights that may have learned from wrong pairs are not kept, neither in a save nor by a validation.
TEST_F(Prepared, ThatIsCutWhileItIsUsedEndsTheTraining) {
    const TrainingData files = prepared(text_, data_);
    TrainingOptions options = eventful_training();
    options.batch_tokens = 20;  // several updates per epoch
    options.valid_every = options.save_every = 0;
    const auto cut_after = [&](int looks) {
        return [this, looks, asked = 0]() mutable {
            const fs::path ids = text_ / "00002.ids";
            if (++asked == looks) fs::resize_file(ids, fs::file_size(ids) - 2);
            return false;
        };
    };
    expect_error([&] { train_in(here_ / "run", files, options, cut_after(2)); },
                 "00002.ids: the file was changed while it was read");
    EXPECT_TRUE(saved_updates(here_ / "run").empty());
    EXPECT_FALSE(fs::exists(here_ / "run/model.safetensors"));
}

// Windows of 12 pairs: training is stopped every few updates, within and between windows, and resumed.
TEST_F(Prepared, GoesOnInTheMiddleOfAWindow) {
    TrainingData data = copy_data(50, 6);
    data.windows = {.whole = 20, .block = 4, .blocks = 3};
    TrainingOptions options = eventful_training();
    options.epochs = 3;
    options.patience = 0;
    options.batch_tokens = 20;
    options.accumulate = 3;  // some updates have batches of two windows
    const Ended whole = train_in(here_ / "whole", data, options);
    const TrainingData files = [&] {
        TrainingData result = prepared(text_, data);
        result.windows = data.windows;
        return result;
    }();
    Ended part;
    int parts = 0;
    do {
        part = train_in(here_ / "parts", files, options, [asked = 0]() mutable { return ++asked > 3; });
        ASSERT_LT(++parts, 100);
    } while (part.result.ended_by == EndReason::stopped);
    EXPECT_GT(parts, 5);
    EXPECT_EQ(part.weights, whole.weights);
    EXPECT_EQ(part.result.pairs, 3 * 50);
    // A save of a version that planned such texts as a whole.
    TrainingData otherwise = files;
    otherwise.windows = {};
    train_in(here_ / "stopped", files, options, [asked = 0]() mutable { return ++asked > 3; });
    expect_error([&] { train_in(here_ / "stopped", otherwise, options); }, "it was planned by another version of heddle");
    TrainingData at_once = data;
    at_once.windows = {};
    EXPECT_NE(train_in(here_ / "at_once", at_once, options).weights, whole.weights);
}

// Which texts training prepares in the run's folder instead of holding them in memory.

class SizeOfText : public testing::Test {
  protected:
    SizeOfText() {
        options_.train = here_ / "text";
        options_.source = "a";
        options_.target = "b";
        options_.prepare_above = 1;
    }
    void write(const std::string& name, std::size_t bytes) const {
        std::ofstream(here_.path() / name, std::ios::binary) << std::string(bytes, 'x');
    }

    const TemporaryFolder here_;
    DataOptions options_;
};

TEST_F(SizeOfText, IsThatOfBothFiles) {
    write("text.a", 600'000);
    write("text.b", 400'000);
    EXPECT_FALSE(is_too_large_to_hold(options_)) << "1 MB is not more than 1 MB";
    write("text.b", 400'001);
    EXPECT_TRUE(is_too_large_to_hold(options_));
    options_.prepare_above.reset();
    EXPECT_FALSE(is_too_large_to_hold(options_));
    std::filesystem::resize_file(here_ / "text.a", default_prepare_above * 1'000'000);  // sparse: the zeros take no space
    EXPECT_TRUE(is_too_large_to_hold(options_));
    options_.task = "numbers";
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

TEST_F(SizeOfText, IsFourTimesThatOfAPackedFile) {
    write("text.a.gz", 200'000);
    write("text.b", 200'000);
    EXPECT_FALSE(is_too_large_to_hold(options_));
    write("text.b", 200'001);
    EXPECT_TRUE(is_too_large_to_hold(options_));
}

TEST_F(SizeOfText, IsThatOfOneFileWithTwoColumns) {
    write("text", 1'000'001);
    options_.tsv = true;
    EXPECT_TRUE(is_too_large_to_hold(options_));
    write("text", 1'000'000);
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

// Reading, not measuring, reports what is wrong with such files.
TEST_F(SizeOfText, IsNoneWhereThereIsNoFileOfASize) {
    options_.prepare_above = 0;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    ASSERT_EQ(mkfifo((here_ / "text").c_str(), 0600), 0);
    options_.tsv = true;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    options_.train = standard_input;
    EXPECT_FALSE(is_too_large_to_hold(options_));
    options_.train = "";
    EXPECT_FALSE(is_too_large_to_hold(options_));
}

}  // namespace
}  // namespace heddle::app
