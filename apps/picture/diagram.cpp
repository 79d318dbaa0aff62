#include "apps/picture/diagram.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/picture/text.h"

namespace heddle::picture {
namespace {

constexpr double box_text_size = 12;
constexpr double padding = 7;
constexpr double plus_radius = 9;
constexpr double head_length = 7;

// Pale, so that dark text on them is legible on white and on black pages.
std::string_view fill_of(Part part) {
    switch (part) {
        case Part::data: return "#e8eaed";
        case Part::embedding: return "#f6cfe0";
        case Part::attention: return "#fbd9a5";
        case Part::feed_forward: return "#bfe0f5";
        case Part::norm: return "#f3ecb0";
        case Part::projection: return "#c4e8d4";
    }
    return "";
}

std::string path_data(std::span<const Point> points) {
    std::string data;
    for (std::size_t i = 0; i < points.size(); ++i)
        data += fmt::format("{}{} {}", i == 0 ? "M" : " L", place(points[i].x), place(points[i].y));
    return data;
}

void label_between(Drawing& drawing, Point from, Point to, std::string_view label) {
    drawing.text((from.x + to.x) / 2 + 6, (from.y + to.y) / 2 + 4, label, {.size = 11, .opacity = 0.8});
}

}  // namespace

double Diagram::box_height(std::size_t lines) { return static_cast<double>(lines) * line_height + 2 * padding - 3; }

Box Diagram::box(double center, double top, double width, std::span<const std::string> lines, Part part) {
    const double height = box_height(lines.size());
    drawing_.rounded(center - width / 2, top, width, height, fill_of(part), "#5b6470");
    for (std::size_t i = 0; i < lines.size(); ++i)
        drawing_.text(center, top + padding + line_height * (static_cast<double>(i) + 1) - 6,
                      shortened(lines[i], width - 8, box_text_size),
                      {.size = box_text_size, .anchor = Anchor::middle, .bold = i == 0, .fill = "#1b1f24"});
    return {center - width / 2, top, center + width / 2, top + height};
}

Box Diagram::plus(double center, double top) {
    const double y = top + plus_radius;
    drawing_.rounded(center - plus_radius, top, 2 * plus_radius, 2 * plus_radius, "#ffffff", "#5b6470", plus_radius);
    drawing_.line(center - 5, y, center + 5, y, "#1b1f24", 1.5);
    drawing_.line(center, y - 5, center, y + 5, "#1b1f24", 1.5);
    return {center - plus_radius, top, center + plus_radius, top + 2 * plus_radius};
}

void Diagram::arrow(std::span<const Point> points, std::string_view label) {
    if (points.size() < 2) return;
    const Point end = points.back(), before = points[points.size() - 2];
    const double length = std::hypot(end.x - before.x, end.y - before.y);
    const double dx = length == 0 ? 0 : (end.x - before.x) / length, dy = length == 0 ? 0 : (end.y - before.y) / length;
    drawing_.path(path_data(points), ink, 1.3);
    const Point back{end.x - head_length * dx, end.y - head_length * dy};
    const Point head[] = {{back.x - head_length / 2 * dy, back.y + head_length / 2 * dx},
                          end,
                          {back.x + head_length / 2 * dy, back.y - head_length / 2 * dx}};
    drawing_.path(path_data(head), ink, 1.3);
    label_between(drawing_, points[0], points[1], label);
}

void Diagram::arrow(Point from, Point to, std::string_view label) {
    const Point points[] = {from, to};
    arrow(points, label);
}

void Diagram::line(Point from, Point to, std::string_view label) {
    drawing_.line(from.x, from.y, to.x, to.y, ink, 1.3);
    label_between(drawing_, from, to, label);
}

void Diagram::frame(const Box& around, std::string_view label, bool label_left) {
    const Point corners[] = {{around.left, around.top},
                             {around.right, around.top},
                             {around.right, around.bottom},
                             {around.left, around.bottom},
                             {around.left, around.top}};
    drawing_.path(path_data(corners), ink, 1, "5 4");
    drawing_.text(label_left ? around.left + 6 : around.right - 6, around.top + 16, label,
                  {.size = 13, .anchor = label_left ? Anchor::start : Anchor::end, .bold = true});
}

Box Diagram::triangle(double left, double top, double side, int rows) {
    const double cell = side / rows;
    for (int row = 0; row < rows; ++row)
        for (int col = 0; col < rows; ++col)
            drawing_.rounded(left + col * cell, top + row * cell, cell, cell, col <= row ? fill_of(Part::attention) : "#ffffff",
                             "#5b6470", 0);
    return {left, top, left + side, top + side};
}

void Diagram::note(double x, double y, std::string_view text) {
    drawing_.text(x, y, text, {.size = box_text_size, .anchor = Anchor::middle});
}

}  // namespace heddle::picture
