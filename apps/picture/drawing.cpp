#include "apps/picture/drawing.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "apps/picture/page.h"
#include "apps/picture/text.h"

namespace heddle::picture {
namespace {

std::string attribute(std::string_view name, std::string_view value) {
    return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, escaped(value));
}

std::string opacity_attribute(double opacity) { return opacity < 1 ? fmt::format(" opacity=\"{}\"", place(opacity)) : ""; }

}  // namespace

void Drawing::text(double x, double y, std::string_view text, const TextStyle& style) {
    if (text.empty()) return;
    const char* anchors[] = {"", "middle", "end"};
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", place(x), place(y), place(style.size));
    body_ += attribute("text-anchor", anchors[static_cast<int>(style.anchor)]);
    if (style.bold) body_ += " font-weight=\"600\"";
    if (style.turned != 0) body_ += fmt::format(" transform=\"rotate({} {} {})\"", place(style.turned), place(x), place(y));
    body_ += attribute("fill", style.fill) + opacity_attribute(style.opacity);
    body_ += fmt::format(">{}</text>", escaped(text));
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width, std::string_view dashes,
                   double opacity) {
    body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}{}/>", place(x1),
                         place(y1), place(x2), place(y2), stroke, place(width), attribute("stroke-dasharray", dashes),
                         opacity_attribute(opacity));
}

void Drawing::rect(double x, double y, double width, double height, std::string_view fill, std::string_view tip) {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", place(x), place(y), place(width),
                         place(height), fill);
    body_ += tip.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escaped(tip));
}

void Drawing::circle(double x, double y, double radius, std::string_view fill) {
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>", place(x), place(y), place(radius), fill);
}

void Drawing::path(std::string_view data, std::string_view stroke, double width, std::string_view dashes) {
    body_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" fill=\"none\"{}/>", data, stroke, place(width),
                         attribute("stroke-dasharray", dashes));
}

void Drawing::open_clip(double x, double y, double width, double height) {
    body_ += fmt::format("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">", place(x), place(y),
                         place(width), place(height));
    ends_ += 's';
}

void Drawing::open_grid(double x, double y, double width, double height) {
    body_ += fmt::format("<g transform=\"translate({} {}) scale({:.6g} {:.6g})\" shape-rendering=\"crispEdges\">", place(x),
                         place(y), width, height);
    ends_ += 'g';
}

void Drawing::open_group(std::string_view name) {
    body_ += fmt::format("<g class=\"{}\">", name);
    ends_ += 'g';
}

void Drawing::close() {
    body_ += ends_.back() == 's' ? "</svg>" : "</g>";
    ends_.pop_back();
}

std::string Drawing::svg(double width, double height, std::string_view title) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\" {3}>{4}</svg>",
        place(width), place(height), escaped(title), picture_mark, body_);
}

namespace {

constexpr std::array<std::string_view, 8> colors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#e69f00", "#56b4e9", "#a39c00", "currentColor"};
constexpr std::array<std::string_view, 4> dashes = {"", "6 3", "2 2", "8 3 2 3"};

}  // namespace

std::string_view series_color(std::size_t index) { return colors[index % colors.size()]; }
std::string_view series_dashes(std::size_t index) { return dashes[index / colors.size() % dashes.size()]; }

}  // namespace heddle::picture
