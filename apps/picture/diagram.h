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

/// A box that was drawn: where arrows begin and end.
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
    static constexpr double gap = 22;  ///< between two boxes that an arrow joins

    /// A box around these lines of text, the first one bold, `width` wide around `center`; its height follows from the lines. A
    /// line that is too long is cut.
    Box box(double center, double top, double width, std::span<const std::string> lines, Part part);
    /// How high box() is with so many lines.
    static double box_height(std::size_t lines);
    /// A sum: a circle with a plus.
    Box plus(double center, double top);
    /// A line through these points with a head at the last one; `label` stands beside its first piece.
    void arrow(std::span<const Point> points, std::string_view label = "");
    void arrow(Point from, Point to, std::string_view label = "");
    /// The same without a head.
    void line(Point from, Point to, std::string_view label = "");
    /// A dashed frame around what stands within, with a label in its upper right corner, or in the left one.
    void frame(const Box& around, std::string_view label, bool label_left = false);
    /// A square matrix whose row i is filled up to column i: who may attend to whom. `side` wide and high.
    Box triangle(double left, double top, double side, int rows);
    /// A remark without a box, its middle at x.
    void note(double x, double y, std::string_view text);

    std::string svg(double width, double height, std::string_view title) const { return drawing_.svg(width, height, title); }

  private:
    Drawing drawing_;
};

}  // namespace heddle::picture
