// Charts are well-formed, readable, and deterministic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/picture/picture_support.h"

namespace heddle::picture {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(Ticks, AreRoundNumbersWithinTheRange) {
    for (const Range& range : {Range{0, 1}, Range{0, 150}, Range{-3.7, 12.2}, Range{1e-9, 3e-9}, Range{2.2, 2.31},
                               Range{0, 45188096}, Range{1e5, 3e5}, Range{-2e12, 1e12}}) {
        const std::vector<Tick> all = ticks(range, false);
        EXPECT_GE(all.size(), 3u);
        EXPECT_LE(all.size(), 8u);
        std::set<std::string> labels;
        for (const Tick& tick : all) {
            EXPECT_GE(tick.value, range.low - 1e-6 * (range.high - range.low));
            EXPECT_LE(tick.value, range.high + 1e-6 * (range.high - range.low));
            // The label shows the whole value: no digit is cut.
            EXPECT_NEAR(read(tick.label), tick.value, 1e-9 * (range.high - range.low)) << tick.label;
            labels.insert(tick.label);
        }
        EXPECT_EQ(labels.size(), all.size());
        const double step = all[1].value - all[0].value;
        const double leading = step / std::pow(10, std::floor(std::log10(step * (1 + 1e-9))));
        EXPECT_TRUE(std::abs(leading - 1) < 1e-6 || std::abs(leading - 2) < 1e-6 || std::abs(leading - 5) < 1e-6) << leading;
    }
}

TEST(Ticks, OfALogarithmicAxisArePowersOfTenWhereItIsLongEnough) {
    const auto labels = [](double low, double high) {
        std::vector<std::string> all;
        for (const Tick& tick : ticks({low, high}, true)) all.push_back(tick.label);
        return all;
    };
    EXPECT_THAT(labels(0.001, 10), ElementsAre("0.001", "0.01", "0.1", "1", "10"));
    EXPECT_THAT(labels(3, 70), ElementsAre("5", "10", "20", "50"));
    EXPECT_THAT(labels(1e-8, 1e9), Contains("1e-8"));
    EXPECT_LE(labels(1e-300, 1e300).size(), 10u);
    EXPECT_GE(labels(4.1, 4.3).size(), 3u) << "less than a step of 1, 2, 5";
}

TEST(Ranges, AreNeverEmptyAndKeepTheAxisLimits) {
    const Range one = range_of({.label = ""}, {5}, false, "c");
    EXPECT_LT(one.low, 5);
    EXPECT_GT(one.high, 5);
    const Range none = range_of({.label = ""}, {nan, infinity}, false, "c");
    EXPECT_LT(none.low, none.high);
    const Range limits = range_of({.label = "", .from = -1, .to = 7}, {100}, true, "c");
    EXPECT_EQ(limits.low, -1);
    EXPECT_EQ(limits.high, 7);
    const Range huge = range_of({.label = ""}, {-1e308, 1e308, 1}, false, "c");
    EXPECT_TRUE(std::isfinite(huge.high - huge.low));
    expect_error([] { range_of({.label = "loss", .from = 2, .to = 1}, {}, false, "c"); }, "axis 'loss' goes from 2 to 1");
    expect_error([] { range_of({.label = "loss", .logarithmic = true, .from = 0}, {}, false, "c"); }, "cannot begin or end at 0");
}

TEST(LineChart, IsWellFormedAndReadable) {
    const std::string svg = picture::svg(losses());
    expect_readable(svg);
    EXPECT_THAT(texts_of(svg), Contains("loss &lt;of&gt; training &amp; &quot;test&quot;"));
    EXPECT_THAT(texts_of(svg), Contains("variant 2"));
    EXPECT_THAT(texts_of(svg), Contains("ln 10 (2.3)"));
    EXPECT_EQ(markup_of(svg).all("path").size(), 3u);
    EXPECT_EQ(svg, picture::svg(losses())) << "the same chart gives the same bytes";
}

TEST(Charts, TakeTheirColoursByPlaceUnlessTheySay) {
    LineChart lines{.title = "", .x = {}, .y = {}, .series = {{"a", {0, 1}, {1, 2}}, {"b", {0, 1}, {2, 1}}}};
    lines.series[0].color = 1;
    lines.series[1].color = 0;
    const std::vector<Element> paths = markup_of(svg(lines)).all("path");
    EXPECT_EQ(paths.at(0).attributes.at("stroke"), series_color(1));
    EXPECT_EQ(paths.at(1).attributes.at("stroke"), series_color(0));
    BarChart bars{.title = "", .y = {}, .groups = {"a"}, .bars = {{"x", {1}}, {"y", {2}}}};
    bars.bars[1].color = 4;
    const std::vector<Element> rects = markup_of(svg(bars)).all("rect");
    EXPECT_EQ(rects.at(1).attributes.at("fill"), series_color(4)) << "the legend";
    EXPECT_EQ(rects.at(3).attributes.at("fill"), series_color(4)) << "the bar";
}

TEST(LineChart, HasAGapWhereAValueIsNotFiniteAndSaysHowManyThereAre) {
    LineChart chart{
        .title = "", .x = {}, .y = {}, .series = {{"a", {0, 1, 2, 3, 4, 5}, {1, 2, nan, 4, 5, infinity}}, {"b", {1}, {7}}}};
    const std::string svg = picture::svg(chart);
    expect_readable(svg);
    const std::vector<Element> paths = markup_of(svg).all("path");
    ASSERT_EQ(paths.size(), 1u);
    const std::string data = paths[0].attributes.at("d");
    EXPECT_EQ(std::count(data.begin(), data.end(), 'M'), 2) << data;
    EXPECT_EQ(data.find("nan"), std::string::npos);
    EXPECT_THAT(texts_of(svg), Contains("a (2 values not finite)"));
    EXPECT_EQ(markup_of(svg).all("circle").size(), 1u) << "a single point is seen";
}

TEST(LineChart, OnALogarithmicAxisLeavesOutWhatIsNotPositive) {
    LineChart chart{
        .title = "t", .x = {}, .y = {.label = "y", .logarithmic = true}, .series = {{"a", {0, 1, 2, 3}, {1e-8, 0, 1e-3, 10}}}};
    const std::string svg = picture::svg(chart);
    expect_readable(svg);
    EXPECT_THAT(texts_of(svg), Contains("a (1 value not positive)"));
    // The line from 1e-3 to 10 is straight and spans four decades, as the ticks show.
    EXPECT_THAT(texts_of(svg), Contains("0.001"));
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(LineChart, WithoutValuesSaysSo) {
    for (const LineChart& chart : {LineChart{.title = "none", .x = {}, .y = {}, .series = {}},
                                   LineChart{.title = "none", .x = {}, .y = {}, .series = {{"a", {}, {}}}},
                                   LineChart{.title = "none", .x = {}, .y = {}, .series = {{"a", {1, 2}, {nan, nan}}}}}) {
        expect_readable(svg(chart));
        EXPECT_THAT(texts_of(svg(chart)), Contains("no value to draw"));
    }
}

TEST(LineChart, OfAMillionPointsIsASmallFileWithItsPeak) {
    LineChart chart{.title = "", .x = {}, .y = {}, .series = {{"a", {}, {}}}};
    for (int i = 0; i < 1000000; ++i) {
        chart.series[0].x.push_back(i);
        chart.series[0].y.push_back(i == 123456 ? 10 : std::sin(i));
    }
    const std::string svg = picture::svg(chart);
    EXPECT_LT(svg.size(), 100000u);
    const std::string data = markup_of(svg).all("path").at(0).attributes.at("d");
    double highest = infinity;
    std::istringstream points(data.substr(1));
    for (std::string point; std::getline(points, point, 'L');)
        highest = std::min(highest, std::stod(point.substr(point.find(' '))));
    chart.series[0] = {"a", {0, 1}, {-1, 10}};
    const std::string two = markup_of(picture::svg(chart)).all("path").at(0).attributes.at("d");
    EXPECT_NEAR(highest, std::stod(two.substr(two.rfind(' '))), 0.02) << "the highest of a column of pixels stays";
}

TEST(LineChart, TellsMoreThanEightSeriesApartByDashes) {
    LineChart chart{.title = "many", .x = {}, .y = {}, .series = {}};
    for (int i = 0; i < 12; ++i) chart.series.push_back({"series number " + std::to_string(i), {0, 1}, {0.0, i * 1.0}});
    expect_readable(svg(chart));
    std::set<std::string> looks;
    for (const Element& one : markup_of(svg(chart)).all("path")) {
        const auto dashes = one.attributes.find("stroke-dasharray");
        looks.insert(one.attributes.at("stroke") + (dashes == one.attributes.end() ? "" : dashes->second));
    }
    EXPECT_EQ(looks.size(), 12u);
}

TEST(LineChart, RefusesSeriesWhoseExtentsDiffer) {
    expect_error(
        [] {
            svg(LineChart{.title = "t", .x = {}, .y = {}, .series = {{"a", {1, 2}, {1}}}});
        },
        "chart 't': the series 'a' has 2 values of x and 1 of y");
}

TEST(BarChart, IsReadableWithShortAndWithLongNames) {
    BarChart chart{.title = "parameters",
                   .y = {.label = "count"},
                   .groups = {"used", "meant", "seen"},
                   .bars = {{"n", {5975424, 45188096, 0}}}};
    expect_readable(svg(chart));
    EXPECT_EQ(markup_of(svg(chart)).all("rect").size(), 3u);
    EXPECT_THAT(texts_of(svg(chart)), Contains("5,975,424"));
    chart.groups = {"a name that is far too long to stand upright", "another <one>", "", "short", "x", "y", "z"};
    chart.bars = {{"right", {1, 2, nan, 4, -5, 6, infinity}}, {"wrong", {0.01, 2, 3, 4, 5, 6, 7}}};
    expect_readable(svg(chart));
    EXPECT_EQ(svg(chart), svg(chart));
    EXPECT_THAT(texts_of(svg(chart)), Contains("nan"));
    EXPECT_THAT(texts_of(svg(chart)), Contains("inf"));
}

TEST(BarChart, WritesFewerDigitsWhereBarsAreNarrow) {
    const std::vector<double> values(5, 0.0304);
    const BarChart chart{.title = "", .y = {}, .groups = {"a", "b", "c", "d", "e"}, .bars = {{"x", values}, {"y", values}}};
    expect_readable(svg(chart));
    EXPECT_THAT(texts_of(svg(chart)), Contains("0.03"));
}

TEST(LineChart, ShowsLinesThatCoincide) {
    const LineChart chart{.title = "", .x = {}, .y = {}, .series = {{"a", {0, 1}, {1, 2}}, {"b", {0, 1}, {1, 2}}}};
    const std::vector<Element> paths = markup_of(svg(chart)).all("path");
    ASSERT_EQ(paths.size(), 2u);
    EXPECT_GT(std::stod(paths[0].attributes.at("stroke-width")), std::stod(paths[1].attributes.at("stroke-width")) + 0.5);
}

TEST(BarChart, StandsOnZero) {
    const BarChart chart{.title = "", .y = {}, .groups = {"a", "b"}, .bars = {{"n", {10, 5}}}};
    const std::vector<Element> rects = markup_of(svg(chart)).all("rect");
    ASSERT_EQ(rects.size(), 2u);
    EXPECT_NEAR(std::stod(rects[0].attributes.at("height")), 2 * std::stod(rects[1].attributes.at("height")), 0.02);
}

TEST(BarChart, TakesNoGroupsAndNoBars) {
    expect_readable(svg(BarChart{.title = "none", .y = {}, .groups = {}, .bars = {}}));
    expect_readable(svg(BarChart{.title = "none", .y = {}, .groups = {"a"}, .bars = {}}));
    expect_error(
        [] {
            svg(BarChart{.title = "t", .y = {}, .groups = {"a"}, .bars = {{"n", {1, 2}}}});
        },
        "chart 't': the bars 'n' have 2 values for 1 groups");
}

TEST(Ramp, RisesInBrightness) {
    int previous = -1;
    for (int level = 0; level < ramp_levels; ++level) {
        const std::string color = ramp_color(level);
        const auto part = [&](std::size_t i) { return std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16); };
        const int brightness = 299 * part(0) + 587 * part(1) + 114 * part(2);
        EXPECT_GT(brightness, previous) << level;
        previous = brightness;
    }
}

TEST(Number, HasThreeDigits) {
    EXPECT_EQ(number(0.012345), "0.0123");
    EXPECT_EQ(number(1.25e-7), "1.25e-7");
    EXPECT_EQ(number(-45188.4), "-45,188");
    EXPECT_EQ(number(45188096), "45,188,096");
    EXPECT_EQ(number(999), "999");
    EXPECT_EQ(number(6.06e28), "6.06e28");
    EXPECT_EQ(number(0), "0");
    EXPECT_EQ(number(nan), "nan");
    EXPECT_EQ(number(-nan), "nan");
    EXPECT_EQ(number(0.0304, 2), "0.03");
    EXPECT_EQ(number(-infinity), "-inf");
}

}  // namespace
}  // namespace heddle::picture
