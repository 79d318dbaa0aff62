#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/reduce/detail/middle.h"
#include "kernels/reduce/detail/reduce.h"

namespace heddle::kernels {

Middle middle_of(const char* op, const Shape& shape, int axis, bool keep) {
    const int at = counted_axis(op, shape, axis);
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

namespace {

// y[i] = factor times the sum of x along the axis: the reference, for f64 and dual numbers.
template <class T>
void sums(const T* x, const Middle& m, double factor, T* y) {
    parallel_for(m.outputs(), grain_for(m.n), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const T* first = x + m.begin_of(i);
            Accumulator<T> total = 0;
            for (std::int64_t k = 0; k < m.n; ++k) total += Accumulator<T>(first[k * m.inner]);
            y[i] = static_cast<T>(total * factor);
        }
    });
}

// The axis in chunks, for threads to share where there are few results. They depend on its length alone, and their sums are added
// in order, so a result has the same bits alone and among others.
struct Chunks {
    std::int64_t count, length;
};
Chunks chunks_of(std::int64_t n, std::int64_t least, std::int64_t most) {
    const std::int64_t count = std::clamp<std::int64_t>(n / least, 1, most);
    return {count, (n + count - 1) / count};
}

void sums_of_rows(const float* x, const Middle& m, double factor, float* y) {
    const auto sum_of_row = by_level(v2::sum_of_row, v3::sum_of_row, v4::sum_of_row);
    const Chunks chunks = chunks_of(m.n, 16384, std::max<std::int64_t>(m.n, 1));
    const auto sum_of_chunk = [&](std::int64_t row, std::int64_t chunk) {
        const std::int64_t first = chunk * chunks.length;
        return sum_of_row(x + row * m.n + first, std::min(chunks.length, m.n - first));
    };
    if (m.outer >= 16 || chunks.count == 1) {
        parallel_for(m.outer, grain_for(m.n / 4 + 4), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                double total = sum_of_chunk(i, 0);
                for (std::int64_t c = 1; c < chunks.count; ++c) total += sum_of_chunk(i, c);
                y[i] = static_cast<float>(total * factor);
            }
        });
        return;
    }
    std::vector<double> partial(static_cast<std::size_t>(m.outer * chunks.count));
    parallel_for(m.outer * chunks.count, 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            partial[static_cast<std::size_t>(i)] = sum_of_chunk(i / chunks.count, i % chunks.count);
    });
    for (std::int64_t i = 0; i < m.outer; ++i) {
        double total = partial[static_cast<std::size_t>(i * chunks.count)];
        for (std::int64_t c = 1; c < chunks.count; ++c) total += partial[static_cast<std::size_t>(i * chunks.count + c)];
        y[i] = static_cast<float>(total * factor);
    }
}

constexpr std::int64_t kColumns = 1024;  // whose sums lie in the nearest cache

void sums_of_columns(const float* x, const Middle& m, double factor, float* y) {
    const auto add_columns = by_level(v2::add_columns, v3::add_columns, v4::add_columns);
    const std::int64_t blocks = (m.inner + kColumns - 1) / kColumns, tasks = m.outer * blocks;
    const Chunks chunks = chunks_of(m.n, 512, 16);
    const auto columns_of = [&](std::int64_t at) { return std::min(kColumns, m.inner - at % blocks * kColumns); };
    const auto sum_chunk = [&](std::int64_t at, std::int64_t chunk, double* total) {  // `at` counts outer x blocks
        const std::int64_t first = chunk * chunks.length, cols = columns_of(at);
        std::fill_n(total, cols, 0.0);
        add_columns(x + (at / blocks * m.n + first) * m.inner + at % blocks * kColumns, std::min(chunks.length, m.n - first),
                    m.inner, cols, total);
    };
    const auto add = [&](std::int64_t at, const double* sums_of_chunk, double* total) {
        for (std::int64_t j = 0; j < columns_of(at); ++j) total[j] += sums_of_chunk[j];
    };
    const auto write = [&](std::int64_t at, const double* total) {
        float* to = y + at / blocks * m.inner + at % blocks * kColumns;
        for (std::int64_t j = 0; j < columns_of(at); ++j) to[j] = static_cast<float>(total[j] * factor);
    };
    const auto cost = [&](std::int64_t rows) { return rows * std::min(m.inner, kColumns) / 4 + 1; };
    if (tasks >= 8 || chunks.count == 1) {
        parallel_for(tasks, grain_for(cost(m.n)), [&](std::int64_t begin, std::int64_t end) {
            double total[kColumns], next[kColumns];
            for (std::int64_t at = begin; at < end; ++at) {
                sum_chunk(at, 0, total);
                for (std::int64_t c = 1; c < chunks.count; ++c) {
                    sum_chunk(at, c, next);
                    add(at, next, total);
                }
                write(at, total);
            }
        });
        return;
    }
    std::vector<double> partial(static_cast<std::size_t>(tasks * chunks.count * kColumns));
    parallel_for(tasks * chunks.count, grain_for(cost(chunks.length)), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) sum_chunk(i / chunks.count, i % chunks.count, partial.data() + i * kColumns);
    });
    for (std::int64_t at = 0; at < tasks; ++at) {
        double* total = partial.data() + at * chunks.count * kColumns;
        for (std::int64_t c = 1; c < chunks.count; ++c) add(at, total + c * kColumns, total);
        write(at, total);
    }
}

void sums(const float* x, const Middle& m, double factor, float* y) {
    if (m.inner == 1)
        sums_of_rows(x, m, factor, y);
    else
        sums_of_columns(x, m, factor, y);
}

Tensor sum_times(const char* op, const Tensor& x, const Middle& m, double factor) {
    Tensor y = Tensor::empty(m.reduced, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        sum_cuda(x, m, factor, y);
        return y;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) { sums(x.data<T>(), m, factor, y.mutable_data<T>()); });
    return y;
}

// y = the maxima or minima along the axis, index = their first places: the reference.
template <class T>
void extrema(const T* x, const Middle& m, bool smallest, T* y, std::int32_t* index) {
    using std::isnan;
    parallel_for(m.outputs(), grain_for(m.n), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const T* first = x + m.begin_of(i);
            std::int64_t best = 0;
            for (std::int64_t k = 1; k < m.n && !isnan(first[best * m.inner]); ++k)
                if (const T at = first[k * m.inner], so_far = first[best * m.inner]; !(smallest ? at >= so_far : at <= so_far))
                    best = k;
            y[i] = first[best * m.inner];
            index[i] = static_cast<std::int32_t>(best);
        }
    });
}

void extrema(const float* x, const Middle& m, bool smallest, float* y, std::int32_t* index) {
    if (m.outputs() == 0) return;
    if (m.inner == 1) {
        const auto place = by_level(v2::place_of_extremum, v3::place_of_extremum, v4::place_of_extremum);
        parallel_for(m.outer, grain_for(m.n / 4 + 4), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t k = place(x + i * m.n, m.n, smallest);
                y[i] = x[i * m.n + k];
                index[i] = static_cast<std::int32_t>(k);
            }
        });
        return;
    }
    const auto of_columns = by_level(v2::extrema_of_columns, v3::extrema_of_columns, v4::extrema_of_columns);
    const std::int64_t width = std::min<std::int64_t>(m.inner, m.n < 64 ? 1024 : 64), blocks = (m.inner + width - 1) / width;
    parallel_for(m.outer * blocks, grain_for(m.n * width / 4 + 1), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t outer = i / blocks, first = i % blocks * width;
            of_columns(x + outer * m.n * m.inner + first, m.n, m.inner, std::min(width, m.inner - first), smallest,
                       y + outer * m.inner + first, index + outer * m.inner + first);
        }
    });
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
        if (m.inner == 1) {
            parallel_for(m.outer, grain_for(m.n / 4 + 1), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) std::fill_n(to + i * m.n, m.n, factor * from[i]);
            });
            return;
        }
        parallel_for(m.outer * m.n, grain_for(m.inner / 4 + 1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const T* line = from + row / m.n * m.inner;
                for (std::int64_t j = 0; j < m.inner; ++j) to[row * m.inner + j] = factor * line[j];
            }
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

namespace {

Extremum extremum(const char* op, const Tensor& x, int axis, bool keep, bool smallest) {
    check_input(op, x);
    const Middle m = middle_of(op, x.shape(), axis, keep);
    check(m.n > 0, "{}: axis {} of x {} is empty", op, axis, x.shape());
    Extremum result{Tensor::empty(m.reduced, x.dtype(), x.device()), Tensor::empty(m.reduced, DType::i32, x.device())};
    if (x.device() == Device::cuda) {
        extremum_cuda(x, m, smallest, result.y, result.indices);
        return result;
    }
    dispatch_real(op, x, [&]<class T>(TypeTag<T>) {
        extrema(x.data<T>(), m, smallest, result.y.mutable_data<T>(), result.indices.mutable_data<std::int32_t>());
    });
    return result;
}

}  // namespace

Extremum max_forward(const Tensor& x, int axis, bool keep) { return extremum("max", x, axis, keep, false); }
Extremum min_forward(const Tensor& x, int axis, bool keep) { return extremum("min", x, axis, keep, true); }

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
        if constexpr (std::is_same_v<T, float>) return sums(x.data<T>(), Middle{{1, x.numel(), 1}, {}}, 1, y.mutable_data<T>());
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
