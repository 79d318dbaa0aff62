// Helpers for the tests of charts: texts, boxes and labels of a picture, and example charts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/picture/chart.h"
#include "apps/picture/drawing.h"
#include "apps/picture/ramp.h"
#include "apps/picture/scale.h"
#include "apps/picture/text.h"
#include "tests/markup.h"
#include "tests/support.h"

namespace heddle::picture {

inline const double nan = std::numeric_limits<double>::quiet_NaN();
inline const double infinity = std::numeric_limits<double>::infinity();

inline std::vector<std::string> texts_of(const std::string& svg) {
    std::vector<std::string> texts;
    for (const Element& one : markup_of(svg).all("text")) texts.push_back(one.text);
    return texts;
}

struct Box {
    double left, right, top, bottom;
    std::string text;
};

// The boxes of the texts that are not rotated.
inline std::vector<Box> boxes_of(const std::string& svg) {
    std::vector<Box> boxes;
    for (const Element& one : markup_of(svg).all("text")) {
        if (one.attributes.count("transform") > 0) continue;
        const double x = std::stod(one.attributes.at("x")), y = std::stod(one.attributes.at("y"));
        const double size = std::stod(one.attributes.at("font-size")), width = text_width(one.text, size);
        const std::string anchor = one.attributes.count("text-anchor") > 0 ? one.attributes.at("text-anchor") : "start";
        const double left = anchor == "start" ? x : anchor == "end" ? x - width : x - width / 2;
        boxes.push_back({left, left + width, y - 0.75 * size, y + 0.2 * size, one.text});
    }
    return boxes;
}

// Expects that no text overlaps another one or leaves the picture.
inline void expect_readable(const std::string& svg) {
    const Markup markup = markup_of(svg);
    ASSERT_EQ(markup.error, "");
    const std::vector<Box> boxes = boxes_of(svg);
    const double width = std::stod(markup.elements[0].attributes.at("width")),
                 height = std::stod(markup.elements[0].attributes.at("height"));
    for (const Element& one : markup.all("text"))
        EXPECT_GE(std::stod(one.attributes.at("font-size")), 12)
            << "below 9 pixels where a page shrinks it to 0.76: " << one.text;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        EXPECT_TRUE(boxes[i].left >= 0 && boxes[i].right <= width && boxes[i].top >= 0 && boxes[i].bottom <= height)
            << boxes[i].text << " lies outside of " << width << " x " << height;
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_TRUE(boxes[i].left >= boxes[j].right || boxes[j].left >= boxes[i].right || boxes[i].top >= boxes[j].bottom ||
                        boxes[j].top >= boxes[i].bottom)
                << boxes[i].text << " lies over " << boxes[j].text;
    }
}

inline LineChart losses() {
    LineChart chart{.title = "loss <of> training & \"test\"", .x = {.label = "update"}, .y = {.label = "loss"}, .series = {}};
    for (int i = 0; i < 3; ++i) {
        Series one{.name = "variant " + std::to_string(i), .x = {}, .y = {}};
        for (int step = 0; step < 150; ++step) {
            one.x.push_back(step);
            one.y.push_back(2.303 * std::exp(-0.01 * i * step));
        }
        chart.series.push_back(one);
    }
    chart.levels = {{"ln 10", std::log(10)}, {"zero", 0}};
    return chart;
}

inline HeatMap square(std::int64_t size) {
    HeatMap map{.title = "a map", .rows = size, .cols = size, .values = {}, .row_title = "query", .col_title = "key"};
    for (std::int64_t i = 0; i < size * size; ++i)
        map.values.push_back(static_cast<double>(i % size) / static_cast<double>(size));
    return map;
}

// The number in a label.
inline double read(std::string label) {
    std::erase(label, ',');
    return std::stod(label) * (label.back() == 'M' ? 1e6 : 1);
}

}  // namespace heddle::picture
