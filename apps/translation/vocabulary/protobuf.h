// Protobuf messages by hand: a field is a key (its number and the kind of its value) and the value; numbers are little-endian.
// Source: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::app {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Seven bits a byte, the lowest first; the high bit says that more follow.
void put_varint(std::string& out, std::uint64_t value);
void put_key(std::string& out, unsigned field, Wire wire);
void put_bytes(std::string& out, unsigned field, std::string_view bytes);
template <class Unsigned>
void put_fixed(std::string& out, Unsigned value) {
    for (std::size_t i = 0; i < sizeof(value); ++i) out += static_cast<char>(value >> (8 * i));
}

/// The number that put_fixed wrote; of up to eight bytes.
std::uint64_t take_fixed(std::string_view bytes);

/// Reads a message field by field. There is none at its end or where the bytes are invalid.
class ProtobufFields {
  public:
    explicit ProtobufFields(std::string_view message) : rest_(message) {}

    bool next();
    /// Whether next() reached the end of the message without an invalid field.
    bool complete() const { return rest_.empty() && sound_; }

    unsigned field = 0;
    Wire wire = Wire::varint;
    std::uint64_t number = 0;  ///< of Wire::varint, fixed32 and fixed64
    std::string_view bytes;    ///< of Wire::bytes
    std::string_view all;      ///< the field with its key

  private:
    bool read();
    bool varint(std::uint64_t& value);
    bool fixed(std::size_t size);

    std::string_view rest_;
    bool sound_ = true;
};

}  // namespace heddle::app
