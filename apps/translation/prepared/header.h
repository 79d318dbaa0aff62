// The header of a folder of prepared text, prepared.json, and the folder's files:
//
//     TEXT/prepared.json    this header; written last
//     TEXT/vocab.*          the vocabularies that the ids are of (vocabulary/vocabularies.h)
//     TEXT/00000.lengths    of each pair of the first shard: source tokens, target tokens, words (TokenPair::words), 32 bits each
//     TEXT/00000.ids        the ids of these pairs, source before target, nothing between them; 16 or 32 bits each
//     TEXT/00001.lengths    ..
//
// All numbers are little endian, without a sign.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

inline constexpr const char* prepared_header_name = "prepared.json";
/// Far more bytes than the header of a thousand shards.
inline constexpr std::size_t longest_header = 1 << 20;
/// The version of the layout.
inline constexpr std::int64_t prepared_version = 1;
/// Advice in errors about damaged files.
inline constexpr const char* prepare_again = "prepare the text again (heddle prepare)";
/// Bytes per pair in a file of lengths.
inline constexpr std::int64_t bytes_of_lengths = 12;

/// The two files of a shard.
struct PreparedShard {
    std::int64_t pairs = 0;
    std::int64_t tokens = 0;     ///< of both sides, without EOS
    std::string lengths_digest;  ///< of the file's bytes
    std::string ids_digest;
};

struct PreparedHeader {
    std::int64_t pairs = 0;
    std::int64_t left_out = 0;  ///< pairs with an empty side, which are not in the text
    std::int64_t source_vocabulary = 0;
    std::int64_t target_vocabulary = 0;
    std::string vocabulary_digest;               ///< vocabulary_digest() of the folder
    std::string text_digest;                     ///< of all pairs (PairsDigest)
    std::map<std::string, std::string> options;  ///< the options of `heddle train` that the text fixes; values as TOML
    std::string made_of;                         ///< for a text that a run prepared, the digest of its files; otherwise empty
    std::vector<PreparedShard> shards;

    /// Bytes per id: 2 if both vocabularies are small enough, else 4.
    std::int64_t id_bytes() const;
    /// Number of ids on both sides of all pairs.
    std::int64_t tokens() const;
    /// The header as JSON, with a digest of this JSON.
    std::string serialized() const;
    /// Parses serialized(). Error, with `name`, when the text is not exactly what serialized() wrote, is of another version, or
    /// contains contradictory numbers.
    static PreparedHeader parse(std::string_view text, std::string_view name);
};

/// TEXT/00012.lengths or TEXT/00012.ids.
std::filesystem::path lengths_file(const std::filesystem::path& folder, std::size_t shard);
std::filesystem::path ids_file(const std::filesystem::path& folder, std::size_t shard);

}  // namespace heddle::app
