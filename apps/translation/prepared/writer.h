// Writes a prepared text: a new folder that appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/prepared/header.h"
#include "apps/translation/run/lock.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

class PreparedWriter {
  public:
    /// Error when the folder holds anything: a prepared text unless `overwrite`, and always what `heddle prepare` did not write.
    /// Changes nothing.
    static void check_free(const std::filesystem::path& out, bool overwrite);

    /// Removes what a killed process left beside OUT, and with `complete` the prepared text OUT. What has other files, or is
    /// being written, stays.
    static void remove(const std::filesystem::path& out, bool complete);

    /// Begins in OUT.part, with the vocabularies, and removes what a killed process left there. A text that such a process moved
    /// aside without putting its own in the place comes back to OUT. Errors as check_free(); Error when another process prepares
    /// this folder, or it cannot be written.
    PreparedWriter(std::filesystem::path out, bool overwrite, const Vocabularies& vocabularies,
                   std::int64_t pairs_per_shard = std::int64_t{1} << 20);
    /// Removes OUT.part unless finish() renamed it.
    ~PreparedWriter();
    PreparedWriter(const PreparedWriter&) = delete;
    PreparedWriter& operator=(const PreparedWriter&) = delete;

    /// Writes these pairs behind those before. Error when a file cannot be written.
    void add(std::span<const TokenPair> pairs);
    /// After the last pair: writes the header, with these fields of it, syncs everything and renames the folder to OUT.
    /// Returns the whole header. Error when there is no pair, or a file cannot be written.
    PreparedHeader finish(std::int64_t left_out = 0, std::map<std::string, std::string> options = {}, std::string made_of = {});

  private:
    struct File;

    void begin_shard();
    void end_shard();
    void put_in_place();
    void discard() noexcept;

    std::filesystem::path out_, part_;
    bool overwrite_;
    std::unique_ptr<RunLock> lock_;  // of part_
    std::int64_t pairs_per_shard_;
    PreparedHeader header_;
    PairsDigest text_;
    std::unique_ptr<File> lengths_, ids_;  // of the current shard; null between two
};

}  // namespace heddle::app
