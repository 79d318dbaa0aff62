// Helpers shared by the chapters: models of the presets and sentences for them, and the sinusoidal position codes as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/picture/page.h"
#include "nn/summary.h"
#include "nn/transformer.h"

namespace heddle::chapters {

/// The preset's model with `words` tokens on each side; `layers`, if given, replaces its number of layers on each side.
nn::TransformerOptions model_of(const std::string& preset, std::int64_t words, std::optional<std::int64_t> layers = {});

/// `count` sentences of `length` tokens each; tokens are below `words`.
nn::Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t words, std::uint64_t key);

/// The row of this module. Error if the summary has none.
const nn::SummaryRow& row_of(const nn::ModelSummary& summary, std::string_view module);

struct PositionCodes {
    std::int64_t rows = 0;       ///< positions
    std::int64_t cols = 0;       ///< d_model
    std::vector<double> values;  ///< [rows, cols]

    double norm(std::int64_t row) const;
    double distance(std::int64_t a, std::int64_t b) const;
    double cosine(std::int64_t a, std::int64_t b) const;
    /// The largest error of the rotation that should map each code to the one `k` positions later: every pair (sin, cos) of
    /// columns i, i + 1 is rotated by k 10000^(-i / cols).
    double shift_error(std::int64_t k) const;
    /// An excerpt for a terminal: the first three rows and the last one, with the first four and the last two columns.
    std::string corners() const;
    PositionCodes first(std::int64_t count) const;
    picture::Figure picture(const std::string& title, const std::string& caption) const;
};

/// The table of nn::PositionalEncoding, in f64.
PositionCodes position_codes(std::int64_t rows, std::int64_t d_model);

}  // namespace heddle::chapters
