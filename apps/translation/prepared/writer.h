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
    /// Error when the folder contains a prepared text, unless `overwrite`, or anything that `heddle prepare` did not write.
    /// Changes nothing.
    static void check_free(const std::filesystem::path& out, bool overwrite);

    /// Removes what a killed process left beside OUT and, if `complete`, the prepared text OUT itself. Folders that contain
    /// other files or are being written are kept.
    static void remove(const std::filesystem::path& out, bool complete);

    /// Starts writing OUT.part, with the vocabularies, after removing what a killed process left there. Errors as check_free();
    /// Error when another process prepares this folder, or it cannot be written.
    PreparedWriter(std::filesystem::path out, bool overwrite, const Vocabularies& vocabularies,
                   std::int64_t pairs_per_shard = std::int64_t{1} << 20);
    /// Removes OUT.part unless finish() renamed it.
    ~PreparedWriter();
    PreparedWriter(const PreparedWriter&) = delete;
    PreparedWriter& operator=(const PreparedWriter&) = delete;

    /// Appends these pairs. Error when a file cannot be written.
    void add(std::span<const TokenPair> pairs);
    /// Called after the last pair: writes the header with these fields, syncs everything and renames the folder to OUT. Returns
    /// the header. Error when there is no pair, or a file cannot be written.
    PreparedHeader finish(std::int64_t left_out = 0, std::map<std::string, std::string> options = {}, std::string made_of = {});

  private:
    struct File;

    void begin_shard();
    void end_shard();
    void put_in_place();
    void discard() noexcept;

    std::filesystem::path out_, part_;
    bool overwrite_;
    std::unique_ptr<RunLock> lock_;  // on part_
    std::int64_t pairs_per_shard_;
    PreparedHeader header_;
    PairsDigest text_;
    std::unique_ptr<File> lengths_, ids_;  // of the current shard; null before the first one and between two
};

}  // namespace heddle::app
