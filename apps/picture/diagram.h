// Diagrams of boxes and arrows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/picture/drawing.h"

namespace heddle::picture {

struct Point {
    double x = 0;
    double y = 0;
};

/// The kind of a box; each has a colour.
enum class Part { data, embedding, attention, feed_forward, norm, projection };

/// The position of a drawn box, for arrows.
struct Box {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;

    Point above() const { return {(left + right) / 2, top}; }
    Point below() const { return {(left + right) / 2, bottom}; }
    Point from_left() const { return {left, (top + bottom) / 2}; }
    Point from_right() const { return {right, (top + bottom) / 2}; }
};

class Diagram {
  public:
    static constexpr double line_height = 17;
    static constexpr double gap = 22;  ///< distance between two boxes joined by an arrow

    /// A box with these lines of text, the first one in bold, `width` wide and centred at `center`; the number of lines gives its
    /// height. Lines that are too long are truncated.
    Box box(double center, double top, double width, std::span<const std::string> lines, Part part);
    /// The height of a box() with this many lines.
    static double box_height(std::size_t lines);
    /// A sum: a circle with a plus.
    Box plus(double center, double top);
    /// An arrow through these points with its head at the last one; `label` is beside the first segment.
    void arrow(std::span<const Point> points, std::string_view label = "");
    void arrow(Point from, Point to, std::string_view label = "");
    /// The same without an arrowhead.
    void line(Point from, Point to, std::string_view label = "");
    /// A dashed frame with a label in its upper right or upper left corner.
    void frame(const Box& around, std::string_view label, bool label_left = false);
    /// A square matrix whose row i is filled up to column i: a causal mask. `side` is its width and height.
    Box triangle(double left, double top, double side, int rows);
    /// Text without a box, centred at x.
    void note(double x, double y, std::string_view text);

    std::string svg(double width, double height, std::string_view title) const { return drawing_.svg(width, height, title); }

  private:
    Drawing drawing_;
};

}  // namespace heddle::picture
