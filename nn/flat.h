// All parameters of a model in one array, and all gradients in another.
//
// A model that is trained in bf16 has a third one. Its forward and backward passes read bf16 weights; the optimizer works on the
// f32 weights that those are rounded from, the masters, because an update is mostly smaller than bf16's last place (2^-8 of a
// weight) and would be rounded away. Gradients are sums over many rows, and f32 for the same reason. Source: Micikevicius et al.,
// "Mixed precision training" (2018), section 3.1; bf16 has the exponent range of f32, so no loss scaling is needed.
#pragma once

#include <memory>

#include "core/spans.h"
#include "nn/module.h"

namespace heddle::nn {

/// The memory of a model's parameters, so that the gradient norm, Adam and zeroing are loops over one array.
struct FlatParameters {
    struct Entry {
        Parameter parameter;
        std::int64_t begin = 0;  ///< index of its first element in `values` and `gradients`
        std::int64_t count = 0;
    };

    Tensor values;               ///< [n], f32 or f64: changed by the optimizer and saved in files
    Tensor gradients;            ///< [n] of the same dtype; backward adds into it
    Tensor bf16_copy;            ///< bf16 [n]: rounded `values`, used by the model's computations; undefined if it uses `values`
    std::vector<Entry> entries;  ///< ascending; each begins at a multiple of 64 bytes, gaps are zero in both
    std::shared_ptr<const FlatParameters> in_use = {};  ///< while a copy exists, the module cannot be moved

    /// The ranges of elements that are trained, without frozen parameters; neighbours are joined.
    std::vector<Span> active() const;
    /// Whether the leaf is one of the entries [first, last).
    bool has(const Variable& leaf, std::size_t first, std::size_t last) const;
    void zero_gradients();
    /// Updates `bf16_copy` from `values` after a change not made by the optimizer. Does nothing without a copy.
    void round_again() const;
    /// An array [n] with the layout of `values` (a moment, an average) as tensors under the parameters' names, sharing its
    /// storage. Error when the shape differs.
    NamedTensors named(const Tensor& flat) const;
};

/// Whether the leaf's memory is a part of such arrays that are in use.
bool is_flattened(const Variable& leaf);

/// Moves the module's parameters to one allocation: from now on each leaf's value and gradient are views of `values` and
/// `gradients` (zero at first). While the result is in use, the module cannot be moved or get further parameters, and flattening
/// it again returns the same arrays, so that two optimizers may train one model; flattening a part of it, or a module that it is
/// a part of, is an Error.
FlatParameters flatten(Module& module);
/// The same for leaves of f32 or f64, of any modules or of none. Those of arrays in use give these arrays again, whatever their
/// order. Error when there are none, one of them is the result of an op or stands there twice, their dtypes or devices differ, or
/// some, but not all of them, lie in arrays that are in use.
FlatParameters flatten(std::vector<Parameter> leaves);
/// For a model that computes in `dtype`: its own, or bf16 for an f32 model, whose values then are views of `bf16_copy` and whose
/// gradients are f32. Error for any other dtype.
FlatParameters flatten(Module& module, DType dtype);

}  // namespace heddle::nn
