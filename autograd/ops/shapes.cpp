// Other shapes of a tensor: views by reshape, and parts, repetitions and orders by the kernels that move elements.
#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/members_impl.h"
#include "autograd/ops.h"
#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/cast/cast.h"
#include "kernels/concat/concat.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gather/gather.h"
#include "kernels/permute/permute.h"
#include "kernels/reduce/reduce.h"

namespace heddle::inline ops {
namespace {

// The elements in front of an axis, along it, and behind it.
struct AroundAxis {
    AroundAxis(const Shape& shape, int axis) : n(shape[axis]) {
        for (int i = 0; i < axis; ++i) outer *= shape[i];
        for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    }
    std::int64_t outer = 1, n = 1, inner = 1;
};

Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
    Shape changed = shape;
    changed.set(axis, extent);
    return changed;
}

// With axes of 1 in front until there are so many.
Shape with_rank(const Shape& shape, int rank) {
    Shape longer;
    for (int i = shape.rank(); i < rank; ++i) longer.append(1);
    for (int i = 0; i < shape.rank(); ++i) longer.append(shape[i]);
    return longer;
}

// Rows of x seen as [places.size(), inner], in another order.
Tensor rows_at(const Tensor& x, const std::vector<std::int32_t>& places, std::int64_t inner) {
    const auto count = static_cast<std::int64_t>(places.size());
    const Tensor indices = Tensor::from(places, {count}).to(x.device());
    return kernels::gather_forward(x.reshape({x.numel() / inner, inner}), indices);
}

// body(i, place) for each index i along the axis, which is checked: `place` is that of its element among those of x.
template <class Body>
void each_place(const Shape& shape, int axis, const Tensor& indices, const Body& body) {
    const AroundAxis from(shape, axis), to(indices.shape(), axis);
    const std::int32_t* const index = indices.data<std::int32_t>();
    parallel_for(to.outer, grain_for(to.n * to.inner), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t outer = begin; outer < end; ++outer)
            for (std::int64_t n = 0; n < to.n; ++n)
                for (std::int64_t inner = 0; inner < to.inner; ++inner) {
                    const std::int64_t i = (outer * to.n + n) * to.inner + inner, at = index[i];
                    if (at < 0 || at >= from.n)  // check() would keep its arguments in memory for each index
                        fail_with("gather: an index is {}, but axis {} of x {} has {} places", at, axis, shape, from.n);
                    body(i, (outer * from.n + at) * from.inner + inner);
                }
    });
}

// On the CPU in one pass: rows of a gather would be single elements, and its gradient sorts them.
Variable gathered(const Variable& x, int axis, const Tensor& indices, Where where) {
    const Shape shape = x.shape();
    Tensor y = Tensor::empty(indices.shape(), x.dtype());
    dispatch_all(x.dtype(), [&]<class T>(TypeTag<T>) {
        T* const to = y.mutable_data<T>();
        each_place(shape, axis, indices,
                   [to, from = x.value().data<T>()](std::int64_t i, std::int64_t place) { to[i] = from[place]; });
    });
    return record(y, {.op = "gather", .where = where, .inputs = {x}, .saved = {indices}, .backward = [=](Gradients& g) {
                          const Tensor dy = g.output();
                          Tensor dx = g.accumulate_into(0);
                          dispatch_real("gather", dx, [&]<class T>(TypeTag<T>) {
                              T* const to = dx.mutable_data<T>();
                              each_place(shape, axis, g.saved(0),
                                         [to, from = dy.data<T>()](std::int64_t i, std::int64_t place) { to[place] += from[i]; });
                          });
                      }});
}

void check_places(const char* op, const Shape& shape, std::int64_t places) {
    check(places <= std::numeric_limits<std::int32_t>::max(), "{}: x {} has too many places to number them by i32", op, shape);
}

}  // namespace

// ---- views

Variable transpose(const Variable& x, int a, int b, Where where) {
    const int rank = x.shape().rank();
    std::vector<int> axes;
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    std::swap(axes[static_cast<std::size_t>(counted_axis("transpose", x.shape(), a))],
              axes[static_cast<std::size_t>(counted_axis("transpose", x.shape(), b))]);
    return permute(x, axes, where);
}

Variable transpose(const Variable& x, Where where) {
    std::vector<int> axes;
    for (int axis = x.shape().rank(); axis-- > 0;) axes.push_back(axis);
    return permute(x, axes, where);
}

Variable flatten(const Variable& x, int first, int last, Where where) {
    const Shape shape = x.shape();
    if (shape.rank() == 0) return reshape(x, {1}, where);
    const int from = counted_axis("flatten", shape, first), to = counted_axis("flatten", shape, last);
    check(from <= to, "flatten: axis {} comes behind axis {} in x {}", first, last, shape);
    Shape flat;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (axis > from && axis <= to)
            flat.set(from, flat[from] * shape[axis]);
        else
            flat.append(shape[axis]);
    }
    return reshape(x, flat, where);
}

Variable squeeze(const Variable& x, const Axes& axes, Where where) {
    const Shape shape = x.shape();
    const std::vector<int> named = counted_axes("squeeze", shape, axes);
    Shape rest;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const bool goes = std::find(named.begin(), named.end(), axis) != named.end();
        check(!goes || axes.all() || shape[axis] == 1, "squeeze: axis {} of x {} has the extent {}, wanted 1", axis, shape,
              shape[axis]);
        if (!goes || shape[axis] != 1) rest.append(shape[axis]);
    }
    return reshape(x, rest, where);
}

Variable unsqueeze(const Variable& x, int axis, Where where) {
    const Shape shape = x.shape();
    const int at = counted_axis("unsqueeze", shape, axis, 1);
    Shape longer;
    for (int i = 0; i <= shape.rank(); ++i) {
        if (i == at) longer.append(1);
        if (i < shape.rank()) longer.append(shape[i]);
    }
    return reshape(x, longer, where);
}

// ---- parts

Variable stack(std::span<const Variable> parts, int axis, Where where) {
    check(!parts.empty(), "stack: there are no parts");
    std::vector<Variable> lifted;
    for (const Variable& part : parts) {
        check(part.shape() == parts.front().shape(), "stack: a part has shape {}, but the first one {}", part.shape(),
              parts.front().shape());
        lifted.push_back(unsqueeze(part, axis, where));
    }
    return concat(lifted, counted_axis("stack", parts.front().shape(), axis, 1), where);
}

Variable stack(std::initializer_list<Variable> parts, int axis, Where where) {
    return stack(std::span<const Variable>(parts.begin(), parts.size()), axis, where);
}

std::vector<Variable> split(const Variable& x, const std::vector<std::int64_t>& sizes, int axis, Where where) {
    return members::parts_of(x, sizes, axis, where);
}

std::vector<Variable> split(const Variable& x, std::int64_t size, int axis, Where where) {
    return members::parts_of(x, members::parts_of_size(x.dim(counted_axis("split", x.shape(), axis)), size), axis, where);
}

std::vector<Variable> chunk(const Variable& x, std::int64_t count, int axis, Where where) {
    return members::parts_of(x, members::so_many_parts(x.dim(counted_axis("chunk", x.shape(), axis)), count), axis, where);
}

std::vector<Variable> unbind(const Variable& x, int axis, Where where) {
    if (x.dim(counted_axis("unbind", x.shape(), axis)) == 0) return {};
    std::vector<Variable> parts = split(x, 1, axis, where);
    for (Variable& part : parts) part = squeeze(part, axis, where);
    return parts;
}

Variable index_select(const Variable& x, int axis, const Tensor& indices, Where where) {
    const int at = counted_axis("index_select", x.shape(), axis);
    check_dtype("index_select", "indices", indices, DType::i32);
    check_rank("index_select", "indices", indices, 1);
    if (at == 0) return gather(x, indices, where);
    return transpose(gather(transpose(x, 0, at, where), indices, where), 0, at, where);
}

Variable gather(const Variable& x, int axis, const Tensor& indices, Where where) {
    const Shape shape = x.shape();
    const int at = counted_axis("gather", shape, axis);
    check_dtype("gather", "indices", indices, DType::i32);
    check(indices.rank() == shape.rank() && with_extent(shape, at, indices.dim(at)) == indices.shape(),
          "gather: x has shape {} and indices {}, wanted equal extents but for axis {}", shape, indices.shape(), axis);
    const Tensor given = indices.to(Device::cpu);
    if (x.device() == Device::cpu) return gathered(x, at, given, where);
    check_places("gather", shape, x.value().numel());
    std::vector<std::int32_t> places(static_cast<std::size_t>(given.numel()));
    each_place(shape, at, given, [&](std::int64_t i, std::int64_t place) {
        places[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(place);
    });
    const Tensor flat = Tensor::from(places, {given.numel()}).to(x.device());
    return reshape(gather(reshape(x, {x.value().numel()}, where), flat, where), indices.shape(), where);
}

// ---- repetitions

Variable expand(const Variable& x, const NewShape& wanted, Where where) {
    const Shape shape = wanted.keeping(x.shape(), "expand");
    check(x.shape().rank() <= shape.rank() && kernels::broadcast_shape("expand", x.shape(), shape) == shape,
          "expand: x has shape {}, which does not broadcast to {}", x.shape(), shape);
    Tensor y = x.value().reshape(with_rank(x.shape(), shape.rank()));
    const bool floating = x.dtype() != DType::i32 && x.dtype() != DType::u8;
    for (int axis = shape.rank(); axis-- > 0;) {  // from the back, so that what is read stays small
        if (y.dim(axis) == shape[axis]) continue;
        if (floating)
            y = kernels::sum_backward(y, with_extent(y.shape(), axis, shape[axis]), axis);
        else
            y = kernels::concat_forward(std::vector<Tensor>(static_cast<std::size_t>(shape[axis]), y), axis);
    }
    return record(y, {.op = "expand", .where = where, .inputs = {x}, .backward = [shape_x = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_to(g.output(), shape_x));
                      }});
}

namespace {

// x [.., n, ..] seen as [outer, n, inner] becomes [outer, n, times, inner], or [outer, times, n inner], and takes this shape.
Variable repeated(const Variable& x, const AroundAxis& at, std::int64_t times, bool each, const Shape& shape, Where where) {
    const std::int64_t before = each ? at.outer * at.n : at.outer, behind = each ? at.inner : at.n * at.inner;
    return reshape(expand(reshape(x, {before, 1, behind}, where), {before, times, behind}, where), shape, where);
}

}  // namespace

Variable repeat(const Variable& x, const Shape& times, Where where) {
    check(times.rank() >= x.shape().rank(), "repeat: x has shape {}, but {} times name fewer axes", x.shape(), times);
    Variable y = reshape(x, with_rank(x.shape(), times.rank()), where);
    for (int axis = times.rank(); axis-- > 0;) {
        if (times[axis] == 1) continue;
        const Shape longer = with_extent(y.shape(), axis, y.dim(axis) * times[axis]);
        y = repeated(y, AroundAxis(y.shape(), axis), times[axis], false, longer, where);
    }
    return y.value().shares_storage(x.value()) ? clone(y, where) : y;
}

Variable repeat_interleave(const Variable& x, std::int64_t times, const std::optional<int>& axis, Where where) {
    check(times >= 0, "repeat_interleave: {} times, wanted at least 0", times);
    if (!axis) return repeat_interleave(reshape(x, {x.value().numel()}, where), times, 0, where);
    const int at = counted_axis("repeat_interleave", x.shape(), *axis);
    if (times == 1) return clone(x, where);
    return repeated(x, AroundAxis(x.shape(), at), times, true, with_extent(x.shape(), at, x.dim(at) * times), where);
}

// ---- orders

namespace {

// The same with one axis turned round, on the CPU.
Tensor reversed(const Tensor& x, const AroundAxis& at) {
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    dispatch_all(x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* const from = x.data<T>();
        T* const to = y.mutable_data<T>();
        const std::int64_t size = at.n * at.inner;
        parallel_for(at.outer, grain_for(size), [=](std::int64_t begin, std::int64_t end) {
            for (std::int64_t first = begin * size; first < end * size; first += size)
                if (at.inner == 1)
                    std::reverse_copy(from + first, from + first + size, to + first);
                else
                    for (std::int64_t i = 0; i < size; i += at.inner)
                        std::copy_n(from + first + i, at.inner, to + first + size - at.inner - i);
        });
    });
    return y;
}

// On CUDA the places of an axis are rows of a gather once it is the first one: three copies, where single elements would be
// gathered one by one.
Tensor flipped(const Tensor& x, const std::vector<int>& axes) {
    Tensor y = x;
    for (const int axis : axes) {
        const AroundAxis at(x.shape(), axis);
        if (at.n < 2 || x.numel() == 0) continue;
        if (x.device() == Device::cpu) {
            y = reversed(y, at);
            continue;
        }
        check_places("flip", x.shape(), at.n);
        std::vector<std::int32_t> places;
        for (std::int64_t i = at.n; i-- > 0;) places.push_back(static_cast<std::int32_t>(i));
        constexpr int order[] = {1, 0, 2};
        y = y.reshape({at.outer, at.n, at.inner});
        if (at.outer > 1) y = kernels::permute_forward(y, order);
        const Shape shape = y.shape();
        y = rows_at(y, places, at.outer * at.inner).reshape(shape);
        if (at.outer > 1) y = kernels::permute_backward(y, order);
        y = y.reshape(x.shape());
    }
    return y.shares_storage(x) ? y.clone() : y;
}

}  // namespace

Variable flip(const Variable& x, const Axes& axes, Where where) {
    const std::vector<int> counted = counted_axes("flip", x.shape(), axes);
    return record(flipped(x.value(), counted), {.op = "flip", .where = where, .inputs = {x}, .backward = [counted](Gradients& g) {
                                                    g.give(0, flipped(g.output(), counted));
                                                }});
}

Variable roll(const Variable& x, std::int64_t shift, const std::optional<int>& axis, Where where) {
    if (!axis) return reshape(roll(reshape(x, {x.value().numel()}, where), shift, 0, where), x.shape(), where);
    const int at = counted_axis("roll", x.shape(), *axis);
    const std::int64_t extent = x.dim(at);
    const std::int64_t by = extent == 0 ? 0 : (shift % extent + extent) % extent;
    if (by == 0) return clone(x, where);
    const Variable parts[] = {slice(x, at, extent - by, extent, where), slice(x, at, 0, extent - by, where)};
    return concat(parts, at, where);
}

// ---- masks

namespace {

// u8 [rows, cols], 1 where the element belongs to the triangle.
Tensor triangle(const char* op, const Variable& x, std::int64_t diagonal, kernels::Comparison comparison) {
    check(x.shape().rank() >= 2, "{}: x has shape {}, wanted at least two axes", op, x.shape());
    const std::int64_t rows = x.dim(-2), cols = x.dim(-1);
    std::vector<std::int32_t> ends;
    for (std::int64_t row = 0; row < rows; ++row)
        ends.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(row + diagonal, -1, cols)));
    return kernels::compare(comparison, Tensor::arange(cols, DType::i32, x.device()),
                            Tensor::from(ends, {rows, 1}).to(x.device()));
}

}  // namespace

Variable tril(const Variable& x, std::int64_t diagonal, Where where) {
    return ops::where(triangle("tril", x, diagonal, kernels::Comparison::less_equal), x, 0.0, where);
}
Variable triu(const Variable& x, std::int64_t diagonal, Where where) {
    return ops::where(triangle("triu", x, diagonal, kernels::Comparison::greater_equal), x, 0.0, where);
}

Variable masked_fill(const Variable& x, const Tensor& mask, double value, Where where) {
    check_dtype("masked_fill", "mask", mask, DType::u8);
    check(kernels::broadcast_shape("masked_fill", mask.shape(), x.shape()) == x.shape(),
          "masked_fill: the mask has shape {}, which does not broadcast to x {}", mask.shape(), x.shape());
    return ops::where(mask, value, x, where);
}

Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype) {
    check_dtype("one_hot", "indices", indices, DType::i32);
    check(classes > 0, "one_hot: {} classes, wanted at least one", classes);
    if (indices.device() == Device::cpu)
        for (const std::int32_t index : indices.values<std::int32_t>())
            check(index >= 0 && index < classes, "one_hot: an index is {}, wanted at least 0 and below {}", index, classes);
    Shape column = indices.shape();
    column.append(1);
    return kernels::cast(kernels::compare(kernels::Comparison::equal, indices.reshape(column),
                                          Tensor::arange(classes, DType::i32, indices.device())),
                         dtype);
}

}  // namespace heddle::inline ops
