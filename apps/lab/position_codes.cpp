// Position codes that are almost the paper's: all of them plot as smooth waves, and each lacks a property.
//
//     right     PE(p, 2i) = sin(p / 10000^(2i/d)),  PE(p, 2i + 1) = cos of the same angle       (paper, section 3.5)
//     halved    10000^(i/d): the pair's index instead of its column
//     doubled   10000^(2j/d) for column j: twice the exponent, and a sine and a cosine of different angles
//     sine-only sin in the odd columns, too
//     zero-row  row 0 set to zero, "for padding"
//
// In the doubled code 128 sines and 165 cosines hardly change; with all sines before all cosines, 256 columns would.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "kernels/embedding/embedding.h"

namespace heddle::lab::position_codes {
namespace {

constexpr std::int64_t width = 512;
constexpr std::int64_t positions = 100;  // a long sentence

const std::vector<std::string> variants = {"paper", "halved", "doubled", "sine-only", "zero-row"};

// The divisor of the position in this column.
double divisor(const std::string& variant, std::int64_t column, std::int64_t d_model) {
    const auto pair = static_cast<double>(column / 2), whole = static_cast<double>(d_model);
    if (variant == "halved") return std::pow(10000.0, pair / whole);
    if (variant == "doubled") return std::pow(10000.0, 2 * static_cast<double>(column) / whole);
    return std::pow(10000.0, 2 * pair / whole);
}

// [count, d_model]
std::vector<double> table(const std::string& variant, std::int64_t count, std::int64_t d_model) {
    if (variant == "paper") return kernels::sinusoidal_positions(count, d_model, DType::f64).to_vector();
    std::vector<double> values;
    for (std::int64_t position = 0; position < count; ++position)
        for (std::int64_t column = 0; column < d_model; ++column) {
            const double angle = static_cast<double>(position) / divisor(variant, column, d_model);
            const bool sine = column % 2 == 0 || variant == "sine-only";
            values.push_back(variant == "zero-row" && position == 0 ? 0 : sine ? std::sin(angle) : std::cos(angle));
        }
    return values;
}

double still_columns(const std::vector<double>& codes) {
    double still = 0;
    for (std::int64_t column = 0; column < width; ++column) {
        double least = 1, most = -1;
        for (std::int64_t position = 0; position < positions; ++position) {
            const double value = codes[static_cast<std::size_t>(position * width + column)];
            least = std::min(least, value);
            most = std::max(most, value);
        }
        if (most - least < 0.01) ++still;
    }
    return still;
}

std::vector<double> row_norms(const std::vector<double>& codes) {
    std::vector<double> norms(positions);
    for (std::int64_t position = 0; position < positions; ++position) {
        for (std::int64_t column = 0; column < width; ++column)
            norms[static_cast<std::size_t>(position)] += std::pow(codes[static_cast<std::size_t>(position * width + column)], 2);
        norms[static_cast<std::size_t>(position)] = std::sqrt(norms[static_cast<std::size_t>(position)]);
    }
    return norms;
}

// The largest error of PE(p + 5) = R PE(p), where R rotates each pair of columns by five times its angle.
double shift_error(const std::string& variant) {
    constexpr std::int64_t shift = 5;
    const std::vector<double> codes = table(variant, positions + shift, width);
    double worst = 0;
    for (std::int64_t column = 0; column < width; column += 2) {
        const double angle = shift / divisor(variant, column, width), along = std::cos(angle), across = std::sin(angle);
        for (std::int64_t position = 0; position < positions; ++position) {
            const double* const from = codes.data() + position * width + column;
            const double* const to = from + shift * width;
            worst = std::max({worst, std::abs(from[0] * along + from[1] * across - to[0]),
                              std::abs(from[1] * along - from[0] * across - to[1])});
        }
    }
    return worst;
}

picture::Figure map(const std::string& variant, const std::string& caption) {
    constexpr std::int64_t rows = 32, every = 8;  // of the pairs
    const std::vector<double> codes = table(variant, rows, width);
    picture::HeatMap map{.title = variant,
                         .rows = rows,
                         .values = {},
                         .row_title = "position",
                         .col_title = "column",
                         .from = -1,
                         .to = 1,
                         .diverging = true};
    for (std::int64_t column = 0; column < width; ++column)
        if (column / 2 % every == 0) map.col_labels.push_back(std::to_string(column));
    map.cols = static_cast<std::int64_t>(map.col_labels.size());
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < width; ++column)
            if (column / 2 % every == 0) map.values.push_back(codes[static_cast<std::size_t>(row * width + column)]);
    return {svg(map), caption};
}

Result measure(const Options&) {
    Finding slowest{"slowest wavelength, positions"}, still{"columns of 512 that move less than 0.01 over 100 positions"},
        error{"largest error of a shift by 5 as a rotation"}, least{"least norm of a row"}, most{"greatest norm of a row"};
    picture::LineChart waves{.title = "wavelength of each column",
                             .x = {.label = "column"},
                             .y = {.label = "positions", .logarithmic = true},
                             .levels = {{"100 positions", 100}}};
    picture::LineChart norms{.title = "norm of each row", .x = {.label = "position"}, .y = {.label = "norm", .from = 0}};
    for (const std::string& variant : variants) {
        const std::vector<double> codes = table(variant, positions, width);
        const std::vector<double> norm_of_row = row_norms(codes);
        std::vector<double> wavelengths;
        for (std::int64_t column = 0; column < width; ++column)
            wavelengths.push_back(2 * std::numbers::pi * divisor(variant, column, width));
        slowest.values.push_back(wavelengths.back());
        still.values.push_back(still_columns(codes));
        error.values.push_back(shift_error(variant));
        least.values.push_back(std::ranges::min(norm_of_row));
        most.values.push_back(std::ranges::max(norm_of_row));
        if (variant == "paper" || variant == "halved" || variant == "doubled")
            waves.series.push_back(curve(variant, wavelengths));
        norms.series.push_back(curve(variant, norm_of_row));
    }
    return {.variants = variants,
            .findings = {error, slowest, still, least, most},
            .figures = {{svg(mistakes_first(waves)), "Sine-only and zero-row have the paper's wavelengths."},
                        {svg(mistakes_first(norms)), "Only codes made of sine and cosine pairs have rows of equal norm."},
                        map("doubled", "Every eighth pair of columns. The right half is nearly the same for every position."),
                        map("sine-only", "All waves start at zero."),
                        map("paper", "No two rows are equal.")}};
}

}  // namespace

Experiment experiment() {
    return {.name = "position-codes",
            .group = "Embeddings and positions",
            .title = "position codes with another exponent, without cosines, or without row 0",
            .caught_by = "PositionalEncoding.SinusoidalRowZeroIsZeroOneZeroOneAndGrowsOnDemand",
            .why =
                "With a halved exponent the longest wavelength is only 617 positions; a doubled one spends more than half of the "
                "columns on waves that hardly change within a sentence, and pairs sines with cosines of another angle. Sines "
                "alone, or a zero row 0, make the first position the zero vector, which every linear map sends to zero, and make "
                "the norm of a row depend on its position. In the paper's code every pair is a point on a circle: all rows have "
                "the same norm, and a shift is the same rotation at every position.",
            .wrong = R"(
for (int i = 0; i < d; i += 2) {  // i is 2i already
    row[i] = std::sin(p / std::pow(1e4, 2.0 * i / d));
    row[i + 1] = std::cos(p / std::pow(1e4, 2.0 * (i + 1) / d));
}
)",
            .right = R"(
for (int i = 0; i < d; i += 2) {  // one angle for a pair
    const double angle = p / std::pow(1e4, 1.0 * i / d);
    row[i] = std::sin(angle);
    row[i + 1] = std::cos(angle);
}
)",
            .run = measure};
}

}  // namespace heddle::lab::position_codes
