// Texts and numbers of a picture: their width, truncation and number of digits.
#pragma once

#include <string>
#include <string_view>

namespace heddle::picture {

/// About how many pixels `text` takes at `size` pixels a line. No font is known here: a wide sans serif one is meant, so a real
/// one rarely takes more.
double text_width(std::string_view text, double size);

/// `text`, or as much of it as fits into `width` pixels and an ellipsis.
std::string shortened(std::string_view text, double width, double size);

/// A measured value for a reader: three significant digits, or as many as are asked for, "0.0123", "1.2e-7", "nan"; whole numbers
/// below 1e9 in full, "45,188,096".
std::string number(double value, int digits = 3);
/// A whole number with commas: "45,188,096".
std::string whole_number(double value);
/// "1.2e-7" for "1.2e-07".
std::string short_exponent(std::string text);

/// A coordinate in pixels: at most two decimals, none that say nothing.
std::string place(double pixels);

}  // namespace heddle::picture
