// Products and running sums: a line of the axis is walked from one end to the other.
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/reduce/detail/middle.h"

namespace heddle::kernels {
namespace {

// body(first element of the line) for each line of x, as the index of that element; the next ones are m.inner apart.
template <class Body>
void for_lines(const Middle& m, const Body& body) {
    parallel_for(m.outputs(), grain_for(4 * m.n + 1), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) body(i, m.begin_of(i));
    });
}

}  // namespace

Tensor prod_forward(const Tensor& x, int axis, bool keep) {
    check_defined("prod", "x", x);
    const Middle m = middle_of("prod", x.shape(), axis, keep);
    Tensor y = Tensor::empty(m.reduced, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        prod_cuda(x, m, y);
        return y;
    }
    dispatch_real("prod", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        for_lines(m, [&](std::int64_t i, std::int64_t first) {
            Accumulator<T> product = 1;
            for (std::int64_t k = 0; k < m.n; ++k) product *= Accumulator<T>(from[first + k * m.inner]);
            to[i] = static_cast<T>(product);
        });
    });
    return y;
}

Tensor prod_backward(const Tensor& dy, const Tensor& x, int axis) {
    check_defined("prod_backward", "x", x);
    const Middle m = middle_of("prod_backward", x.shape(), axis, false);
    check_defined("prod_backward", "dy", dy);
    check(dy.numel() == m.outputs(), "prod_backward: dy has shape {}, wanted {}", dy.shape(), m.reduced);
    check_dtype("prod_backward", "dy", dy, x.dtype());
    check_device("prod_backward", {{"x", x}, {"dy", dy}});
    Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (dx.device() == Device::cuda) {
        prod_backward_cuda(dy, x, m, dx);
        return dx;
    }
    dispatch_real("prod_backward", x, [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = x.data<T>();
        T* to = dx.mutable_data<T>();
        // The product of those before k on the way there, times dy and those behind k on the way back: no quotient of zeros.
        // Those before k are kept as wide as the product, since they may leave the range of T where dx is within it.
        parallel_for(m.outputs(), grain_for(4 * m.n + 1), [&](std::int64_t begin, std::int64_t end) {
            std::vector<Accumulator<T>> before(static_cast<std::size_t>(m.n));
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t first = m.begin_of(i);
                Accumulator<T> product = 1, behind = Accumulator<T>(gradient[i]);
                for (std::int64_t k = 0; k < m.n; ++k) {
                    before[static_cast<std::size_t>(k)] = product;
                    product *= Accumulator<T>(from[first + k * m.inner]);
                }
                for (std::int64_t k = m.n - 1; k >= 0; --k) {
                    const std::int64_t at = first + k * m.inner;
                    to[at] = static_cast<T>(before[static_cast<std::size_t>(k)] * behind);
                    behind *= Accumulator<T>(from[at]);
                }
            }
        });
    });
    return dx;
}

Tensor cumsum(const Tensor& x, int axis, bool from_end) {
    check_defined("cumsum", "x", x);
    const Middle m = middle_of("cumsum", x.shape(), axis, false);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        cumsum_cuda(x, m, from_end, y);
        return y;
    }
    dispatch_real("cumsum", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        for_lines(m, [&](std::int64_t, std::int64_t first) {
            Accumulator<T> total = 0;
            for (std::int64_t k = 0; k < m.n; ++k) {
                const std::int64_t at = first + (from_end ? m.n - 1 - k : k) * m.inner;
                total += Accumulator<T>(from[at]);
                to[at] = static_cast<T>(total);
            }
        });
    });
    return y;
}

}  // namespace heddle::kernels
