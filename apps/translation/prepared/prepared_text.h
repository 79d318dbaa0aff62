// A prepared text, opened for reading. Memory-mapped: the system reads pages when they are used and may drop them again.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/prepared/header.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "core/descriptor.h"
#include "core/file.h"

namespace heddle::app {

/// Up to this many bytes of ids are verified when a text is opened.
inline constexpr std::int64_t verified_at_start = std::int64_t{1} << 28;

/// The files are untrusted: any defect is an Error that names the file and, if possible, the pair. No id is used before its
/// file's digest was verified, so all who open texts with the same digest() read the same text.
class PreparedText final : public PairStore {
  public:
    /// Opens the files, reads all lengths, and verifies up to `most_ids` bytes of ids; if there are more, each shard's ids are
    /// verified when it is first used. Error when the header is damaged or of another version, the vocabularies are not those it
    /// names, a file is missing or has the wrong size or digest, or lengths contradict the header.
    explicit PreparedText(std::filesystem::path folder, std::int64_t most_ids = verified_at_start);

    std::int64_t size() const override { return header_.pairs; }
    PairLengths lengths(std::int64_t i) const override;
    /// Error when the ids of the pair's shard have the wrong digest, a file of it has another size than before, or an id is not
    /// in the vocabulary.
    void append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const override;

    /// Error when a file's size has changed since it was opened, or it was written to and its digest has changed. A file that
    /// was replaced or removed stays mapped, and therefore unchanged.
    void check_unchanged() const override;

    const std::filesystem::path& folder() const { return folder_; }
    const PreparedHeader& header() const { return header_; }
    /// Digest of the header's file: equal for equal texts.
    const std::string& digest() const { return digest_; }
    /// The vocabularies in the folder. Error when they are damaged, or their sizes differ from the header's.
    Vocabularies vocabularies() const;
    /// Error unless the vocabularies have the sizes of those in the header.
    void check_sizes(const Vocabularies& vocabularies) const;
    /// Verifies everything: Error when a file's digest, the text's digest or an id is wrong.
    void check_all() const;

  private:
    // Remembers that a file's digest was verified, by the first thread that used it.
    struct Comparison {
        std::mutex mutex;
        std::atomic<bool> done = false;
    };
    // A mapped file. What others do to it is seen by its descriptor, however often its name is given to another file.
    struct File {
        std::filesystem::path path;
        Descriptor opened;
        MemoryMap map;
        mutable timespec written;
    };
    struct Shard {
        File lengths, ids;
        std::int64_t first_pair = 0;
        std::vector<std::int64_t> begins;  // where the ids of every 64th pair begin, counted in ids
        std::unique_ptr<Comparison> ids_compared = std::make_unique<Comparison>();
    };
    struct Place {
        std::size_t shard;
        std::int64_t pair;  // index in the shard
    };

    static File open_file(const std::filesystem::path& path, std::int64_t size);
    static timespec check_size(const File& file);
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

/// True if the path is a folder with a header of a prepared text.
bool is_prepared(const std::filesystem::path& path);

}  // namespace heddle::app
