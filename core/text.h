// Numbers, durations and sizes as text for people, words of command lines for messages that show commands, and numbers read from
// text.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle {

/// "42 s", "3:07", "1:02:33".
std::string duration_text(double seconds);
/// 1234567 -> "1,234,567".
std::string grouped_text(std::int64_t number);
/// Bytes as text: "512 bytes", "3.1 MB", "2.0 GB"; a GB is 1e9 bytes.
std::string size_text(std::int64_t bytes);

/// A word quoted for a shell if necessary.
std::string shell_word(std::string_view word);

/// std::from_chars for every number; libc++ (macOS) had none for floating point before its version 20. The replacement reads what
/// strtod in the "C" locale reads, but no spaces, plus signs or hex numbers.
template <class T>
std::from_chars_result from_chars(const char* begin, const char* end, T& value) {
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
    if constexpr (std::is_floating_point_v<T>) {
        const std::string text(begin, end);
        const std::size_t sign = text.starts_with('-') ? 1 : 0;
        const char first = text.size() > sign ? text[sign] : ' ';
        const bool hexadecimal = first == '0' && text.size() > sign + 1 && (text[sign + 1] | 0x20) == 'x';
        if (static_cast<unsigned char>(first) <= ' ' || first == '+' || first == '-' || hexadecimal)
            return {begin, std::errc::invalid_argument};
        char* stopped = nullptr;
        T read;
        if constexpr (std::is_same_v<T, float>)
            read = std::strtof(text.c_str(), &stopped);
        else
            read = std::strtod(text.c_str(), &stopped);
        if (stopped == text.c_str()) return {begin, std::errc::invalid_argument};
        const char* const rest = begin + (stopped - text.c_str());
        if (std::isinf(read) && (first | 0x20) != 'i') return {rest, std::errc::result_out_of_range};
        value = read;
        return {rest, std::errc()};
    } else
#endif
        return std::from_chars(begin, end, value);
}

}  // namespace heddle
