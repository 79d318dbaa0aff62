// Reads and writes ZIP archives whose entries are stored, not compressed: NumPy's .npz, PyTorch's .bin, Argos' packages.
//
// Source: PKWARE, APPNOTE.TXT 6.3.9. An archive is entries, each with a local header in front, then the central directory, which
// lists them, then the end record, which says where the directory is. Larger archives have ZIP64 records of the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace heddle::app {

/// An archive opened for reading. It is memory-mapped, and entries are stored, so no entry is larger than the file. The file is
/// treated as untrusted: any defect is an Error that names the file and the defect.
class ZipFile {
  public:
    /// Reads the central directory and every local header. Error when they disagree, when an entry is compressed or encrypted,
    /// reaches out of the file or into another one, when a name occurs twice, is empty, absolute or contains "..", a backslash or
    /// a control character, and for more than most_entries.
    explicit ZipFile(const std::filesystem::path& path);

    static constexpr std::size_t most_entries = 100'000;

    /// The path as it was given.
    const std::string& path() const { return path_; }
    /// The names of all entries but folders, in the directory's order.
    const std::vector<std::string>& names() const { return names_; }
    bool contains(std::string_view name) const { return entries_.contains(name); }
    /// The bytes of an entry, unaligned; valid as long as this object. Error when there is no such entry, and, with `check_sum`,
    /// when its CRC-32 is not the directory's.
    std::span<const std::byte> bytes(std::string_view name, bool check_sum = true) const;

  private:
    struct Entry {
        std::span<const std::byte> bytes;
        std::uint32_t crc = 0;
    };

    std::string path_;
    MemoryMap map_;
    std::vector<std::string> names_;
    std::map<std::string, Entry, std::less<>> entries_;
};

/// Writes an archive of stored entries. The same entries give the same bytes.
class ZipWriter {
  public:
    /// Into a file, atomically.
    explicit ZipWriter(const std::filesystem::path& path) : file_(std::in_place, path) {}
    /// Into memory.
    ZipWriter() = default;

    /// Error when the name occurs twice. `bytes` may come in several parts.
    void add(const std::string& name, std::span<const std::span<const std::byte>> parts);
    void add(const std::string& name, std::string_view bytes);
    /// Writes the directory and puts the file in place.
    void commit();
    /// The whole archive in memory. Call one of the two, once.
    std::string take();

  private:
    struct Entry {
        std::string name;
        std::uint32_t crc = 0;
        std::uint64_t size = 0;
        std::uint64_t begin = 0;  ///< of its local header
    };

    void write(std::string_view bytes);
    void write_directory();

    std::optional<AtomicFile> file_;
    std::string memory_;
    std::uint64_t written_ = 0;
    std::vector<Entry> entries_;
};

}  // namespace heddle::app
