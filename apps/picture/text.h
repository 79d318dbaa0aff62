// Text and numbers in pictures: width, truncation and number of digits.
#pragma once

#include <string>
#include <string_view>

namespace heddle::picture {

/// The approximate width of `text` in pixels at font size `size`. The font is unknown; a wide sans-serif font is assumed, so a
/// real one is rarely wider.
double text_width(std::string_view text, double size);

/// `text`, truncated with an ellipsis if it is wider than `width` pixels.
std::string shortened(std::string_view text, double width, double size);

/// A measured value for display: three significant digits by default, "0.0123", "1.2e-7", "nan"; integers below 1e9 in full,
/// "45,188,096".
std::string number(double value, int digits = 3);
/// An integer with thousands separators: "45,188,096".
std::string whole_number(double value);
/// "1.2e-7" for "1.2e-07".
std::string short_exponent(std::string text);

/// A coordinate in pixels: at most two decimals, without trailing zeros.
std::string place(double pixels);

}  // namespace heddle::picture
