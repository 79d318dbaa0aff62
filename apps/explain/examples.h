// The kernels that `heddle explain` knows: each op of the library with a shape that fits a page.
#pragma once

#include <vector>

#include "autograd/cases/example.h"

namespace heddle::explain {

using cases::Example;
using cases::Extents;
using cases::map;
using cases::randn;
using cases::row;
using cases::Session;
using cases::some_indices;

/// The teaching ladders (examples_ladders.cpp), and the ops of a whole model (examples_model.cpp).
std::vector<Example> ladder_examples();
std::vector<Example> model_examples();
/// All of them: those of the ops' tables, in the order in which a reader might meet them, then these two.
const std::vector<Example>& examples();

// ---- what these two share

inline double product(Extents shape) {
    double all = 1;
    for (const std::int64_t extent : shape) all *= static_cast<double>(extent);
    return all;
}
/// Operations of x W1^T and h W2^T: shape is rows, d_model, d_ff, and y is as wide as x.
inline double feed_forward_operations(Extents shape) { return 4 * product(shape); }

}  // namespace heddle::explain
