// The frame of line and bar charts: title, legend, axes.
#pragma once

#include <string>
#include <vector>

#include "apps/picture/drawing.h"
#include "apps/picture/scale.h"

namespace heddle::picture {

inline constexpr double chart_width = 460;
inline constexpr double text_size = 12;     ///< at least 9 on a phone, where pages scale pictures by 0.76
inline constexpr double plot_height = 260;  ///< of the plot area

/// A plot area, in pixels.
struct Area {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;
};

struct LegendEntry {
    std::string name;
    std::string_view color;
    std::string_view dashes = "";
    enum class Mark { line, dot, box } mark = Mark::line;
};

/// Draws the title and, below it, the legend in as many rows as it needs. Returns the y below them.
double draw_head(Drawing& drawing, const std::string& title, const std::vector<LegendEntry>& legend);

/// The width that the ticks and the label of a left axis need.
double left_margin(const std::vector<Tick>& ticks, const std::string& label);

/// Horizontal grid lines with their values on the left, and the axis label.
void draw_left_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                    const std::string& label);
/// Tick marks with their values, and the axis label below.
void draw_bottom_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                      const std::string& label);

/// The base line of the plot.
void draw_base(Drawing& drawing, const Area& area, double y);
/// A note in the plot area that there are no values.
void draw_no_value(Drawing& drawing, const Area& area);

/// Dashed horizontal lines, and their legend entries.
void draw_levels(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Level>& levels);
std::vector<LegendEntry> legend_of(const std::vector<Level>& levels);

/// "name", or "name (3 values not finite)" if the axis cannot show some values.
std::string name_with_missing(const std::string& name, const std::vector<double>& values, bool logarithmic);

}  // namespace heddle::picture
