// What line and bar charts have around their values: title, legend, axes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/picture/drawing.h"
#include "apps/picture/scale.h"

namespace heddle::picture {

inline constexpr double chart_width = 460;
inline constexpr double text_size = 12;     ///< at least 9 on a phone, where a page shrinks pictures to 0.76
inline constexpr double plot_height = 260;  ///< of the place for values

/// A place for values, in pixels.
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
    std::optional<std::size_t> series = {};  ///< for a script: the series that a click on it hides
};

/// What the script reads: a value with six digits, or whole and in full; a scale as "low high start end logarithmic"; names as
/// JSON.
std::string data_of(double value);
std::string data_of(const Scale& scale);
std::string data_of(const std::vector<std::string>& names);

/// Draws the title and, below it, the entries from left to right in as many rows as they need. Returns where the rest begins.
double draw_head(Drawing& drawing, const std::string& title, const std::vector<LegendEntry>& legend);

/// How much room the ticks and the label of an axis on the left need.
double left_margin(const std::vector<Tick>& ticks, const std::string& label);

/// Lines across with their values on the left, and the label beside them.
void draw_left_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                    const std::string& label);
/// Marks below with their values, and the label under them.
void draw_bottom_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                      const std::string& label);

/// The line on which values stand.
void draw_base(Drawing& drawing, const Area& area, double y);
/// What stands in the place for values when there are none.
void draw_no_value(Drawing& drawing, const Area& area);

/// Dashed lines across, and what they are called in the legend.
void draw_levels(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Level>& levels);
std::vector<LegendEntry> legend_of(const std::vector<Level>& levels);

/// "name", or "name (3 values not finite)" for those that an axis cannot show.
std::string name_with_missing(const std::string& name, const std::vector<double>& values, bool logarithmic);

}  // namespace heddle::picture
