#include <fmt/format.h>

#include <algorithm>

#include "apps/picture/chart.h"
#include "apps/picture/frame.h"
#include "apps/picture/text.h"
#include "core/format.h"

namespace heddle::picture {
namespace {

constexpr double turned_width = 150;  // maximum length of a rotated group name

void check_chart(const BarChart& chart) {
    for (const Bars& one : chart.bars)
        check(one.values.size() == chart.groups.size(),
              "chart '{}': the bars '{}' have {} values for {} groups; they need one each", chart.title, one.name,
              one.values.size(), chart.groups.size());
}

Scale scale_of(const BarChart& chart) {
    std::vector<double> all = {0};  // where bars start
    for (const Bars& one : chart.bars) all.insert(all.end(), one.values.begin(), one.values.end());
    return {.range = range_of(chart.y, all, true, chart.title)};
}

std::size_t color_of(const BarChart& chart, std::size_t bars) { return chart.bars[bars].color.value_or(bars); }

std::vector<LegendEntry> legend_of(const BarChart& chart) {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < chart.bars.size(); ++i)
        if (chart.bars.size() > 1)
            entries.push_back({chart.bars[i].name, series_color(color_of(chart, i)), "", LegendEntry::Mark::box});
    return entries;
}

struct Slots {
    double start = 0;
    double group = 0;  // width of a group with the gap after it
    double bar = 0;
};

// The value above a bar, or below a negative one; omitted if it would overlap its neighbour.
void draw_value(Drawing& drawing, double value, double x, double top, double bottom, double room) {
    std::string text = number(value);
    if (text_width(text, text_size) + 4 > room) text = number(value, 2);
    if (text_width(text, text_size) + 4 > room) return;
    const TextStyle style{.size = text_size, .anchor = Anchor::middle};
    drawing.text(x, value < 0 ? bottom + 12 : top - 4, text, style);
}

void draw_bars(Drawing& drawing, const BarChart& chart, const Area& area, const Scale& y, const Slots& slots, double base) {
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
        for (std::size_t group = 0; group < chart.groups.size(); ++group) {
            const double value = chart.bars[i].values[group];
            const double left = slots.start + slots.group * static_cast<double>(group) + slots.bar * static_cast<double>(i);
            const double middle = left + slots.bar / 2;
            const std::string tip = fmt::format("{}, {}: {}", chart.groups[group], chart.bars[i].name, number(value));
            if (!drawable(value, false)) {
                drawing.text(middle, base - 4, shortened(number(value), std::max(slots.bar, 30.0), text_size),
                             {.size = text_size, .anchor = Anchor::middle, .bold = true});
                continue;
            }
            const double end = std::clamp(y(value), area.top, area.bottom);
            const double top = std::min(base, end), bottom = std::max(base, end);
            drawing.rect(left + slots.bar * 0.05, top, slots.bar * 0.9, bottom - top, series_color(color_of(chart, i)), tip);
            draw_value(drawing, value, middle, top, bottom, chart.bars.size() == 1 ? slots.group : slots.bar);
        }
    }
}

bool names_fit(const BarChart& chart, double width) {
    return std::all_of(chart.groups.begin(), chart.groups.end(),
                       [&](const std::string& name) { return text_width(name, text_size) <= width - 4; });
}

// Returns the height of the names.
double draw_groups(Drawing& drawing, const BarChart& chart, const Area& area, const Slots& slots, double group_width) {
    const bool upright = names_fit(chart, slots.group);
    double deepest = 18;
    for (std::size_t group = 0; group < chart.groups.size(); ++group) {
        const double x = slots.start + slots.group * static_cast<double>(group) + group_width / 2;
        if (upright) {
            drawing.text(x, area.bottom + 17, chart.groups[group], {.anchor = Anchor::middle});
            continue;
        }
        const std::string name = shortened(chart.groups[group], std::min(turned_width, (x - 8) * 1.4), text_size);
        drawing.text(x + 4, area.bottom + 14, name, {.anchor = Anchor::end, .turned = -45});
        deepest = std::max(deepest, text_width(name, text_size) * 0.71 + 16);
    }
    return deepest;
}

}  // namespace

std::string svg(const BarChart& chart) {
    check_chart(chart);
    Scale y = scale_of(chart);
    const std::vector<Tick> y_ticks = ticks(y.range, false);
    Drawing drawing;
    const double top = draw_head(drawing, chart.title, legend_of(chart)) + 18;  // space for a value above the highest bar
    const Area area{left_margin(y_ticks, chart.y.label), top, chart_width - 24, top + plot_height};
    y.start = area.bottom, y.end = area.top;
    draw_left_axis(drawing, area, y, y_ticks, chart.y.label);

    const double groups = static_cast<double>(std::max<std::size_t>(1, chart.groups.size()));
    const double bars = static_cast<double>(std::max<std::size_t>(1, chart.bars.size()));
    Slots slots{.group = (area.right - area.left) / groups};
    slots.bar = std::min(slots.group * 0.8 / bars, 90.0);
    slots.start = area.left + (slots.group - slots.bar * bars) / 2;
    const double base = std::clamp(y(0), area.top, area.bottom);
    draw_bars(drawing, chart, area, y, slots, base);
    draw_base(drawing, area, base);
    const double depth = draw_groups(drawing, chart, area, slots, slots.bar * bars);
    if (chart.groups.empty() || chart.bars.empty()) draw_no_value(drawing, area);
    return drawing.svg(chart_width, area.bottom + depth + 8, chart.title);
}

}  // namespace heddle::picture
