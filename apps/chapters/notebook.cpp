// An encoder-decoder "from zero", as a notebook builds it: what it says of its position codes, measured with the width and the
// table of the preset `notebook`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/chapters/chapters.h"
#include "apps/chapters/codes.h"
#include "apps/picture/chart.h"

namespace heddle::chapters {
namespace {

constexpr std::int64_t printed = 100;  // positions of the notebook's table as it prints it
constexpr std::int64_t d_model = 512;

Statement every_code_is_its_own(const PositionCodes& codes) {
    double least = std::numeric_limits<double>::infinity(), least_of_printed = least;
    for (std::int64_t a = 0; a < codes.rows; ++a)
        for (std::int64_t b = 0; b < a; ++b) {
            const double distance = codes.distance(a, b);
            least = std::min(least, distance);
            if (a < printed) least_of_printed = std::min(least_of_printed, distance);
        }
    return {"No two positions have the same code.",
            {{"least distance of two codes, 100 positions", least_of_printed},
             {fmt::format("least distance of two codes, {} positions", codes.rows), least},
             {"norm of a code", codes.norm(0)}},
            least > 0,
            {},
            {codes.first(printed).picture("position codes (100, 512)", "The table as the notebook prints it.")}};
}

// Each pair (sin, cos) turns by the same angle from each position to the next: all neighbours are equally far from each other.
Statement neighbours_are_alike(const PositionCodes& codes) {
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (std::int64_t row = 1; row < codes.rows; ++row) {
        least = std::min(least, codes.distance(row, row - 1));
        greatest = std::max(greatest, codes.distance(row, row - 1));
    }
    picture::Series similarity{.name = "cosine of the codes", .x = {}, .y = {}};
    std::int64_t falls_to = 0;
    for (std::int64_t offset = 0; offset < printed; ++offset) {
        similarity.x.push_back(static_cast<double>(offset));
        similarity.y.push_back(codes.cosine(0, offset));
        if (falls_to + 1 == offset &&
            similarity.y[static_cast<std::size_t>(offset)] < similarity.y[static_cast<std::size_t>(falls_to)])
            falls_to = offset;
    }
    return {"Codes change smoothly: neighbours are equally far apart everywhere, and likeness falls with the distance.",
            {{"least distance of neighbours", least},
             {"greatest distance of neighbours", greatest},
             {"cosine, 1 position apart", codes.cosine(0, 1)},
             {"cosine, 10 positions apart", codes.cosine(0, 10)},
             {"likeness falls up to this distance", static_cast<double>(falls_to)}},
            greatest - least < 1e-9 && falls_to >= 3,
            {},
            {{svg(picture::LineChart{.title = "how alike two codes are",
                                     .x = {.label = "how far the positions are apart"},
                                     .y = {.label = "cosine", .from = 0},
                                     .series = {similarity}}),
              "Near positions have similar codes; far ones all differ about equally."}}};
}

Statement codes_are_bounded(const PositionCodes& codes) {
    double largest = 0;
    for (const double value : codes.values) largest = std::max(largest, std::abs(value));
    double least_norm = std::numeric_limits<double>::infinity(), greatest_norm = 0;
    for (std::int64_t row = 0; row < codes.rows; ++row) {
        least_norm = std::min(least_norm, codes.norm(row));
        greatest_norm = std::max(greatest_norm, codes.norm(row));
    }
    return {"However long the text, all values lie between -1 and 1.",
            {{"largest value", largest}, {"least norm of a code", least_norm}, {"greatest norm of a code", greatest_norm}},
            largest <= 1 && greatest_norm - least_norm < 1e-9};
}

Statement codes_go_on(const PositionCodes& codes) {
    const PositionCodes table = position_codes(printed, d_model);
    double difference = 0;
    for (std::size_t i = 0; i < table.values.size(); ++i)
        difference = std::max(difference, std::abs(table.values[i] - codes.values[i]));
    const double error = codes.shift_error(printed / 2);
    return {
        "The codes extend to lengths that were never seen: a longer table begins with the shorter one, and the same rotation "
        "leads from any position to the one so many places on.",
        {{fmt::format("largest difference of the first {} rows", printed), difference},
         {fmt::format("largest error of the rotation by {}, {} positions", printed / 2, codes.rows), error}},
        difference == 0 && error < 1e-9};
}

}  // namespace

Report notebook(const Options&) {
    Report report;
    const PositionCodes codes = position_codes(1024, d_model);
    report.statements.push_back(every_code_is_its_own(codes));
    report.statements.push_back(neighbours_are_alike(codes));
    report.statements.push_back(codes_are_bounded(codes));
    report.statements.push_back(codes_go_on(codes));
    return report;
}

}  // namespace heddle::chapters
