// Examples for `heddle explain`: calls of an op with inputs that fit on a page. apps/explain runs and traces them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace heddle::cases {

/// An example reports its call to a session.
class Session {
  public:
    virtual ~Session() = default;
    /// A copy of the tensor on the device, under this name.
    virtual Tensor input(const std::string& name, const Tensor& values) = 0;
    /// Names a tensor that the op made. One that is undefined is ignored.
    virtual void name(const std::string& name, const Tensor& tensor) = 0;
    /// Calls the op and traces the kernels that it launches. To be called once.
    virtual void trace(const std::function<void()>& op) = 0;
};

using Extents = std::span<const std::int64_t>;

struct Example {
    std::string_view name;   ///< typed by the user: `heddle explain NAME`
    std::string_view title;  ///< one line
    std::string_view axes;   ///< "rows, cols": what the extents of a shape mean
    std::vector<std::int64_t> shape;
    /// Makes the inputs, traces the op, names the tensors. `shape` has as many extents as the default, all above 0.
    void (*run)(Session& session, Extents shape);
    /// The operations of the op's formula at this shape: two for each multiply-add, none for other arithmetic. nullptr: not
    /// stated.
    double (*operations)(Extents shape) = nullptr;
    bool bf16 = false;  ///< shared memory holds bf16 in its 2-byte elements and vectors; products run on tensor cores
};

// ---- inputs, the same numbers each time

inline Tensor randn(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
    return Tensor::randn(shape, seed, dtype);
}
inline Tensor randn(Extents shape, std::uint64_t seed, DType dtype = DType::f32) { return randn(Shape(shape), seed, dtype); }
inline Tensor row(std::int64_t cols, std::uint64_t seed, DType dtype = DType::f32) { return randn({cols}, seed, dtype); }

/// Traces a call, and names its result.
template <class Op>
void traced(Session& session, const std::string& name, const Op& op) {
    Tensor result;
    session.trace([&] { result = op(); });
    session.name(name, result);
}
/// y = op(x) with x of this shape.
template <auto op>
void map(Session& session, Extents shape) {
    const Tensor x = session.input("x", randn(shape, 1));
    traced(session, "y", [&] { return op(x); });
}

/// `count` numbers below `bound` that jump about and repeat.
inline Tensor some_indices(std::int64_t count, std::int64_t bound) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>((7 * i + i / 3) % bound));
    return Tensor::from(values, {count});
}

}  // namespace heddle::cases
