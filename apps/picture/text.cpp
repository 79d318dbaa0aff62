#include "apps/picture/text.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/translation/text/unicode.h"

namespace heddle::picture {
namespace {

// In units of the font size. East Asian characters and emoji are as wide as high; combining marks have no width.
double width_of(char32_t letter) {
    if (letter >= 0x300 && letter < 0x370) return 0;
    if (letter >= 0x1100) return letter >= 0x2000 && letter < 0x2E80 ? 0.8 : 1.0;
    if (std::u32string_view(U"iljft.,:;'|!()[] ").find(letter) != std::u32string_view::npos) return 0.36;
    if (std::u32string_view(U"mwMW@%").find(letter) != std::u32string_view::npos) return 0.92;
    return letter >= U'A' && letter <= U'Z' ? 0.7 : 0.6;
}

}  // namespace

double text_width(std::string_view text, double size) {
    double width = 0;
    for (const char32_t letter : app::decode_utf8(text)) width += width_of(letter);
    return width * size;
}

std::string shortened(std::string_view text, double width, double size) {
    if (text_width(text, size) <= width) return std::string(text);
    std::u32string kept;
    double used = width_of(U'…') * size;
    for (const char32_t letter : app::decode_utf8(text)) {
        used += width_of(letter) * size;
        if (used > width) break;
        kept += letter;
    }
    return app::encode_utf8(kept + U'…');
}

std::string short_exponent(std::string text) {
    const std::size_t e = text.find('e');
    if (e == std::string::npos || e + 2 >= text.size()) return text;
    if (text[e + 2] == '0') text.erase(e + 2, 1);
    if (text[e + 1] == '+') text.erase(e + 1, 1);
    return text;
}

std::string whole_number(double value) {
    std::string text = fmt::format("{:.0f}", std::abs(value));
    for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
    return value < 0 ? "-" + text : text;
}

std::string number(double value, int digits) {
    if (std::isnan(value)) return "nan";  // the sign of NaN is meaningless
    if (std::abs(value) < 1e9 && value == std::round(value)) return whole_number(value);
    if (std::abs(value) >= 1000 && std::abs(value) < 1e6) return whole_number(std::round(value));
    return short_exponent(fmt::format("{:.{}g}", value, digits));
}

std::string place(double pixels) {
    std::string text = fmt::format("{:.2f}", pixels);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

}  // namespace heddle::picture
