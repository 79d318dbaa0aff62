#include "core/text.h"

#include <fmt/format.h>

#include <array>

namespace heddle {

std::string duration_text(double seconds) {
    if (!(seconds >= 0) || seconds > 1e8) return "?";
    const auto s = static_cast<std::int64_t>(seconds + 0.5);
    if (s < 60) return fmt::format("{} s", s);
    if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string grouped_text(std::int64_t number) {
    std::string text = fmt::format("{}", number);
    const std::int64_t first = number < 0 ? 1 : 0;
    for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > first; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string size_text(std::int64_t bytes) {
    if (bytes < 1000) return fmt::format("{} bytes", bytes);
    constexpr std::array units = {"kB", "MB", "GB", "TB"};
    double size = static_cast<double>(bytes) / 1e3;
    std::size_t unit = 0;
    for (; size >= 999.95 && unit + 1 < units.size(); ++unit) size /= 1e3;  // no 1000.0 kB
    return fmt::format("{:.1f} {}", size, units[unit]);
}

std::string shell_word(std::string_view word) {
    const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string quoted = "'";
    for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return quoted + "'";
}

}  // namespace heddle
