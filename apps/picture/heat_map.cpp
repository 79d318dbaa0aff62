#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "apps/picture/chart.h"
#include "apps/picture/frame.h"
#include "apps/picture/ramp.h"
#include "apps/picture/text.h"
#include "core/format.h"

namespace heddle::picture {
namespace {

constexpr double label_size = 12;
constexpr double label_width = 130;  // the longest row or column name
constexpr double label_step = 14;    // closer names would overlap
constexpr double largest_cell = 48;
constexpr double least_side = 160;  // shorter side of a map with few rows and many columns, or the reverse

void check_map(const HeatMap& map) {
    check(map.rows >= 0 && map.cols >= 0 && map.values.size() == static_cast<std::size_t>(map.rows * map.cols),
          "heat map '{}': has {} values for {} rows and {} columns", map.title, map.values.size(), map.rows, map.cols);
    const auto check_labels = [&](const std::vector<std::string>& labels, std::int64_t count, const char* what) {
        check(labels.empty() || labels.size() == static_cast<std::size_t>(count), "heat map '{}': has {} labels for {} {}",
              map.title, labels.size(), count, what);
    };
    check_labels(map.row_labels, map.rows, "rows");
    check_labels(map.col_labels, map.cols, "columns");
}

Range colors_of(const HeatMap& map) {
    return range_of({.label = "colours", .from = map.from, .to = map.to}, map.values, false, map.title);
}

struct Layout {
    double width = 0;  // of a cell
    double height = 0;
    Area area = {};

    double x(std::int64_t col) const { return area.left + (static_cast<double>(col) + 0.5) * width; }
    double y(std::int64_t row) const { return area.top + (static_cast<double>(row) + 0.5) * height; }
};

std::string label_of(const std::vector<std::string>& labels, std::int64_t index) {
    return labels.empty() ? fmt::format("{}", index) : labels[static_cast<std::size_t>(index)];
}

double widest(const std::vector<std::string>& labels, std::int64_t count) {
    double width = labels.empty() && count > 0 ? text_width(fmt::format("{}", count - 1), label_size) : 0;
    for (const std::string& label : labels) width = std::max(width, text_width(label, label_size));
    return std::min(width, label_width);
}

// If labels would overlap, only every second, fifth, tenth ... one is drawn.
std::int64_t stride(double cell) {
    for (std::int64_t power = 1;; power *= 10)
        for (const std::int64_t factor : {1, 2, 5})
            if (static_cast<double>(factor * power) * cell >= label_step) return factor * power;
}

// Whether column labels are rotated because they do not all fit horizontally.
bool columns_stand(const HeatMap& map, double cell) {
    return widest(map.col_labels, map.cols) + 4 > cell * static_cast<double>(stride(cell));
}

// Values that are not finite have a separate level after the last.
int level_of(double value, const Range& range) {
    if (!std::isfinite(value)) return ramp_levels;
    return ramp_level(value / (range.high - range.low) - range.low / (range.high - range.low));
}

// Cells are drawn as thick horizontal lines, with all of one colour in one path, so a map of a thousand cells stays small.
void draw_cells(Drawing& drawing, const HeatMap& map, const Range& range, const Layout& layout) {
    std::array<std::string, ramp_levels + 1> paths;  // the last one is for values that are not finite
    const auto level_at = [&](std::int64_t row, std::int64_t col) {
        return level_of(map.values[static_cast<std::size_t>(row * map.cols + col)], range);
    };
    for (std::int64_t row = 0; row < map.rows; ++row)
        for (std::int64_t col = 0, end = 0; col < map.cols; col = end) {
            const int level = level_at(row, col);
            for (end = col + 1; end < map.cols && level_at(row, end) == level;) ++end;
            paths[static_cast<std::size_t>(level)] += fmt::format("M{} {}h{}", col, row, end - col);
        }
    drawing.open_grid(layout.area.left, layout.y(0), layout.width, layout.height);
    for (int level = 0; level <= ramp_levels; ++level) {
        const std::string& path = paths[static_cast<std::size_t>(level)];
        if (!path.empty()) drawing.path(path, level < ramp_levels ? ramp_color(level) : not_finite_color, 1);
    }
    drawing.close();
}

// Writes the values into the cells if they all fit.
void draw_numbers(Drawing& drawing, const HeatMap& map, const Range& range, const Layout& layout) {
    if (layout.height < 2 * label_size) return;
    std::vector<std::string> numbers;
    for (const double value : map.values) {
        numbers.push_back(number(value, 2));
        if (text_width(numbers.back(), label_size) + 8 > layout.width) return;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t row = static_cast<std::int64_t>(i) / map.cols, col = static_cast<std::int64_t>(i) % map.cols;
        const int level = level_of(map.values[i], range);
        const bool dark = level == ramp_levels || ramp_is_bright(level);
        drawing.text(layout.x(col), layout.y(row) + 4, numbers[i],
                     {.size = label_size, .anchor = Anchor::middle, .fill = dark ? "#000000" : "#ffffff"});
    }
}

void draw_labels(Drawing& drawing, const HeatMap& map, const Layout& layout) {
    const std::int64_t row_step = stride(layout.height), col_step = stride(layout.width);
    for (std::int64_t row = 0; row < map.rows; row += row_step)
        drawing.text(layout.area.left - 5, layout.y(row) + 4, shortened(label_of(map.row_labels, row), label_width, label_size),
                     {.size = label_size, .anchor = Anchor::end});
    const bool stand = columns_stand(map, layout.width);
    for (std::int64_t col = 0; col < map.cols; col += col_step) {
        const std::string name = shortened(label_of(map.col_labels, col), label_width, label_size);
        if (stand)
            drawing.text(layout.x(col) + 4, layout.area.top - 5, name, {.size = label_size, .turned = -90});
        else
            drawing.text(layout.x(col), layout.area.top - 5, name, {.size = label_size, .anchor = Anchor::middle});
    }
}

// The colour key beside the map. Returns its right and lower edges.
std::pair<double, double> draw_key(Drawing& drawing, const HeatMap& map, const Range& range, const Layout& layout) {
    const double left = layout.area.right + 12, height = std::max(110.0, std::min(layout.area.bottom - layout.area.top, 220.0));
    drawing.open_grid(left, layout.area.top, 12, height / ramp_levels);
    for (int level = 0; level < ramp_levels; ++level) drawing.rect(0, ramp_levels - 1 - level, 1, 1.05, ramp_color(level));
    drawing.close();
    const Scale scale{range, false, layout.area.top + height, layout.area.top};
    double right = left;
    for (const Tick& tick : ticks(range, false)) {
        drawing.text(left + 17, scale(tick.value) + 4, tick.label, {.size = label_size});
        right = std::max(right, left + 21 + text_width(tick.label, label_size));
    }
    if (std::all_of(map.values.begin(), map.values.end(), [](double value) { return std::isfinite(value); }))
        return {right, layout.area.top + height};
    drawing.rect(left, layout.area.top + height + 12, 12, 12, not_finite_color);
    drawing.text(left + 17, layout.area.top + height + 22, "not finite", {.size = label_size});
    return {std::max(right, left + 21 + text_width("not finite", label_size)), layout.area.top + height + 26};
}

Layout layout_of(const HeatMap& map, double top) {
    const double rows = static_cast<double>(std::max<std::int64_t>(map.rows, 1));
    const double cols = static_cast<double>(std::max<std::int64_t>(map.cols, 1));
    double cell = std::clamp(map.side / std::max(rows, cols), 0.5, largest_cell);
    // Names must be legible, so cells with names are as high as a text line unless the map would not fit on a screen.
    if (!map.row_labels.empty() || !map.col_labels.empty())
        cell = std::max(cell, std::min(label_step, 900 / std::max(rows, cols)));
    Layout layout{.width = std::max(cell, std::min(least_side / cols, largest_cell)),
                  .height = std::max(cell, std::min(least_side / rows, largest_cell))};
    layout.area.left = 8 + (map.row_title.empty() ? 0 : 18) + widest(map.row_labels, map.rows) + 5;
    const double above = columns_stand(map, layout.width) ? widest(map.col_labels, map.cols) + 4 : label_size + 3;
    layout.area.top = top + (map.col_title.empty() ? 0 : 18) + above + 5;
    layout.area.right = layout.area.left + static_cast<double>(map.cols) * layout.width;
    layout.area.bottom = layout.area.top + static_cast<double>(map.rows) * layout.height;
    return layout;
}

}  // namespace

std::string svg(const HeatMap& map) {
    check_map(map);
    const Range range = colors_of(map);
    const double top = map.title.empty() ? 6 : 30;
    const Layout layout = layout_of(map, top);
    Drawing drawing;
    draw_cells(drawing, map, range, layout);
    draw_numbers(drawing, map, range, layout);
    draw_labels(drawing, map, layout);
    double right = layout.area.right + 8;
    double bottom = layout.area.bottom + 8;
    if (map.key) {
        const auto [key_right, key_bottom] = draw_key(drawing, map, range, layout);
        right = key_right;
        bottom = std::max(bottom, key_bottom + 8);
    }
    const double wide = std::max(right, std::min(500.0, 24 + text_width(map.title, 14)));
    drawing.text(12, 20, shortened(map.title, wide - 24, 14), {.size = 14, .bold = true});
    const double middle = (layout.area.left + layout.area.right) / 2;
    drawing.text(middle, top + 10, map.col_title, {.anchor = Anchor::middle, .opacity = 0.8});
    drawing.text(16, (layout.area.top + layout.area.bottom) / 2, map.row_title,
                 {.anchor = Anchor::middle, .turned = -90, .opacity = 0.8});
    return drawing.svg(wide, bottom, map.title);
}

}  // namespace heddle::picture
