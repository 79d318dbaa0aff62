#include "apps/translation/text/line_reader.h"

#include <algorithm>

#include "apps/translation/text/unicode.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
// Bytes buffered beyond the longest line: those removed later (a byte order mark, a CR), and one that shows there are more.
constexpr std::size_t held_beyond = byte_order_mark.size() + 2;
// Enough to see past the head of an XML file.
constexpr std::size_t beginning_size = 1 << 14;

bool is_text(std::string_view line) { return line.find('\0') == std::string_view::npos && is_utf8(line); }

std::string with_replacements(std::string_view line) {
    std::u32string characters = decode_utf8(line);
    std::replace(characters.begin(), characters.end(), U'\0', replacement_character);
    return encode_utf8(characters);
}

bool has_more_than_ascii(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace

std::size_t whole_characters(std::string_view text, std::size_t size) {
    const auto follows = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u; };
    for (std::size_t end = size; end + 3 >= size; --end)
        if (!follows(end)) return end;
    return size;  // not UTF-8
}

std::string counted_lines(std::int64_t count) { return grouped_text(count) + (count == 1 ? " line" : " lines"); }

std::string_view LineReader::beginning() {
    std::size_t have = 0, got = 1;
    for (; have < beginning_size && got > 0; have += got) got = source_.read(std::span(block_).subspan(have));
    rest_ = {block_.data(), have};
    return rest_;
}

void LineReader::read_more() {
    rest_ = {block_.data(), source_.read(block_)};
    at_end_ = rest_.empty();
}

void LineReader::fail_at(const UnreadableLine& line) const {
    const std::string advice =
        line.command.empty() ? "correct it" : "convert the text first, for example with " + source_.through(line.command);
    fail_with("{}:{}: {}; {}, or go on with --replace-invalid", name(), number_, line.what, advice);
}

std::string LineReader::finished() {
    std::string line = std::move(begun_);
    begun_.clear();
    const bool first = ++number_ == 1;
    if (line.ends_with('\r')) line.pop_back();
    if (first && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (line.size() > longest_) {
        line.resize(whole_characters(line, longest_));
        ++changes_.cut;
    }
    if (is_text(line)) {
        in_utf8_ = in_utf8_ || has_more_than_ascii(line);
        return line;
    }
    if (!replace_invalid_) fail_at(unreadable_line(line, first, in_utf8_));
    ++changes_.replaced;
    return with_replacements(line);
}

bool LineReader::take(std::string& line) {
    const std::size_t end = rest_.find('\n');
    const std::size_t room = longest_ == std::string::npos ? longest_ : longest_ + held_beyond - begun_.size();
    begun_.append(rest_.substr(0, std::min(end, room)));
    rest_.remove_prefix(std::min(end, rest_.size()));
    const bool only_a_mark = number_ == 0 && begun_ == byte_order_mark;
    if (end == std::string_view::npos && (!at_end_ || begun_.empty() || only_a_mark)) return false;
    if (!rest_.empty()) rest_.remove_prefix(1);
    line = finished();
    return true;
}

bool LineReader::next(std::string& line) {
    while (!take(line)) {
        if (at_end_) return false;
        read_more();
    }
    return true;
}

void LineReader::say_changes(const Say& say) const {
    if (!say) return;
    if (changes_.replaced > 0)
        say(fmt::format("{}: replaced what is not UTF-8 by U+FFFD in {}", name(), counted_lines(changes_.replaced)));
    if (changes_.cut > 0)
        say(fmt::format("{}: cut {} to {} bytes, the longest a line may be", name(), counted_lines(changes_.cut),
                        grouped_text(longest_line)));
}

}  // namespace heddle::app
