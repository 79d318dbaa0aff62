// Colours for values from 0 to 1.
#pragma once

#include <string>

namespace heddle::picture {

/// Number of colours in a ramp (odd, so there is a middle one); more would make files larger without a visible difference.
inline constexpr int ramp_levels = 65;

/// The level of a share; shares outside 0..1 get the first or the last level.
int ramp_level(double share);

/// "#rrggbb". Sequential: ten points of viridis (van der Walt and Smith, CC0), dark to bright, also in greyscale. Diverging:
/// blue, near white, vermilion, with the ends from Okabe and Ito. Both suit any kind of colour vision.
std::string ramp_color(int level, bool diverging);

/// Whether text on this colour should be dark.
bool ramp_is_bright(int level, bool diverging);

/// The colour of values that are not finite.
inline constexpr const char* not_finite_color = "#a0a0a0";

}  // namespace heddle::picture
