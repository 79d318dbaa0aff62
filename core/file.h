// Whole files: read at once, memory-mapped, replaced atomically.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace heddle {

/// Opens a file for reading, and does not wait for the writer of a named pipe. Not good(), with errno, when it cannot be opened.
Descriptor open_to_read(const std::filesystem::path& path);

/// Reads the whole file, which may also be a pipe. Error, with path and reason, when it cannot be read.
std::string read_file(const std::filesystem::path& path);
/// Reads a regular file of at most `longest` bytes. Error, with path and reason, for anything else: reading a named pipe could
/// block, and a device has no end.
std::string read_regular_file(const std::filesystem::path& path, std::size_t longest = std::numeric_limits<std::size_t>::max());

/// Replaces the file at `path` by these bytes: a reader sees the complete old or new file, and after a power
/// failure one of the two is on the disk. Error, with path and reason; the old file is then unchanged, unless only the last step,
/// syncing the folder, failed: then the new file is in place.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Syncs a file's contents to disk (fsync). Does nothing when the file does not exist or the file system has no sync.
void sync_file(const std::filesystem::path& path);

/// Syncs a folder's entries to disk: only then is a rename safe. Error when the folder does not exist; no error when the file
/// system cannot sync folders.
void sync_folder(const std::filesystem::path& folder);

/// Prepares a file for others to open and append to: makes an empty one if there is none, and a separate copy if the file has a
/// second name (a hard link, as made by `cp -al`). Error when there is a symbolic link, which would lead to a foreign file, or
/// anything else that is not a regular file.
void make_appendable(const std::filesystem::path& path);

/// True if some process is writing this file or folder: an AtomicFile not yet committed, or one with a WriteMark. False for what
/// a killed process left half written. Always false on file systems without locks.
bool is_being_written(const std::filesystem::path& path);

/// While one exists, is_being_written(path) is true.
class WriteMark {
  public:
    explicit WriteMark(const std::filesystem::path& path);

  private:
    Descriptor opened_;
};

/// A file under construction: written piece by piece beside its target, which `commit` replaces. Destroyed before that, it
/// leaves nothing behind.
class AtomicFile {
  public:
    /// Error when the target's folder does not exist or cannot be written to.
    explicit AtomicFile(std::filesystem::path target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// fsync, rename onto the target, fsync of the folder. Nothing may be written afterwards.
    void commit();

  private:
    std::filesystem::path target_;
    std::filesystem::path part_;  ///< the new file until it is renamed; empty afterwards
    int descriptor_ = -1;
};

/// A file's bytes, read-only, without a copy: the system reads pages when they are touched. The map outlives a rename or removal
/// of the file, but a process that shortens the file in place takes the pages away (SIGBUS); files written atomically are safe.
class MemoryMap {
  public:
    /// Error, with path and reason, when `path` is not a regular file that can be read. An empty file gives an empty span.
    explicit MemoryMap(const std::filesystem::path& path);
    /// The same for a file that open_to_read(path) opened, whose descriptor tells what others do to it later.
    MemoryMap(const Descriptor& file, const std::filesystem::path& path);
    ~MemoryMap();
    MemoryMap(MemoryMap&& other) noexcept;
    MemoryMap& operator=(MemoryMap&& other) noexcept;

    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace heddle
