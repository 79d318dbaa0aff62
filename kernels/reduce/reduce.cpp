#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// A shape seen as [outer, n, inner] with the reduced axis in the middle.
struct Middle : MiddleAxis {
    Shape reduced;  // the result's shape
    std::int64_t outputs() const { return outer * inner; }
    // The first element of output i along the axis; the next ones are at a distance of `inner`.
    std::int64_t begin_of(std::int64_t i) const { return i / inner * n * inner + i % inner; }
};

Middle middle_of(const char* op, const Shape& shape, int axis, bool keep) {
    check(shape.rank() >= 1, "{}: x is a scalar, it has no axis {}", op, axis);
    const int at = axis < 0 ? axis + shape.rank() : axis;
    check(at >= 0 && at < shape.rank(), "{}: x has shape {}, it has no axis {}", op, shape, axis);
    Middle m;
    m.n = shape[at];
    for (int i = 0; i < shape.rank(); ++i) {
        if (i < at) m.outer *= shape[i];
        if (i > at) m.inner *= shape[i];
        if (i != at) m.reduced.append(shape[i]);
        if (i == at && keep) m.reduced.append(1);
    }
    return m;
}

// y[i] = finish(the sum of x along the axis) for each output.
Tensor sum_times(const char* op, const Tensor& x, const Middle& m, double factor) {
    Tensor y = Tensor::empty(m.reduced, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        sum_cuda(x, m, factor, y);
        return y;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(m.outputs(), grain_for(m.n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T* first = from + m.begin_of(i);
                Accumulator<T> total = 0;
                for (std::int64_t k = 0; k < m.n; ++k) total += Accumulator<T>(first[k * m.inner]);
                to[i] = static_cast<T>(total * factor);
            }
        });
    });
    return y;
}

void check_output(const char* op, const Tensor& dy, const Middle& m) {
    check_defined(op, "dy", dy);
    check(dy.numel() == m.outputs(), "{}: dy has shape {}, wanted {}", op, dy.shape(), m.reduced);
}

// dx[.., k, ..] = factor dy
Tensor spread(const char* op, const Tensor& dy, const Shape& x_shape, int axis, bool mean) {
    const Middle m = middle_of(op, x_shape, axis, false);
    check_output(op, dy, m);
    Tensor dx = Tensor::empty(x_shape, dy.dtype(), dy.device());
    const double share = mean && m.n > 0 ? 1 / static_cast<double>(m.n) : 1;
    if (dx.device() == Device::cuda) {
        spread_cuda(dy, Tensor(), share, m, dx);
        return dx;
    }
    dispatch_real(op, dy, [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        T* to = dx.mutable_data<T>();
        const T factor = static_cast<T>(share);
        parallel_for(m.outer * m.n, grain_for(m.inner), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                for (std::int64_t j = 0; j < m.inner; ++j) to[row * m.inner + j] = factor * from[row / m.n * m.inner + j];
        });
    });
    return dx;
}

void check_input(const char* op, const Tensor& x) { check_defined(op, "x", x); }

}  // namespace

Tensor sum_forward(const Tensor& x, int axis, bool keep) {
    check_input("sum", x);
    return sum_times("sum", x, middle_of("sum", x.shape(), axis, keep), 1);
}

Tensor mean_forward(const Tensor& x, int axis, bool keep) {
    check_input("mean", x);
    const Middle m = middle_of("mean", x.shape(), axis, keep);
    check(m.n > 0, "mean: axis {} of x {} is empty", axis, x.shape());
    return sum_times("mean", x, m, 1 / static_cast<double>(m.n));
}

Tensor sum_backward(const Tensor& dy, const Shape& x_shape, int axis) { return spread("sum_backward", dy, x_shape, axis, false); }

Tensor mean_backward(const Tensor& dy, const Shape& x_shape, int axis) {
    return spread("mean_backward", dy, x_shape, axis, true);
}

Maximum max_forward(const Tensor& x, int axis, bool keep) {
    check_input("max", x);
    const Middle m = middle_of("max", x.shape(), axis, keep);
    check(m.n > 0, "max: axis {} of x {} is empty", axis, x.shape());
    Maximum result{Tensor::empty(m.reduced, x.dtype(), x.device()), Tensor::empty(m.reduced, DType::i32, x.device())};
    if (x.device() == Device::cuda) {
        max_cuda(x, m, result.y, result.indices);
        return result;
    }
    dispatch_real("max", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = result.y.mutable_data<T>();
        std::int32_t* index = result.indices.mutable_data<std::int32_t>();
        using std::isnan;
        parallel_for(m.outputs(), grain_for(m.n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const T* first = from + m.begin_of(i);
                std::int64_t best = 0;
                for (std::int64_t k = 1; k < m.n && !isnan(first[best * m.inner]); ++k)
                    if (!(first[k * m.inner] <= first[best * m.inner])) best = k;
                to[i] = first[best * m.inner];
                index[i] = static_cast<std::int32_t>(best);
            }
        });
    });
    return result;
}

Tensor max_backward(const Tensor& dy, const Tensor& indices, const Shape& x_shape, int axis) {
    const Middle m = middle_of("max_backward", x_shape, axis, false);
    check_output("max_backward", dy, m);
    check_dtype("max_backward", "indices", indices, DType::i32);
    check_shape("max_backward", "indices", indices, dy.shape());
    check_device("max_backward", {{"dy", dy}, {"indices", indices}});
    if (dy.device() == Device::cuda) {
        Tensor dx = Tensor::empty(x_shape, dy.dtype(), dy.device());
        spread_cuda(dy, indices, 1, m, dx);
        return dx;
    }
    Tensor dx = Tensor::zeros(x_shape, dy.dtype());
    dispatch_real("max_backward", dy, [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        T* to = dx.mutable_data<T>();
        const std::int32_t* index = indices.data<std::int32_t>();
        for (std::int64_t i = 0; i < m.outputs(); ++i) to[m.begin_of(i) + index[i] * m.inner] = from[i];
    });
    return dx;
}

Tensor sum_all_forward(const Tensor& x) {
    check_input("sum", x);
    Tensor y = Tensor::empty({}, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        sum_cuda(x, {1, x.numel(), 1}, 1, y);
        return y;
    }
    dispatch_real("sum", x, [&]<class T>(TypeTag<T>) {
        constexpr std::int64_t kBlock = 4096;
        const T* from = x.data<T>();
        std::vector<Accumulator<T>> blocks(static_cast<std::size_t>((x.numel() + kBlock - 1) / kBlock));
        parallel_for(x.numel(), kBlock, [&](std::int64_t begin, std::int64_t end) {
            Accumulator<T> total = 0;
            for (std::int64_t i = begin; i < end; ++i) total += Accumulator<T>(from[i]);
            blocks[static_cast<std::size_t>(begin / kBlock)] = total;
        });
        Accumulator<T> total = 0;
        for (const Accumulator<T>& block : blocks) total += block;
        *y.mutable_data<T>() = static_cast<T>(total);
    });
    return y;
}

Tensor sum_all_backward(const Tensor& dy, const Shape& x_shape) {
    check(dy.defined() && dy.numel() == 1, "sum_backward: dy has shape {}, wanted one element", dy.shape());
    Tensor dx = Tensor::empty(x_shape, dy.dtype(), dy.device());
    if (dx.device() == Device::cuda) {  // dy is not read back from the device
        spread_cuda(dy, Tensor(), 1, {1, dx.numel(), 1}, dx);
        return dx;
    }
    dispatch_real("sum_backward", dy, [&]<class T>(TypeTag<T>) { std::fill_n(dx.mutable_data<T>(), dx.numel(), *dy.data<T>()); });
    return dx;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
    check_input("sum_to", x);
    if (x.shape() == shape) return x;
    const int extra = x.rank() - shape.rank();
    check(extra >= 0, "sum_to: {} does not broadcast to x {}", shape, x.shape());
    Tensor y = x;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
        const std::int64_t wanted = axis < extra ? 1 : shape[axis - extra];
        if (wanted == x.dim(axis)) continue;
        check(wanted == 1, "sum_to: {} does not broadcast to x {}", shape, x.shape());
        y = sum_forward(y, axis, true);
    }
    return y.reshape(shape);
}

}  // namespace heddle::kernels
