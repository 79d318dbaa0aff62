#include "apps/translation/vocabulary/protobuf.h"

#include <limits>

namespace heddle::app {

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void put_key(std::string& out, unsigned field, Wire wire) { put_varint(out, field << 3 | static_cast<unsigned>(wire)); }

void put_bytes(std::string& out, unsigned field, std::string_view bytes) {
    put_key(out, field, Wire::bytes);
    put_varint(out, bytes.size());
    out += bytes;
}

std::uint64_t take_fixed(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
}

bool ProtobufFields::next() {
    if (rest_.empty() || !sound_) return false;
    const std::string_view before = rest_;
    sound_ = read();
    all = before.substr(0, before.size() - rest_.size());
    return sound_;
}

bool ProtobufFields::read() {
    std::uint64_t key = 0;
    // A key has 32 bits. The library truncates longer ones, but no writer makes them, so they are rejected.
    if (!varint(key) || key > std::numeric_limits<std::uint32_t>::max()) return false;
    field = static_cast<unsigned>(key >> 3);
    wire = static_cast<Wire>(key & 7);
    if (field == 0) return false;
    switch (wire) {
        case Wire::varint: return varint(number);
        case Wire::fixed64: return fixed(8);
        case Wire::fixed32: return fixed(4);
        case Wire::bytes: break;
        default: return false;  // groups, of protobuf 1
    }
    std::uint64_t size = 0;
    if (!varint(size) || size > rest_.size()) return false;
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
}

bool ProtobufFields::varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool ProtobufFields::fixed(std::size_t size) {
    if (size > rest_.size()) return false;
    number = take_fixed(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
}

}  // namespace heddle::app
