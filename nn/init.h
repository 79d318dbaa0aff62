// Initial values of parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor.h"

namespace heddle::nn {

// Without a key all values are zero (see Module's seed).

/// Uniform in +-sqrt(6 / (rows + cols)) (Glorot and Bengio 2010, equation 16); weight [out, in].
void fill_xavier_uniform(Tensor weight, std::optional<std::uint64_t> key);
/// Normal with deviation cols^-0.5, so an embedding's elements times sqrt(d_model) have variance 1.
void fill_embedding(Tensor table, std::optional<std::uint64_t> key);
/// Normal with deviation 1.
void fill_unit(Tensor table, std::optional<std::uint64_t> key);

}  // namespace heddle::nn
