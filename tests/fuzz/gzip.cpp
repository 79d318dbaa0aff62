#include <zlib.h>

#include <optional>

#include "apps/translation/text/byte_source.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

// Everything that can be read in rooms of this size, or nothing when there is an Error on the way.
std::optional<std::string> unpacked(std::string_view bytes, std::size_t room) {
    const InputFile input(bytes);
    std::string text;
    const bool whole = accepted([&] {
        app::ByteSource source(input.path());
        std::string block(room, '\0');
        for (std::size_t got; (got = source.read(block)) > 0;) text.append(block, 0, got);
        must(source.read(block) == 0, "the end stays the end");
    });
    return whole ? std::optional(text) : std::nullopt;
}

std::string packed(std::string_view text) {
    z_stream stream{};
    must(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib begins");
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    must(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib ends");
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace

// The same text in rooms of every size; and what was packed, in one member or two, with or without zeros behind, comes out as it
// was.
void gzip(std::string_view bytes) {
    const std::string damaged = "\x1f\x8b" + std::string(bytes);
    must(unpacked(damaged, 7) == unpacked(damaged, 1 << 16), "the size of the room does not matter");
    const Parts texts = parted(bytes);
    const std::string members = packed(texts.first) + packed(texts.second) + std::string(bytes.size() % 3, '\0');
    must(unpacked(members, 101) == std::string(texts.first) + std::string(texts.second), "the text that was packed");
}

}  // namespace heddle::fuzz
