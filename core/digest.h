// A checksum of bytes, to detect damaged or exchanged files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// 64 bits of XXH3 (https://github.com/Cyan4973/xxHash) over all bytes added. Detects accidents, not tampering.
class Digest {
  public:
    Digest();
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    Digest& add(std::span<const std::byte> bytes);
    Digest& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
    /// The digest of the bytes added so far: 16 hexadecimal digits.
    std::string text() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The digest of one text.
std::string digest(std::string_view text);

}  // namespace heddle
