// A position table that is added whole instead of cut to the sentence. x [sentences, time, d_model], table [positions, d_model].
//
//     wrong    x + table               broadcasts if time = positions, and also if time = 1
//     right    x + table[0 : time]
//
// Write-ups usually try only sentences as long as the table. A single token, the first step of every decoder, becomes as many
// rows as the table has, and nothing fails.
#include <limits>

#include "apps/lab/kit.h"
#include "core/error.h"
#include "kernels/embedding/embedding.h"

namespace heddle::lab::uncut_positions {
namespace {

constexpr std::int64_t places = 16, width = 24, sentences = 2;

Variable cut(const Variable& x, const Variable& table) { return ops::add(x, ops::slice(table, 0, 0, x.shape()[1])); }

Variable whole(const Variable& x, const Variable& table) { return ops::add(x, table); }

Result measure(const Options& options) {
    const NoGrad no_grad;
    const Variable table(kernels::sinusoidal_positions(places, width, DType::f32));
    Finding lengths{"lengths of 1 to 16 that compute"}, one{"rows that a sentence of 1 token becomes"};
    Finding right_shape{"lengths that keep their shape"};
    picture::LineChart chart{.title = "rows of a sentence after the addition",
                             .x = {.label = "tokens of the sentence"},
                             .y = {.label = "rows", .from = 0}};
    picture::HeatMap map;
    for (const bool cutting : {true, false}) {
        picture::Series rows{.name = cutting ? "cut" : "whole", .dots = true};
        double computed = 0, kept = 0;
        for (std::int64_t time = 1; time <= places; ++time) {
            const Variable x(normal({sentences, time, width}, 0.3, key(options, "tokens")));
            rows.x.push_back(static_cast<double>(time));
            try {
                const Variable y = cutting ? cut(x, table) : whole(x, table);
                rows.y.push_back(static_cast<double>(y.shape()[1]));
                computed += 1;
                kept += y.shape()[1] == time ? 1 : 0;
                if (time == 1 && !cutting) map.values = ops::slice(y, 0, 0, 1).value().to_vector();
            } catch (const Error&) {
                rows.y.push_back(std::numeric_limits<double>::quiet_NaN());
            }
        }
        lengths.values.push_back(computed);
        right_shape.values.push_back(kept);
        one.values.push_back(rows.y[0]);
        chart.series.push_back(rows);
    }
    map.title = "one token plus the whole table";
    map.rows = places;
    map.cols = width;
    map.row_title = "row";
    map.col_title = "column";
    map.diverging = true;
    return {.variants = {"cut", "whole"},
            .findings = {one, lengths, right_shape},
            .figures = {{svg(mistakes_first(chart)), "Where a dot is missing, the addition fails."},
                        {svg(map), "One token became sixteen rows: the same values plus sixteen position codes."}}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "uncut-positions",
        .group = "Embeddings and positions",
        .title = "a position table that is not cut to the sentence",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "The table has a row for each possible position, most sentences are shorter, and broadcasting works only if the "
            "extents are equal or one of them is 1. So the longest sentence works, most others fail, and a single token silently "
            "becomes sixteen rows, which every later op takes for a sentence. Cut the table to the sentence, starting at the "
            "sentence's first position, and test lengths of one, of the whole table, and in between.",
        .wrong = R"(
// x [sentences, time, d], table [longest, d]
const Variable y = ops::add(x, table);
)",
        .right = R"(
// x [sentences, time, d], table [longest, d]
const Variable here = ops::slice(table, 0, 0, x.dim(1));
const Variable y = ops::add(x, here);
)",
        .run = measure};
}

}  // namespace heddle::lab::uncut_positions
