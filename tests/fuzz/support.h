// Shared by the fuzz targets: input as a file, inputs of several parts, and promises.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/error.h"

namespace heddle::fuzz {

/// Ends the program, which is a finding, unless `promise` holds.
inline void must(bool promise, const char* what) {
    if (promise) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

/// Does `work`; false when it threw an Error. Any other exception passes, and is a finding.
template <class Work>
bool accepted(Work&& work) {
    try {
        work();
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The bytes as a file, in memory. It has a name in /proc as long as the object lives.
class InputFile {
  public:
    explicit InputFile(std::string_view bytes);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

/// A name for an output file, in a folder of this process that it removes at its end.
std::filesystem::path output_file(const char* name);

/// An input of two files.
struct Parts {
    std::string_view first;
    std::string_view second;
};

/// The parts before and after the first separator; the second part is empty when there is none. U+001C is Unicode's file
/// separator.
inline Parts parted(std::string_view bytes, char separator = '\x1c') {
    const std::size_t at = std::min(bytes.find(separator), bytes.size());
    return {bytes.substr(0, at), bytes.substr(std::min(at + 1, bytes.size()))};
}

/// Takes the first byte off `bytes`: switches of the code under test. 0 when there is none.
inline unsigned switches(std::string_view& bytes) {
    if (bytes.empty()) return 0;
    const auto first = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return first;
}

}  // namespace heddle::fuzz
