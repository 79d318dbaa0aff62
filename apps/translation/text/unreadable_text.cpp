#include "apps/translation/text/unreadable_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::app {
namespace {

using namespace std::string_view_literals;

struct Magic {
    std::string_view bytes;  // '\xFF' matches any byte
    PackedFormat format;
};

constexpr Magic magics[] = {
    {"\xFD"
     "7zXZ\0"sv,
     {"xz", "xz -dc"}},
    {"BZh\xFF"
     "1AY&SY"sv,
     {"bzip2", "bzip2 -dc"}},
    {"BZh\xFF\x17\x72\x45\x38\x50\x90"sv, {"bzip2", "bzip2 -dc"}},  // an empty archive
    {"PK\3\4"sv, {"a zip archive", "unzip -p"}},
    {"PK\5\6"sv, {"an empty zip archive", "unzip -p"}},
    {"\x28\xB5\x2F\xFD"sv, {"zstd", "zstd -dc"}},
};

bool agree(std::string_view bytes, std::string_view magic) {
    return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), magic.size())),
                      magic.begin(), [](char byte, char wanted) { return wanted == '\xFF' || byte == wanted; });
}

std::string iconv(std::string_view encoding) { return fmt::format("iconv -f {} -t UTF-8", encoding); }

// Windows-1252 has quotes and dashes where Latin-1 has control characters.
std::string_view narrow_encoding(std::string_view line) {
    constexpr std::string_view unused = "\x81\x8d\x8f\x90\x9d";
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) >= 0x80 && static_cast<unsigned char>(c) < 0xA0; };
    return std::ranges::any_of(line, is_control) && line.find_first_of(unused) == std::string_view::npos ? "WINDOWS-1252"
                                                                                                         : "ISO-8859-1";
}

}  // namespace

std::optional<PackedFormat> packed_format(std::string_view beginning) {
    for (const Magic& magic : magics)
        if (beginning.size() >= magic.bytes.size() && agree(beginning, magic.bytes)) return magic.format;
    return std::nullopt;
}

bool may_be_packed(std::string_view beginning) {
    return std::ranges::any_of(
        magics, [&](const Magic& magic) { return beginning.size() < magic.bytes.size() && agree(beginning, magic.bytes); });
}

UnreadableLine unreadable_line(std::string_view line, bool first, bool in_utf8) {
    const auto wide = [](std::string_view encoding) {
        return UnreadableLine{.what = fmt::format("this is {}, wanted UTF-8", encoding), .command = iconv(encoding)};
    };
    if (first && (line.starts_with("\xFF\xFE\0\0"sv) || line.starts_with("\0\0\xFE\xFF"sv))) return wide("UTF-32");
    if (first && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF"))) return wide("UTF-16");
    if (line.find('\0') != std::string_view::npos)
        return {.what = "there is a NUL byte in this line; wanted UTF-8 text", .command = "tr -d '\\000' <"};
    if (in_utf8) return {.what = "this line is not UTF-8, though others are", .command = ""};
    return {.what = "this line is not UTF-8", .command = iconv(narrow_encoding(line))};
}

}  // namespace heddle::app
