// Tables of positions, which other toolkits store or compute in their own ways.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/tensor.h"
#include "nn/transformer_options.h"

namespace heddle::app {

/// The table [rows, d_model] in f32 that a model with these computed positions adds to its embeddings. Error for learned ones,
/// and for an odd d_model where the sines stand first.
Tensor position_table(nn::Positions positions, std::int64_t rows, std::int64_t d_model);

/// Which computed positions a stored table [rows, d_model] holds, to 1e-6: other files round the same formulas otherwise in the
/// last place. Nothing for any other table.
std::optional<nn::Positions> known_positions(const Tensor& table);

/// The largest difference between a stored table and computed positions; infinity where the table holds NaN.
double distance(const Tensor& table, nn::Positions positions);

/// Renames the columns of a model with alternating sines and cosines so that its positions are sines first, then cosines: the
/// same function, up to the order of sums, with the columns of d_model in another order in each weight. `tensors`: those of an
/// ExchangedModel with post- or pre-norm layers. Error when d_model is odd.
std::map<std::string, Tensor> with_sines_first(const std::map<std::string, Tensor>& tensors, std::int64_t d_model);

}  // namespace heddle::app
