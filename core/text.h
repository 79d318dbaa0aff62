// Text for people: numbers, durations and sizes, and words of command lines for messages that show commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// "42 s", "3:07", "1:02:33".
std::string duration_text(double seconds);
/// 1234567 -> "1,234,567".
std::string grouped_text(std::int64_t number);
/// Bytes as text: "512 bytes", "3.1 MB", "2.0 GB"; a GB is 1e9 bytes.
std::string size_text(std::int64_t bytes);

/// A word quoted for a shell if necessary.
std::string shell_word(std::string_view word);

}  // namespace heddle
