// Colours for numbers from 0 to 1.
#pragma once

#include <string>

namespace heddle::picture {

/// How many colours a ramp has (odd: one is the middle); more would make the file larger, and no eye tells them apart.
inline constexpr int ramp_levels = 65;

/// The level of a share; shares outside of 0..1 get the first or the last one.
int ramp_level(double share);

/// "#rrggbb". One way: ten points of viridis (van der Walt and Smith, CC0), dark to bright, also when printed in grey. Two ways:
/// blue, near white, vermilion, the ends from Okabe and Ito. Both are read by people of any colour vision.
std::string ramp_color(int level, bool diverging);

/// Whether a text on this colour is dark.
bool ramp_is_bright(int level, bool diverging);

/// What is not a number.
inline constexpr const char* not_finite_color = "#a0a0a0";

}  // namespace heddle::picture
