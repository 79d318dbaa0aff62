// Helpers for the tests of prepared texts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/prepared/writer.h"
#include "apps/translation/training/data.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {

/// Writes these pairs as a prepared text.
inline PreparedHeader prepare(const std::filesystem::path& out, const Vocabularies& vocabularies,
                              const std::vector<TokenPair>& pairs, std::int64_t pairs_per_shard = 7, bool overwrite = false) {
    PreparedWriter writer(out, overwrite, vocabularies, pairs_per_shard);
    writer.add(pairs);
    return writer.finish();
}

/// A copy of the data with its training pairs in a prepared text.
inline TrainingData prepared(const std::filesystem::path& out, const TrainingData& data) {
    prepare(out, data.vocabularies, data.training);
    TrainingData result = data;
    result.training.clear();
    result.prepared = std::make_shared<PreparedText>(out);
    return result;
}

/// A small text, and a folder to prepare it in.
class Prepared : public testing::Test {
  protected:
    Prepared() : data_(copy_data(20)) {}

    std::filesystem::path make() {
        prepare(text_, data_.vocabularies, data_.training);
        return text_;
    }
    // Expects that opening the text fails with a message that contains `part`.
    void expect_refused(const std::string& part) const {
        expect_error([&] { PreparedText{text_}; }, part);
    }

    const TemporaryFolder here_;
    const std::filesystem::path text_ = here_ / "text";
    const TrainingData data_;
};

}  // namespace heddle::app
