#include "apps/translation/text/markup.h"

#include <algorithm>

namespace heddle::app {

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_ascii_letter(char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; }

bool same_name(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(markup_space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(markup_space) + 1 - first);
}

std::string_view attribute_in(std::string_view attributes, std::string_view name) {
    std::string_view rest = attributes;
    while (!(rest = trimmed(rest)).empty()) {
        const std::string_view key = rest.substr(0, rest.find_first_of(" \t\r\n="));
        rest = trimmed(rest.substr(key.size()));
        std::string_view value;
        if (rest.starts_with('=')) {
            rest = trimmed(rest.substr(1));
            const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
            const std::size_t end = quoted ? rest.find(rest[0], 1) : rest.find_first_of(markup_space);
            value = quoted ? rest.substr(1, end - 1) : rest.substr(0, end);
            rest.remove_prefix(std::min(end == std::string_view::npos ? end : end + (quoted ? 1 : 0), rest.size()));
        }
        if (same_name(key, name)) return value;
    }
    return {};
}

}  // namespace heddle::app
