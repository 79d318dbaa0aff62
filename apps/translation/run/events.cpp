#include "apps/translation/run/events.h"

#include <array>
#include <bit>
#include <chrono>
#include <optional>

#include "apps/translation/vocabulary/protobuf.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// ---- the messages of event.proto and summary.proto, with their field numbers

std::string begun_event(double wall_time) {
    std::string event;
    put_key(event, 1, Wire::fixed64);
    put_fixed(event, std::bit_cast<std::uint64_t>(wall_time));
    return event;
}

std::string version_event() {
    std::string event = begun_event(wall_time());
    put_bytes(event, 3, "brain.Event:2");
    return event;
}

std::string scalar_event(std::int64_t step, double wall_time, std::span<const Scalar> scalars) {
    std::string summary;
    for (const Scalar& scalar : scalars) {
        std::string value;
        put_bytes(value, 1, scalar.tag);
        put_key(value, 2, Wire::fixed32);
        put_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
        put_bytes(summary, 1, value);
    }
    std::string event = begun_event(wall_time);
    put_key(event, 2, Wire::varint);
    put_varint(event, static_cast<std::uint64_t>(step));
    put_bytes(event, 5, summary);
    return event;
}

// ---- decoding

ReadScalar read_value(std::string_view message) {
    ReadScalar scalar;
    for (ProtobufFields value(message); value.next();) {
        if (value.field == 1) scalar.tag = value.bytes;
        if (value.field == 2) scalar.value = std::bit_cast<float>(static_cast<std::uint32_t>(value.number));
    }
    return scalar;
}

void read_event(std::string_view message, std::vector<ReadScalar>& scalars) {
    double time = 0;
    std::int64_t step = 0;
    for (ProtobufFields event(message); event.next();) {
        if (event.field == 1) time = std::bit_cast<double>(event.number);
        if (event.field == 2) step = static_cast<std::int64_t>(event.number);
        if (event.field != 5) continue;
        for (ProtobufFields summary(event.bytes); summary.next();) {
            scalars.push_back(read_value(summary.bytes));
            scalars.back().wall_time = time;
            scalars.back().step = step;
        }
    }
}

// ---- checksums

constexpr std::array<std::uint32_t, 256> remainders = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? 0x82f63b78u : 0);
        table[byte] = rest;
    }
    return table;
}();

// As in TFRecord: the CRC of data that contain their own CRC would be uninformative, so checksums are masked.
std::uint32_t masked(std::string_view bytes) { return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xa282ead8u; }

// ---- records

std::string record(std::string_view message) {
    std::string record;
    put_fixed(record, std::uint64_t{message.size()});
    put_fixed(record, masked(record));
    record += message;
    put_fixed(record, masked(message));
    return record;
}

// Takes one record off the front. If it is not complete, returns nothing and leaves `rest` unchanged.
std::optional<std::string_view> next_message(std::string_view& rest) {
    constexpr std::size_t head = 12, tail = 4;  // length and its checksum; the message's checksum
    if (rest.size() < head + tail) return {};
    const std::uint64_t size = take_fixed(rest.substr(0, 8));
    if (take_fixed(rest.substr(8, 4)) != masked(rest.substr(0, 8)) || size > rest.size() - head - tail) return {};
    const std::string_view message = rest.substr(head, size);
    if (take_fixed(rest.substr(head + size, tail)) != masked(message)) return {};
    rest.remove_prefix(head + size + tail);
    return message;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t rest = ~0u;
    for (const std::byte byte : bytes) rest = (rest >> 8) ^ remainders[(rest ^ static_cast<std::uint32_t>(byte)) & 0xff];
    return ~rest;
}

double wall_time() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

EventFile::EventFile(const std::filesystem::path& path) : file_(path) {
    if (file_.length() == 0) file_.append(record(version_event()));
}

void EventFile::add(std::int64_t step, double wall_time, std::span<const Scalar> scalars) {
    const std::string begin = file_.length() == 0 ? record(version_event()) : "";
    file_.append(begin + record(scalar_event(step, wall_time, scalars)));
}

std::vector<ReadScalar> read_scalars(const std::filesystem::path& path) {
    const std::string bytes = read_regular_file(path);
    std::vector<ReadScalar> scalars;
    for (std::string_view rest = bytes; const std::optional<std::string_view> message = next_message(rest);)
        read_event(*message, scalars);
    return scalars;
}

std::size_t whole_records(std::string_view bytes) {
    std::string_view rest = bytes;
    while (next_message(rest)) {
    }
    return bytes.size() - rest.size();
}

}  // namespace heddle::app
