// Charts as SVG: text that a browser draws without a script, a font or the network. They hold their values, too, for the script
// of a page (scripts.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::picture {

/// One axis of a chart.
struct Axis {
    std::string label;
    bool logarithmic = false;         ///< values that are not positive are left out then
    std::optional<double> from = {};  ///< default: what the values need
    std::optional<double> to = {};
};

/// A named row of points, in the order in which a line joins them. x and y are as long as each other; where one is not finite
/// the line has a gap.
struct Series {
    std::string name;
    std::vector<double> x;
    std::vector<double> y;
    bool dots = false;                      ///< points instead of a line
    std::optional<std::size_t> color = {};  ///< which of the colours (drawing.h); default: its own place in the chart
};

/// A level to compare with: "ln 10", "floor".
struct Level {
    std::string name;
    double y = 0;
};

struct LineChart {
    std::string title;
    Axis x;
    Axis y;
    std::vector<Series> series;
    std::vector<Level> levels = {};  ///< dashed lines across
};

/// A bar for each group and each set of bars: bars.values[group]. A value that is not finite is written instead of drawn.
struct Bars {
    std::string name;
    std::vector<double> values;
    std::optional<std::size_t> color = {};  ///< as that of a series
};

struct BarChart {
    std::string title;
    Axis y;
    std::vector<std::string> groups;
    std::vector<Bars> bars;
    std::vector<Level> levels = {};
};

/// A matrix as coloured cells, row 0 at the top.
struct HeatMap {
    std::string title;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> values;                ///< [rows, cols]; what is not finite gets a colour of its own
    std::vector<std::string> row_labels = {};  ///< rows of them, or none: then numbers, as many as there is room for
    std::vector<std::string> col_labels = {};
    std::string row_title = {};
    std::string col_title = {};
    std::optional<double> from = {};  ///< value of the first colour; default: the least value
    std::optional<double> to = {};
    bool diverging = false;  ///< colours go two ways from 0, as far to both sides
    bool key = true;         ///< beside the map: which colour means what
    double side = 380;       ///< pixels of the longer side; more where names need it, less where cells would be too large
};

/// An <svg> element, which names its extent and scales with the page; colours tell eight series apart, dashes the
/// next ones. The same chart gives the same bytes. Error when series and axes do not fit together: the message names the chart
/// and both extents.
std::string svg(const LineChart& chart);
std::string svg(const BarChart& chart);
std::string svg(const HeatMap& map);

}  // namespace heddle::picture
