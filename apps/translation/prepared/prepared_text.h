// A prepared text, opened for reading: memory-mapped, so that the system reads pages when they are used and may drop them again.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/prepared/header.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "core/file.h"

namespace heddle::app {

/// Up to so many bytes of ids are compared with their digests when a text is opened.
inline constexpr std::int64_t verified_at_start = std::int64_t{1} << 28;

/// The files are treated as untrusted: any defect is an Error that names the file, and the pair where there is one. No id is used
/// before the digest of its file was compared, so texts of one digest() are the same text, whoever opens them.
class PreparedText final : public PairStore {
  public:
    /// Opens the files and reads all lengths, and up to `most_ids` bytes of ids: where there are more, each shard's are read
    /// when the first of them is used. Error when the header is damaged or of another version, the vocabularies are others than
    /// it says, a file is missing or has another size, lengths contradict the header, or a file that is read has another digest.
    explicit PreparedText(std::filesystem::path folder, std::int64_t most_ids = verified_at_start);

    std::int64_t size() const override { return header_.pairs; }
    PairLengths lengths(std::int64_t i) const override;
    /// Error when the ids of the pair's shard have another digest, or an id is none of the vocabulary.
    void append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const override;

    /// Error when a file has another size than when it was opened, or was written to and has another digest. One that was
    /// replaced or removed stays mapped, and is the same.
    void check_unchanged() const override;

    const std::filesystem::path& folder() const { return folder_; }
    const PreparedHeader& header() const { return header_; }
    /// Of the header's file: equal for equal texts.
    const std::string& digest() const { return digest_; }
    /// The vocabularies in the folder. Error when they are damaged, or not of the sizes that the header says.
    Vocabularies vocabularies() const;
    /// Error unless vocabularies have the sizes of those that the ids are of.
    void check_sizes(const Vocabularies& vocabularies) const;
    /// Reads everything: Error when a file's digest, the text's, or an id is not what it should be.
    void check_all() const;

  private:
    // Whether the digest of a file was compared, by the first thread that uses it.
    struct Comparison {
        std::mutex mutex;
        std::atomic<bool> done = false;
    };
    // Tells whether a file was written to.
    struct Stamp {
        dev_t device;
        ino_t number;
        std::int64_t size;
        std::filesystem::file_time_type written;
    };
    struct Shard {
        MemoryMap lengths, ids;
        mutable Stamp lengths_stamp, ids_stamp;
        std::int64_t first_pair = 0;
        std::vector<std::int64_t> begins;  // where the ids of every 64th pair begin, in ids
        std::unique_ptr<Comparison> ids_compared = std::make_unique<Comparison>();
    };
    struct Place {
        std::size_t shard;
        std::int64_t pair;  // in the shard
    };

    static Stamp stamp_of(const std::filesystem::path& path);
    static void check_unchanged(const std::filesystem::path& path, const MemoryMap& map, const std::string& digest, Stamp& stamp);
    void open_shard(std::size_t number);
    void check_ids(std::size_t number) const;
    Place place_of(std::int64_t i) const;
    void append_ids(Place place, std::int64_t begin, std::int64_t count, std::int64_t vocabulary,
                    std::vector<std::int32_t>& ids) const;

    std::filesystem::path folder_;
    std::string digest_;
    PreparedHeader header_;
    std::vector<Shard> shards_;
};

/// Whether there is a prepared text at this path: a folder with a header.
bool is_prepared(const std::filesystem::path& path);

}  // namespace heddle::app
