#include "apps/exchange/positions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/format.h"
#include "kernels/embedding/embedding.h"

namespace heddle::app {
namespace {

using nn::Positions;

constexpr double position_tolerance = 1e-6;

kernels::Sines sines_of(Positions positions) {
    switch (positions) {
        case Positions::sinusoidal: return kernels::Sines::alternate;
        case Positions::sines_first: return kernels::Sines::first;
        case Positions::marian: return kernels::Sines::first_to_the_end;
        case Positions::learned:
        case Positions::rotary:
        case Positions::alibi: break;
    }
    fail("position table: these positions have no table of sines");
}

/// The column that comes to place `to`: 0, 2, 4, ..., then 1, 3, 5, ...
std::int64_t column_for(std::int64_t to, std::int64_t d_model) { return to < d_model / 2 ? 2 * to : 2 * (to - d_model / 2) + 1; }

Tensor with_columns(const Tensor& from) {
    Tensor result = Tensor::empty(from.shape());
    const std::span<const float> old = from.values<float>();
    const std::span<float> into = result.mutable_values<float>();
    const std::int64_t width = from.cols();
    for (std::int64_t row = 0; row < from.rows(); ++row)
        for (std::int64_t to = 0; to < width; ++to)
            into[static_cast<std::size_t>(row * width + to)] = old[static_cast<std::size_t>(row * width + column_for(to, width))];
    return result;
}

Tensor with_rows(const Tensor& from) {
    Tensor result = Tensor::empty(from.shape());
    for (std::int64_t to = 0; to < from.dim(0); ++to) {
        const std::int64_t row = column_for(to, from.dim(0));
        result.slice(to, to + 1).copy_(from.slice(row, row + 1));
    }
    return result;
}

/// Whether the tensor writes the stream of width d_model (its rows are columns of the stream), and whether it reads it.
bool writes_stream(std::string_view name) {
    return name.find("attention.output.") != std::string_view::npos ||
           name.find("feed_forward.outer.") != std::string_view::npos || name.find("_norm.") != std::string_view::npos;
}
bool reads_stream(std::string_view name) {
    return name.ends_with("embedding.weight") || name.ends_with("positions.weight") || name == "output.weight" ||
           name.ends_with("attention.query.weight") || name.ends_with("attention.key.weight") ||
           name.ends_with("attention.value.weight") || name.ends_with("feed_forward.inner.weight");
}

}  // namespace

Tensor position_table(Positions positions, std::int64_t rows, std::int64_t d_model) {
    return kernels::sinusoidal_positions(rows, d_model, DType::f64, sines_of(positions)).to(DType::f32);
}

double distance(const Tensor& table, Positions positions) {
    if (table.cols() % 2 != 0 && positions != Positions::sinusoidal) return std::numeric_limits<double>::infinity();
    const Tensor formula = position_table(positions, table.rows(), table.cols());
    const std::span<const float> stored = table.values<float>(), computed = formula.values<float>();
    double largest = 0;
    for (std::size_t i = 0; i < stored.size(); ++i) {
        const double difference = std::abs(static_cast<double>(stored[i]) - static_cast<double>(computed[i]));
        if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
    }
    return largest;
}

std::optional<Positions> known_positions(const Tensor& table) {
    // The first rows tell, so that no other table is computed again.
    const Tensor first = table.slice(0, std::min<std::int64_t>(table.rows(), 64));
    for (const Positions positions : {Positions::sinusoidal, Positions::sines_first, Positions::marian})
        if (distance(first, positions) <= position_tolerance && distance(table, positions) <= position_tolerance)
            return positions;
    return std::nullopt;
}

std::map<std::string, Tensor> with_sines_first(const std::map<std::string, Tensor>& tensors, std::int64_t d_model) {
    check(d_model % 2 == 0, "positions: d_model {} is odd; sines and cosines need a half each", d_model);
    std::map<std::string, Tensor> result;
    for (const auto& [name, tensor] : tensors)
        result.emplace(name, writes_stream(name) ? with_rows(tensor) : reads_stream(name) ? with_columns(tensor) : tensor);
    return result;
}

}  // namespace heddle::app
