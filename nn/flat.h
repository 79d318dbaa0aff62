// All parameters of a model in one array, and all gradients in another.
#pragma once

#include "core/spans.h"
#include "nn/module.h"

namespace heddle::nn {

/// The memory under a model's parameters: the gradient norm, Adam and zeroing are loops over one array.
struct FlatParameters {
    struct Entry {
        Parameter parameter;
        std::int64_t begin = 0;  ///< of its first element in `values` and `gradients`
        std::int64_t count = 0;
    };

    Tensor values;               ///< [n]
    Tensor gradients;            ///< [n]; backward adds into it
    std::vector<Entry> entries;  ///< ascending; each begins at a multiple of 64 bytes, the elements between are zero in both

    /// The ranges of elements that are trained now, frozen parameters left out, neighbours joined.
    std::vector<Span> active() const;
    void zero_gradients();
    /// Any array [n] laid out like `values` (a moment, an average), as tensors under the parameters' names, sharing its storage.
    /// Error when the shape differs.
    NamedTensors named(const Tensor& flat) const;
};

/// Moves the module's parameters to one allocation: from now on each leaf's value and gradient are views of `values` and
/// `gradients` (zero at first).
FlatParameters flatten(Module& module);

}  // namespace heddle::nn
