// A minimal reader and writer of protobuf messages: a field is a key (its number and the kind of its value) and the value;
// numbers are little-endian. Source: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::app {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Seven bits per byte, the lowest first; the high bit is set if more follow.
void put_varint(std::string& out, std::uint64_t value);
void put_key(std::string& out, unsigned field, Wire wire);
void put_bytes(std::string& out, unsigned field, std::string_view bytes);
template <class Unsigned>
void put_fixed(std::string& out, Unsigned value) {
    for (std::size_t i = 0; i < sizeof(value); ++i) out += static_cast<char>(value >> (8 * i));
}

/// Reads the number written by put_fixed, of up to eight bytes.
std::uint64_t take_fixed(std::string_view bytes);

/// Reads a message field by field. Ends at the end of the message or at invalid bytes.
class ProtobufFields {
  public:
    explicit ProtobufFields(std::string_view message) : rest_(message) {}

    bool next();
    /// True if next() reached the end of the message without an invalid field.
    bool complete() const { return rest_.empty() && sound_; }

    unsigned field = 0;
    Wire wire = Wire::varint;
    std::uint64_t number = 0;  ///< for Wire::varint, fixed32 and fixed64
    std::string_view bytes;    ///< for Wire::bytes
    std::string_view all;      ///< the field including its key

  private:
    bool read();
    bool varint(std::uint64_t& value);
    bool fixed(std::size_t size);

    std::string_view rest_;
    bool sound_ = true;
};

}  // namespace heddle::app
