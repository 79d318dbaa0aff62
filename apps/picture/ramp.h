// Colours for values from 0 to 1.
#pragma once

#include <string>

namespace heddle::picture {

/// Number of colours in a ramp; more would make files larger without a visible difference.
inline constexpr int ramp_levels = 65;

/// The level of a share; shares outside 0..1 get the first or the last level.
int ramp_level(double share);

/// "#rrggbb": ten points of viridis (van der Walt and Smith, CC0), dark to bright, also in greyscale and for any kind of colour
/// vision.
std::string ramp_color(int level);

/// Whether text on this colour should be dark.
bool ramp_is_bright(int level);

/// The colour of values that are not finite.
inline constexpr const char* not_finite_color = "#a0a0a0";

}  // namespace heddle::picture
