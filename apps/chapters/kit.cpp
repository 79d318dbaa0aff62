#include "apps/chapters/kit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "apps/presets/presets.h"
#include "core/format.h"
#include "nn/embedding.h"

namespace heddle::chapters {
namespace {

double product(const PositionCodes& codes, std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t i = 0; i < codes.cols; ++i)
        sum += codes.values[static_cast<std::size_t>(a * codes.cols + i)] *
               codes.values[static_cast<std::size_t>(b * codes.cols + i)];
    return sum;
}

}  // namespace

nn::TransformerOptions model_of(const std::string& preset, std::int64_t words, std::optional<std::int64_t> layers) {
    app::TrainSettings settings;
    app::OptionTable table = app::train_table(settings);
    app::apply_preset(table, preset);
    if (layers) settings.model.layers = *layers;
    app::resolve(settings.model, settings.vocabulary);
    return settings.model.with_vocabularies(words, words).complete();
}

nn::Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t words, std::uint64_t key) {
    return {lab::words(count * length, words, key), Spans::equal(count, length)};
}

const nn::SummaryRow& row_of(const nn::ModelSummary& summary, std::string_view module) {
    const auto found = std::ranges::find(summary.rows, module, &nn::SummaryRow::module);
    check(found != summary.rows.end(), "chapter: the summary has no module '{}'", module);
    return *found;
}

double PositionCodes::norm(std::int64_t row) const { return std::sqrt(product(*this, row, row)); }

double PositionCodes::distance(std::int64_t a, std::int64_t b) const {
    double sum = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
        const double difference = values[static_cast<std::size_t>(a * cols + i)] - values[static_cast<std::size_t>(b * cols + i)];
        sum += difference * difference;
    }
    return std::sqrt(sum);
}

double PositionCodes::cosine(std::int64_t a, std::int64_t b) const { return product(*this, a, b) / (norm(a) * norm(b)); }

double PositionCodes::shift_error(std::int64_t k) const {
    double worst = 0;
    for (std::int64_t i = 0; i < cols; i += 2) {
        const double angle = static_cast<double>(k) * std::pow(10000, -static_cast<double>(i) / static_cast<double>(cols));
        const double across = std::cos(angle), along = std::sin(angle);
        for (std::int64_t row = 0; row + k < rows; ++row) {
            const auto from = static_cast<std::size_t>(row * cols + i), to = static_cast<std::size_t>((row + k) * cols + i);
            worst = std::max({worst, std::abs(values[from] * across + values[from + 1] * along - values[to]),
                              std::abs(values[from + 1] * across - values[from] * along - values[to + 1])});
        }
    }
    return worst;
}

std::string PositionCodes::corners() const {
    const std::vector<std::int64_t> columns = {0, 1, 2, 3, cols - 2, cols - 1};
    std::string text = fmt::format("{:>8}", "column");
    for (const std::int64_t column : columns) text += fmt::format("{:>9}", column);
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, rows - 1}) {
        text += fmt::format("\n{:>8}", fmt::format("row {}", row));
        for (const std::int64_t column : columns)
            text += fmt::format("{:>9.4f}", values[static_cast<std::size_t>(row * cols + column)]);
    }
    return text + "\n";
}

PositionCodes PositionCodes::first(std::int64_t count) const {
    return {count, cols, {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count * cols)}};
}

picture::Figure PositionCodes::picture(const std::string& title, const std::string& caption) const {
    return {svg(picture::HeatMap{.title = title,
                                 .rows = rows,
                                 .cols = cols,
                                 .values = values,
                                 .row_title = "position",
                                 .col_title = "column",
                                 .from = -1,
                                 .to = 1,
                                 .diverging = true}),
            caption};
}

PositionCodes position_codes(std::int64_t rows, std::int64_t d_model) {
    nn::Module root(1, DType::f64);
    const nn::PositionalEncoding positions(root, "positions", nn::Positions::sinusoidal, rows, d_model);
    return {rows, d_model, positions.table(rows).value().slice(0, rows).to_vector()};
}

}  // namespace heddle::chapters
