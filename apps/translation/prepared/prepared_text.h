// A prepared text, opened for reading: memory-mapped, so that the system reads pages when they are used and may drop them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/prepared/header.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "core/file.h"

namespace heddle::app {

/// Files of up to so many bytes together are compared with their digests whenever they are opened.
inline constexpr std::int64_t verified_at_start = std::int64_t{1} << 28;

/// The files are treated as untrusted: any defect is an Error that names the file, and the pair where there is one.
class PreparedText final : public PairStore {
  public:
    /// Opens the files and reads all lengths. Error when the header is damaged or of another version, the vocabularies are others
    /// than it says, a file is missing or has another size, lengths contradict the header, or a text of at most
    /// verified_at_start bytes has other digests.
    explicit PreparedText(std::filesystem::path folder);

    std::int64_t size() const override { return header_.pairs; }
    PairLengths lengths(std::int64_t i) const override;
    /// Error when an id is none of the vocabulary.
    void append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const override;

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
    struct Shard {
        MemoryMap lengths, ids;
        std::int64_t first_pair = 0;
        std::vector<std::int64_t> begins;  // where the ids of each pair of an even number of pairs begin, in ids
    };
    struct Place {
        std::size_t shard;
        std::int64_t pair;  // in the shard
    };

    void open_shard(std::size_t number);
    void check_digests() const;
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
