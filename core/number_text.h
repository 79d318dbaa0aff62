// Numbers, durations and sizes formatted for people.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// "42 s", "3:07", "1:02:33".
std::string duration_text(double seconds);
/// 1234567 -> "1,234,567".
std::string grouped_text(std::int64_t number);
/// Bytes as text: "512 bytes", "3.1 MB", "2.0 GB"; a GB is 1e9 bytes.
std::string size_text(std::int64_t bytes);

}  // namespace heddle
