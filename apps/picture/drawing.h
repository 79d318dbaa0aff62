// The elements of an SVG picture, written one after another. Nothing has an id: several pictures may stand in one page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::picture {

inline constexpr std::string_view ink = "currentColor";  ///< the page's colour of text

enum class Anchor { start, middle, end };

struct TextStyle {
    double size = 12;
    Anchor anchor = Anchor::start;
    bool bold = false;
    double turned = 0;      ///< degrees, clockwise, around its own place
    std::string fill = {};  ///< default: the page's colour of text
    double opacity = 1;
};

class Drawing {
  public:
    void text(double x, double y, std::string_view text, const TextStyle& style = {});
    void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width, std::string_view dashes = "",
              double opacity = 1);
    void rect(double x, double y, double width, double height, std::string_view fill, std::string_view tip = "");
    /// With an edge and round corners.
    void rounded(double x, double y, double width, double height, std::string_view fill, std::string_view stroke,
                 double radius = 5);
    void circle(double x, double y, double radius, std::string_view fill);
    /// `data` as in <path d="...">, without a filling.
    void path(std::string_view data, std::string_view stroke, double width, std::string_view dashes = "");
    /// What is drawn until close() is cut to this part of the picture.
    void open_clip(double x, double y, double width, double height);
    /// What is drawn until close() has a unit of its own: (0, 0) lies at (x, y), 1 is `width` across and `height` down, and edges
    /// stay sharp.
    void open_grid(double x, double y, double width, double height);
    /// What is drawn until close() belongs together, for a script: class="NAME" data-KEY="VALUE" ...
    void open_group(std::string_view name, const std::vector<std::pair<std::string_view, std::string>>& data);
    void close();

    /// The whole picture, `width` by `height` pixels at most; `title` is what a screen reader says.
    std::string svg(double width, double height, std::string_view title) const;

  private:
    std::string body_;
    std::string ends_;  // the tags that close() has to write, 'g' or 's' each
};

/// Colours of series: those of Okabe and Ito (2008, "Color Universal Design"; their yellow is darkened), which people with any
/// kind of colour vision tell apart, in an order in which the first ones are dark and bright enough for white and for black
/// pages; the eighth is the page's colour of text. From the ninth on they come again, with dashes.
std::string_view series_color(std::size_t index);
std::string_view series_dashes(std::size_t index);

}  // namespace heddle::picture
