// Heat maps draw each cell once, and are readable at every size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/picture/picture_support.h"

namespace heddle::picture {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(HeatMap, IsReadableFromOneCellToManyThousand) {
    for (const std::int64_t size : {1, 4, 7, 16, 31, 64, 200}) {
        const std::string svg = picture::svg(square(size));
        expect_readable(svg);
        EXPECT_EQ(svg, picture::svg(square(size)));
        EXPECT_LT(svg.size(), 500000u);
    }
    expect_readable(svg(HeatMap{.title = "no cell", .rows = 0, .cols = 0, .values = {}}));
    expect_readable(svg(HeatMap{.title = "wide", .rows = 2, .cols = 512, .values = std::vector<double>(1024, 0.5)}));
    expect_readable(svg(HeatMap{.title = "one colour", .rows = 3, .cols = 3, .values = std::vector<double>(9, 0.25)}));
}

TEST(HeatMap, DrawsEachCellOnceInTheColourOfItsValue) {
    const HeatMap map{.title = "", .rows = 2, .cols = 3, .values = {0, 1, nan, 0, 0, 0.5}, .from = 0, .to = 1};
    std::map<std::string, std::string> cells;
    for (const Element& one : markup_of(svg(map)).all("path")) cells[one.attributes.at("stroke")] = one.attributes.at("d");
    EXPECT_THAT(cells, ElementsAre(std::pair(ramp_color(ramp_levels / 2), "M2 1h1"), std::pair("#440154", "M0 0h1M0 1h2"),
                                   std::pair(not_finite_color, "M2 0h1"), std::pair("#fde725", "M1 0h1")));
    EXPECT_THAT(texts_of(svg(map)), Contains("not finite"));
    EXPECT_THAT(texts_of(svg(map)), Contains("nan")) << "large cells name their values";
}

TEST(HeatMap, NamesWhatIsNotFiniteWithinThePicture) {
    for (const std::int64_t rows : {1, 3, 4, 5, 40}) {
        const HeatMap map{
            .title = "m", .rows = rows, .cols = 6, .values = std::vector<double>(static_cast<std::size_t>(6 * rows), -nan)};
        expect_readable(svg(map));
        EXPECT_THAT(texts_of(svg(map)), Contains("not finite"));
        EXPECT_THAT(texts_of(svg(map)), Not(Contains("-nan")));
    }
}

TEST(HeatMap, WithLabelsNamesEachRowThatHasRoom) {
    HeatMap map = square(6);
    map.row_labels = {"Ein", "kleines", "Mädchen", "klettert", "<unk>", "</s>"};
    map.col_labels = {"A", "little", "girl", "climbing", "into a very long name of a column that cannot be shown", "</s>"};
    const std::string svg = picture::svg(map);
    expect_readable(svg);
    for (const char* label : {"Ein", "Mädchen", "&lt;unk&gt;", "climbing"}) EXPECT_THAT(texts_of(svg), Contains(label));
    EXPECT_THAT(texts_of(svg), Contains(HasSubstr("…")));
}

TEST(HeatMap, WithoutAKeyIsSmaller) {
    HeatMap map = square(4);
    const std::size_t with = svg(map).size();
    map.key = false;
    expect_readable(svg(map));
    EXPECT_LT(svg(map).size(), with);
}

TEST(HeatMap, RefusesWhatDoesNotFit) {
    expect_error(
        [] {
            svg(HeatMap{.title = "m", .rows = 2, .cols = 2, .values = {1, 2, 3}});
        },
        "has 3 values for 2 rows and 2 columns");
    expect_error(
        [] {
            svg(HeatMap{.title = "m", .rows = 1, .cols = 1, .values = {1}, .row_labels = {"a", "b"}});
        },
        "has 2 labels for 1 rows");
}

}  // namespace
}  // namespace heddle::picture
