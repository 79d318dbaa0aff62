// Writes the elements of an SVG picture one after another. No element has an id, because a page may contain several pictures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::picture {

inline constexpr std::string_view ink = "currentColor";  ///< the page's text colour

enum class Anchor { start, middle, end };

struct TextStyle {
    double size = 12;
    Anchor anchor = Anchor::start;
    bool bold = false;
    double turned = 0;      ///< rotation around its position, degrees clockwise
    std::string fill = {};  ///< default: the page's text colour
    double opacity = 1;
};

/// Part of the first element of every drawing, by which commands recognise pictures that they may replace.
inline constexpr std::string_view picture_mark =
    "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" fill=\"currentColor\"";

class Drawing {
  public:
    void text(double x, double y, std::string_view text, const TextStyle& style = {});
    void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width, std::string_view dashes = "",
              double opacity = 1);
    void rect(double x, double y, double width, double height, std::string_view fill, std::string_view tip = "");
    void circle(double x, double y, double radius, std::string_view fill);
    /// `data` as in <path d="...">, without a fill.
    void path(std::string_view data, std::string_view stroke, double width, std::string_view dashes = "");
    /// Clips everything drawn until close() to this rectangle.
    void open_clip(double x, double y, double width, double height);
    /// Scales the coordinates of everything drawn until close(): (0, 0) is at (x, y), one unit is `width` across and `height`
    /// down, and edges stay sharp.
    void open_grid(double x, double y, double width, double height);
    /// Groups everything drawn until close() under a class, which a page's style may name.
    void open_group(std::string_view name);
    void close();

    /// The whole picture, `width` by `height` pixels at most; `title` is read by screen readers.
    std::string svg(double width, double height, std::string_view title) const;

  private:
    std::string body_;
    std::string ends_;  // the closing tags for close() to write: 'g' or 's' each
};

/// Colours of series: those of Okabe and Ito (2008, "Color Universal Design"; with a darker yellow), which can be told apart with
/// any kind of colour vision, ordered so that the first ones are legible on white and on black pages; the eighth is the page's
/// text colour. From the ninth on they repeat with dashes.
std::string_view series_color(std::size_t index);
std::string_view series_dashes(std::size_t index);

}  // namespace heddle::picture
