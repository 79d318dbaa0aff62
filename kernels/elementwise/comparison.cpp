// Comparisons and logical functions: masks u8 of numbers, and of masks.
#include "core/check.h"
#include "core/dual.h"
#include "kernels/elementwise/detail/elementwise.h"

namespace heddle::kernels {
namespace {

// to[i] = test(a[i * step_a], b[i * step_b])
template <class T, class Test>
void flags(const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, std::uint8_t* to, std::int64_t n, Test test) {
    if (step_a == 1 && step_b == 1)
        for (std::int64_t i = 0; i < n; ++i) to[i] = test(a[i], b[i]) ? 1 : 0;
    else if (step_a == 1)
        for (std::int64_t i = 0; i < n; ++i) to[i] = test(a[i], *b) ? 1 : 0;
    else
        for (std::int64_t i = 0; i < n; ++i) to[i] = test(a[i * step_a], b[i * step_b]) ? 1 : 0;
}

// Calls body with a function object that makes the comparison, so that the loops hold no switch.
template <class Body>
void with_comparison(Comparison comparison, const Body& body) {
    switch (comparison) {
        case Comparison::equal: return body([](auto a, auto b) { return a == b; });
        case Comparison::not_equal: return body([](auto a, auto b) { return a != b; });
        case Comparison::less: return body([](auto a, auto b) { return a < b; });
        case Comparison::less_equal: return body([](auto a, auto b) { return a <= b; });
        case Comparison::greater: return body([](auto a, auto b) { return a > b; });
        case Comparison::greater_equal: return body([](auto a, auto b) { return a >= b; });
    }
}

}  // namespace

Tensor compare(Comparison comparison, const Tensor& a, const Tensor& b) {
    check_defined("compare", "a", a);
    check_dtype("compare", "b", b, a.dtype());
    check_device("compare", {{"a", a}, {"b", b}});
    const Shape shape = broadcast_shape("compare", a.shape(), b.shape());
    const BroadcastWalk walk(shape, {a.shape(), b.shape()});
    Tensor y = Tensor::empty(shape, DType::u8, a.device());
    if (y.device() == Device::cuda) {
        compare_cuda(comparison, a, b, walk, y);
        return y;
    }
    std::uint8_t* to = y.mutable_data<std::uint8_t>();
    const auto run = [&]<class T>(TypeTag<T>) {
        const T *from_a = a.data<T>(), *from_b = b.data<T>();
        with_comparison(comparison, [&](auto test) {
            walk_pieces(walk, 1, [&](const auto& at, std::int64_t first, std::int64_t n) {
                flags(from_a + at[0], walk.column_step(0), from_b + at[1], walk.column_step(1), to + first, n, test);
            });
        });
    };
    if (a.dtype() == DType::i32)
        run(TypeTag<std::int32_t>{});
    else if (a.dtype() == DType::u8)
        run(TypeTag<std::uint8_t>{});
    else
        dispatch_real("compare", a, run);
    return y;
}

Tensor logical(Logical function, const Tensor& a, const Tensor& b) {
    const char* op = word_of(function).data();
    check_dtype(op, "a", a, DType::u8);
    check_dtype(op, "b", b, DType::u8);
    check_device(op, {{"a", a}, {"b", b}});
    const Shape shape = broadcast_shape(op, a.shape(), b.shape());
    const BroadcastWalk walk(shape, {a.shape(), b.shape()});
    Tensor y = Tensor::empty(shape, DType::u8, a.device());
    if (y.device() == Device::cuda) {
        logical_cuda(function, a, b, walk, y);
        return y;
    }
    const std::uint8_t *from_a = a.data<std::uint8_t>(), *from_b = b.data<std::uint8_t>();
    std::uint8_t* to = y.mutable_data<std::uint8_t>();
    walk_pieces(walk, 1, [&](const auto& at, std::int64_t first, std::int64_t n) {
        flags(from_a + at[0], walk.column_step(0), from_b + at[1], walk.column_step(1), to + first, n,
              [function](std::uint8_t l, std::uint8_t r) {
                  const bool left = l != 0, right = r != 0;
                  return function == Logical::logical_and  ? left && right
                         : function == Logical::logical_or ? left || right
                                                           : left != right;
              });
    });
    return y;
}

Tensor logical_not(const Tensor& a) {
    check_dtype("logical_not", "a", a, DType::u8);
    return compare(Comparison::equal, a, Tensor::zeros({}, DType::u8, a.device()));
}

}  // namespace heddle::kernels
