// Charts as SVG, which a browser renders without scripts, fonts or network access.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::picture {

/// One axis of a chart.
struct Axis {
    std::string label;
    bool logarithmic = false;         ///< then values that are not positive are left out
    std::optional<double> from = {};  ///< default: from the values
    std::optional<double> to = {};
};

/// A named sequence of points, joined by a line in this order. x and y have equal length; a value that is not finite makes a gap.
struct Series {
    std::string name;
    std::vector<double> x = {};
    std::vector<double> y = {};
    bool dots = false;                      ///< draw points instead of a line
    std::optional<std::size_t> color = {};  ///< index of the colour (drawing.h); default: its index in the chart
};

/// A reference level: "ln 10", "floor".
struct Level {
    std::string name;
    double y = 0;
};

struct LineChart {
    std::string title;
    Axis x;
    Axis y;
    std::vector<Series> series = {};
    std::vector<Level> levels = {};  ///< dashed lines across
};

/// A set of bars, one for each group: values[group]. A value that is not finite is written instead of drawn.
struct Bars {
    std::string name;
    std::vector<double> values = {};
    std::optional<std::size_t> color = {};  ///< as for a series
};

struct BarChart {
    std::string title;
    Axis y;  ///< linear
    std::vector<std::string> groups = {};
    std::vector<Bars> bars = {};
};

/// A matrix as coloured cells, row 0 at the top.
struct HeatMap {
    std::string title;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> values = {};           ///< [rows, cols]; values that are not finite get a separate colour
    std::vector<std::string> row_labels = {};  ///< one per row; if empty, as many row numbers as fit
    std::vector<std::string> col_labels = {};
    std::string row_title = {};
    std::string col_title = {};
    std::optional<double> from = {};  ///< value of the first colour; default: the smallest value
    std::optional<double> to = {};
    bool key = true;    ///< draw a colour key beside the map
    double side = 380;  ///< length of the longer side in pixels; more if names need it, less if cells would be too large
};

/// An <svg> element that states its size and scales with the page. Eight series differ by colour, further ones by dashes. The
/// same chart gives the same bytes. Error if series and axes do not match: the message names the chart and both sizes.
std::string svg(const LineChart& chart);
std::string svg(const BarChart& chart);
std::string svg(const HeatMap& map);

}  // namespace heddle::picture
