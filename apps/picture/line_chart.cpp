#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/picture/chart.h"
#include "apps/picture/frame.h"
#include "apps/picture/text.h"
#include "core/format.h"

namespace heddle::picture {
namespace {

struct Point {
    double x = 0;
    double y = 0;
};

void check_chart(const LineChart& chart) {
    for (const Series& one : chart.series)
        check(one.x.size() == one.y.size(),
              "chart '{}': the series '{}' has {} values of x and {} of y; it needs as many of both", chart.title, one.name,
              one.x.size(), one.y.size());
}

// The segments between gaps, in pixels.
std::vector<std::vector<Point>> pieces(const Series& series, const Scale& x, const Scale& y) {
    std::vector<std::vector<Point>> all(1);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (drawable(series.x[i], x.logarithmic) && drawable(series.y[i], y.logarithmic))
            all.back().push_back({x(series.x[i]), y(series.y[i])});
        else if (!all.back().empty())
            all.emplace_back();
    }
    if (all.back().empty()) all.pop_back();
    return all;
}

// Of the points in one column of pixels, keeps the first, the lowest, the highest and the last: a line through these covers the
// same pixels, and long runs do not make large files.
std::vector<Point> thinned(const std::vector<Point>& points) {
    if (points.size() < 4 * static_cast<std::size_t>(chart_width)) return points;
    std::vector<Point> kept;
    for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
        std::size_t low = begin, high = begin;
        for (end = begin; end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x); ++end) {
            if (points[end].y < points[low].y) low = end;
            if (points[end].y > points[high].y) high = end;
        }
        std::vector<std::size_t> places = {begin, low, high, end - 1};
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        for (const std::size_t place : places) kept.push_back(points[place]);
    }
    return kept;
}

std::string path_of(const std::vector<Point>& points) {
    std::string path;
    for (const Point& point : points) path += fmt::format("{}{} {}", path.empty() ? "M" : "L", place(point.x), place(point.y));
    return path;
}

std::size_t color_of(const Series& series, std::size_t index) { return series.color.value_or(index); }

void draw(Drawing& drawing, const Series& series, std::size_t index, double width, const Scale& x, const Scale& y) {
    const std::string_view color = series_color(color_of(series, index));
    std::string lines;
    for (const std::vector<Point>& piece : pieces(series, x, y)) {
        const std::vector<Point> points = thinned(piece);
        if (series.dots || points.size() == 1)
            for (const Point& point : points) drawing.circle(point.x, point.y, 3, color);
        else
            lines += path_of(points);
    }
    if (!lines.empty()) drawing.path(lines, color, width, series_dashes(color_of(series, index)));
}

std::vector<LegendEntry> legend_of(const LineChart& chart) {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const Series& one = chart.series[i];
        const std::string name = name_with_missing(one.name, one.y, chart.y.logarithmic);
        if (chart.series.size() == 1 && chart.levels.empty() && (name.empty() || name == chart.title || name == chart.y.label))
            continue;
        const std::size_t color = color_of(one, i);
        entries.push_back(
            {name, series_color(color), series_dashes(color), one.dots ? LegendEntry::Mark::dot : LegendEntry::Mark::line});
    }
    const std::vector<LegendEntry> levels = legend_of(chart.levels);
    entries.insert(entries.end(), levels.begin(), levels.end());
    return entries;
}

}  // namespace

std::string svg(const LineChart& chart) {
    check_chart(chart);
    std::vector<double> all_x, all_y;
    for (const Series& one : chart.series)
        for (std::size_t i = 0; i < one.x.size(); ++i) {
            if (!drawable(one.x[i], chart.x.logarithmic) || !drawable(one.y[i], chart.y.logarithmic)) continue;
            all_x.push_back(one.x[i]);
            all_y.push_back(one.y[i]);
        }
    const bool nothing = all_y.empty();
    for (const Level& level : chart.levels) all_y.push_back(level.y);
    Scale x{.range = range_of(chart.x, all_x, false, chart.title), .logarithmic = chart.x.logarithmic};
    Scale y{.range = range_of(chart.y, all_y, true, chart.title), .logarithmic = chart.y.logarithmic};
    const std::vector<Tick> x_ticks = ticks(x.range, x.logarithmic), y_ticks = ticks(y.range, y.logarithmic);

    Drawing drawing;
    const double top = draw_head(drawing, chart.title, legend_of(chart)) + 8;
    const Area area{left_margin(y_ticks, chart.y.label), top, chart_width - 24, top + plot_height};
    x.start = area.left, x.end = area.right;
    y.start = area.bottom, y.end = area.top;
    draw_left_axis(drawing, area, y, y_ticks, chart.y.label);
    draw_bottom_axis(drawing, area, x, x_ticks, chart.x.label);
    draw_levels(drawing, area, y, chart.levels);
    drawing.open_clip(area.left - 2, area.top - 2, area.right - area.left + 4, area.bottom - area.top + 4);
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        // Wide lines below narrow ones, so that all are visible where they coincide.
        const double above = static_cast<double>(chart.series.size() - 1 - i);
        draw(drawing, chart.series[i], i, std::min(2 + 0.8 * above, 4.4), x, y);
    }
    drawing.close();
    if (nothing) draw_no_value(drawing, area);
    return drawing.svg(chart_width, area.bottom + (chart.x.label.empty() ? 26 : 46), chart.title);
}

}  // namespace heddle::picture
