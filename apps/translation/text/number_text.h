// Numbers and durations formatted for people.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::app {

/// "42 s", "3:07", "1:02:33".
std::string duration_text(double seconds);
/// 1234567 -> "1,234,567".
std::string grouped_text(std::int64_t number);

}  // namespace heddle::app
