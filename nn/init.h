// Initial values of parameters.
#pragma once

#include "core/tensor.h"

namespace heddle::nn {

/// Uniform in +-sqrt(6 / (rows + cols)) (Glorot and Bengio 2010, equation 16); weight [out, in].
void fill_xavier_uniform(Tensor weight, std::uint64_t key);
/// Normal with deviation cols^-0.5: times sqrt(d_model), an embedding's elements have variance 1.
void fill_embedding(Tensor table, std::uint64_t key);

}  // namespace heddle::nn
