// What the tests of prepared texts share.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/prepared/writer.h"
#include "apps/translation/training/data.h"

namespace heddle::app {

/// Writes the training pairs of `data` as a prepared text.
inline PreparedHeader prepare(const std::filesystem::path& out, const Vocabularies& vocabularies,
                              const std::vector<TokenPair>& pairs, std::int64_t pairs_per_shard = 7, bool overwrite = false) {
    PreparedWriter writer(out, overwrite, vocabularies, pairs_per_shard);
    writer.add(pairs);
    return writer.finish();
}

/// The same data with its training pairs in files.
inline TrainingData prepared(const std::filesystem::path& out, const TrainingData& data) {
    prepare(out, data.vocabularies, data.training);
    TrainingData result = data;
    result.training.clear();
    result.prepared = std::make_shared<PreparedText>(out);
    return result;
}

}  // namespace heddle::app
