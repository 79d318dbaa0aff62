// std::from_chars for every number; libc++ (macOS) had none for floating point before its version 20.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace heddle {

/// Like std::from_chars. The replacement reads what strtod in the "C" locale reads, but no spaces, plus signs or hex numbers.
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
