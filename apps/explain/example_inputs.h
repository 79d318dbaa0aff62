// What the examples of `heddle explain` are made of: the same numbers each time, and the run of an op of one tensor.
#pragma once

#include <vector>

#include "apps/explain/examples.h"

namespace heddle::explain {

inline Tensor numbers(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
    return Tensor::randn(shape, seed, dtype);
}
inline Tensor numbers(Extents shape, std::uint64_t seed, DType dtype = DType::f32) { return numbers(Shape(shape), seed, dtype); }
inline Tensor row(std::int64_t cols, std::uint64_t seed, DType dtype = DType::f32) { return numbers({cols}, seed, dtype); }

inline double product(Extents shape) {
    double all = 1;
    for (const std::int64_t extent : shape) all *= static_cast<double>(extent);
    return all;
}
/// Operations of x W1^T and h W2^T: shape is rows, d_model, d_ff, and y is as wide as x.
inline double feed_forward_operations(Extents shape) { return 4 * product(shape); }

/// y = op(x) with x of this shape.
template <auto op>
void map(Session& session, Extents shape) {
    const Tensor x = session.input("x", numbers(shape, 1));
    Tensor y;
    session.trace([&] { y = op(x); });
    session.name("y", y);
}

/// `count` numbers below `bound` that jump about and repeat.
inline Tensor some_indices(std::int64_t count, std::int64_t bound) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>((7 * i + i / 3) % bound));
    return Tensor::from(values, {count});
}

}  // namespace heddle::explain
