#include "apps/picture/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/picture/text.h"

namespace heddle::picture {
namespace {

constexpr double faint = 0.18;

std::string_view level_dashes(std::size_t index) { return index % 2 == 0 ? "7 4" : "2 3"; }

void draw_mark(Drawing& drawing, double x, double y, const LegendEntry& entry) {
    if (entry.mark == LegendEntry::Mark::box) return drawing.rect(x + 4, y - 6, 12, 12, entry.color);
    if (entry.mark == LegendEntry::Mark::dot) return drawing.circle(x + 10, y, 3.5, entry.color);
    drawing.line(x, y, x + 20, y, entry.color, 2.5, entry.dashes);
}

}  // namespace

double draw_head(Drawing& drawing, const std::string& title, const std::vector<LegendEntry>& legend) {
    double y = 10;
    if (!title.empty()) {
        drawing.text(12, 20, shortened(title, chart_width - 24, 14), {.size = 14, .bold = true});
        y = 32;
    }
    double x = 12;
    for (const LegendEntry& entry : legend) {
        const std::string name = shortened(entry.name, chart_width - 60, text_size);
        const double width = 26 + text_width(name, text_size);
        if (x > 12 && x + width > chart_width - 12) {
            x = 12;
            y += 18;
        }
        drawing.open_group("entry");
        draw_mark(drawing, x, y + 8, entry);
        drawing.text(x + 26, y + 12, name);
        drawing.close();
        x += width + 16;
    }
    return legend.empty() ? y + 4 : y + 26;
}

double left_margin(const std::vector<Tick>& ticks, const std::string& label) {
    double widest = 0;
    for (const Tick& tick : ticks) widest = std::max(widest, text_width(tick.label, text_size));
    return 16 + widest + (label.empty() ? 0 : 20);
}

void draw_left_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                    const std::string& label) {
    for (const Tick& tick : ticks) {
        const double y = scale(tick.value);
        drawing.line(area.left, y, area.right, y, ink, 1, "", faint);
        drawing.text(area.left - 6, y + 4, tick.label, {.anchor = Anchor::end});
    }
    const double middle = (area.top + area.bottom) / 2;
    drawing.text(14, middle, shortened(label, area.bottom - area.top, text_size), {.anchor = Anchor::middle, .turned = -90});
}

void draw_bottom_axis(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Tick>& ticks,
                      const std::string& label) {
    draw_base(drawing, area, area.bottom);
    for (const Tick& tick : ticks) {
        const double x = scale(tick.value);
        drawing.line(x, area.bottom, x, area.bottom + 4, ink, 1, "", 0.6);
        drawing.text(x, area.bottom + 17, tick.label, {.anchor = Anchor::middle});
    }
    drawing.text((area.left + area.right) / 2, area.bottom + 36, shortened(label, area.right - area.left, text_size),
                 {.anchor = Anchor::middle});
}

void draw_base(Drawing& drawing, const Area& area, double y) { drawing.line(area.left, y, area.right, y, ink, 1, "", 0.6); }

void draw_no_value(Drawing& drawing, const Area& area) {
    drawing.text((area.left + area.right) / 2, (area.top + area.bottom) / 2, "no value to draw",
                 {.anchor = Anchor::middle, .opacity = 0.7});
}

void draw_levels(Drawing& drawing, const Area& area, const Scale& scale, const std::vector<Level>& levels) {
    drawing.open_clip(area.left, area.top, area.right - area.left, area.bottom - area.top);
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (drawable(levels[i].y, scale.logarithmic))
            drawing.line(area.left, scale(levels[i].y), area.right, scale(levels[i].y), ink, 1.5, level_dashes(i), 0.8);
    drawing.close();
}

std::vector<LegendEntry> legend_of(const std::vector<Level>& levels) {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < levels.size(); ++i)
        entries.push_back({fmt::format("{} ({})", levels[i].name, number(levels[i].y)), ink, level_dashes(i)});
    return entries;
}

std::string name_with_missing(const std::string& name, const std::vector<double>& values, bool logarithmic) {
    const auto missing = std::count_if(values.begin(), values.end(), [&](double value) { return !drawable(value, logarithmic); });
    if (missing == 0) return name;
    const bool finite = std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
    return fmt::format("{} ({} {} not {})", name, missing, missing == 1 ? "value" : "values", finite ? "positive" : "finite");
}

}  // namespace heddle::picture
