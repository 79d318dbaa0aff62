// Finished objects and programs, kept between calls: a file that did not change is not compiled again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::emulator::frontend {

/// A digest of texts, for names in the cache. It tells apart what differs by accident, not what was made to collide.
class Digest {
  public:
    /// Adds a text and its length, so that "ab", "c" differs from "a", "bc".
    Digest& add(std::string_view text);
    /// Adds a file's path, size and time.
    Digest& add_file(const std::filesystem::path& file);
    /// 32 hexadecimal digits.
    std::string text() const;

  private:
    void mix(std::string_view bytes);
    std::uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x9e3779b97f4a7c15u;
};

/// HEDDLE_CHECK_CACHE, else heddle/check in the user's folder of caches (XDG_CACHE_HOME, else ~/.cache). Where neither can be
/// written, or HEDDLE_CHECK_CACHE is empty, a temporary folder that vanishes with the object.
class Cache {
  public:
    Cache();
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    /// The file of this name; its time becomes now. Empty: it is not there.
    std::filesystem::path find(const std::string& name) const;
    /// Where to write it: finish() then moves it to its name in one step.
    std::filesystem::path draft(const std::string& name) const;
    std::filesystem::path finish(const std::string& name) const;
    /// Where its files lie.
    const std::filesystem::path& folder() const { return folder_; }
    /// A folder for temporary files, removed with the object.
    const std::filesystem::path& scratch() const { return scratch_; }

  private:
    void make_room() const;
    std::filesystem::path folder_, scratch_;
};

}  // namespace heddle::emulator::frontend
