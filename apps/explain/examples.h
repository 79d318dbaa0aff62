// The kernels that `heddle explain` knows: each op of the library with a shape that fits a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/explain/session.h"

namespace heddle::explain {

using Extents = std::span<const std::int64_t>;

struct Example {
    std::string_view name;   ///< what the user types
    std::string_view title;  ///< one line
    std::string_view axes;   ///< "rows, cols": what the extents of a shape mean
    std::vector<std::int64_t> shape;
    /// Makes the inputs, traces the op, names the tensors. `shape` has as many extents as the default, all above 0.
    void (*run)(Session& session, Extents shape);
    /// Of the op's formula at this shape, two for each multiply-add; other arithmetic does not count. nullptr: not stated.
    double (*operations)(Extents shape) = nullptr;
    bool bf16 = false;  ///< elements of 2 bytes in shared memory are bf16, and vectors there, too; products on tensor cores
};

/// The teaching ladders (examples_ladders.cpp), and what a whole model adds to the plain ops (examples_model.cpp).
std::vector<Example> ladder_examples();
std::vector<Example> model_examples();
/// All of them: by op, in the order in which a reader might meet them.
const std::vector<Example>& examples();

}  // namespace heddle::explain
