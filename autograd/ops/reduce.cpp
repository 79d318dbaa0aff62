// Reductions on the tape: sums, products, extrema and running sums by kernels, the others made of them.
#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/operators.h"
#include "autograd/ops.h"
#include "autograd/whole_numbers.h"
#include "core/check.h"
#include "core/format.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::inline ops {
namespace {

// ---- one axis

Variable sum_of(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::sum_forward(x.value(), axis, keep);
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_backward(g.output(), shape, axis));
                      }});
}

Variable mean_of(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::mean_forward(x.value(), axis, keep);
    return record(y, {.op = "mean", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::mean_backward(g.output(), shape, axis));
                      }});
}

Variable extremum_of(const char* op, kernels::Extremum result, const Variable& x, int axis, Where where) {
    return record(
        result.y,
        {.op = op, .where = where, .inputs = {x}, .saved = {result.indices}, .backward = [axis, shape = x.shape()](Gradients& g) {
             g.give(0, kernels::max_backward(g.output(), g.saved(0), shape, axis));
         }});
}

Variable max_of(const Variable& x, int axis, bool keep, Where where) {
    return extremum_of("max", kernels::max_forward(x.value(), axis, keep), x, axis, where);
}
Variable min_of(const Variable& x, int axis, bool keep, Where where) {
    return extremum_of("min", kernels::min_forward(x.value(), axis, keep), x, axis, where);
}

Variable prod_of(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::prod_forward(x.value(), axis, keep);
    return record(y, {.op = "prod", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [axis](Gradients& g) {
                          g.give(0, kernels::prod_backward(g.output(), g.saved(0), axis));
                      }});
}

// ---- several axes, or all

std::vector<int> ordered_axes(const char* op, const Shape& shape, const Axes& axes) {
    std::vector<int> ascending = counted_axes(op, shape, axes);
    std::sort(ascending.begin(), ascending.end());
    return ascending;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keep) {
    Shape result;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
        if (!gone) result.append(shape[axis]);
        if (gone && keep) result.append(1);
    }
    return result;
}

using OfAxis = Variable (*)(const Variable& x, int axis, bool keep, Where where);

// Axes that lie side by side are seen as one. If others lie between them, they are brought to the end first.
Variable over(const char* op, const Variable& x, const Axes& axes, bool keep, Where where, OfAxis of_axis) {
    const Shape shape = x.shape();
    if (!axes.all() && axes.list().size() == 1) return of_axis(x, axes.list().front(), keep, where);
    const std::vector<int> gone = ordered_axes(op, shape, axes);
    if (gone.empty() && !axes.all()) return x;
    const Shape wanted = reduced_shape(shape, gone, keep);
    std::int64_t n = 1;
    for (const int axis : gone) n *= shape[axis];
    const bool side_by_side = gone.empty() || gone.back() - gone.front() + 1 == static_cast<int>(gone.size());
    Variable lines = x;
    std::int64_t outer = 1, inner = 1;
    if (side_by_side) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
            if (gone.empty() || axis < gone.front()) outer *= shape[axis];
            if (!gone.empty() && axis > gone.back()) inner *= shape[axis];
        }
    } else {
        std::vector<int> order;
        for (int axis = 0; axis < shape.rank(); ++axis)
            if (std::find(gone.begin(), gone.end(), axis) == gone.end()) {
                order.push_back(axis);
                outer *= shape[axis];
            }
        order.insert(order.end(), gone.begin(), gone.end());
        lines = permute(x, order, where);
    }
    return reshape(of_axis(reshape(lines, {outer, n, inner}, where), 1, false, where), wanted, where);
}

// How many elements of x one of its sums over the axes has.
double elements(const char* op, const Variable& x, const Axes& axes) {
    double n = 1;
    for (const int axis : ordered_axes(op, x.shape(), axes)) n *= static_cast<double>(x.shape()[axis]);
    return n;
}

// A reduction of whole numbers, computed in f64, which holds them all.
Variable over_whole(const char* op, const Variable& x, const Axes& axes, bool keep, Where where, OfAxis of_axis) {
    return narrowed(op, over(op, to(x, DType::f64), axes, keep, where, of_axis).value());
}

}  // namespace

Variable sum(const Variable& x, const Axes& axes, bool keep, Where where) {
    if (is_whole(x.dtype())) return over_whole("sum", x, axes, keep, where, sum_of);
    if (!axes.all() || keep) return over("sum", x, axes, keep, where, sum_of);
    Tensor y = kernels::sum_all_forward(x.value());
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_all_backward(g.output(), shape));
                      }});
}

Variable mean(const Variable& x, const Axes& axes, bool keep, Where where) {
    if (!axes.all() || keep) return over("mean", x, axes, keep, where, mean_of);
    check(x.value().numel() > 0, "mean: x {} is empty", x.shape());
    return scale(sum(x, {}, false, where), 1.0 / static_cast<double>(x.value().numel()), where);
}

Variable max(const Variable& x, const Axes& axes, bool keep, Where where) {
    return (is_whole(x.dtype()) ? over_whole : over)("max", x, axes, keep, where, max_of);
}
Variable min(const Variable& x, const Axes& axes, bool keep, Where where) {
    return (is_whole(x.dtype()) ? over_whole : over)("min", x, axes, keep, where, min_of);
}
Variable prod(const Variable& x, const Axes& axes, bool keep, Where where) {
    return (is_whole(x.dtype()) ? over_whole : over)("prod", x, axes, keep, where, prod_of);
}

Variable var(const Variable& x, const Axes& axes, bool keep, double correction, Where where) {
    const double n = elements("var", x, axes);
    check(n > correction, "var: {} elements of x {} leave nothing to divide by after the correction {}", n, x.shape(),
          correction);
    const Variable centred = sub(x, mean(x, axes, true, where), where);
    return scale(sum(square(centred, where), axes, keep, where), 1 / (n - correction), where);
}

namespace {

// sqrt(x) whose gradient is 0 where x is 0.
Variable root(const Variable& x, Where where) {
    const Tensor zero = x == 0;
    return ops::where(zero, 0.0, sqrt(ops::where(zero, 1.0, x, where), where), where);
}

}  // namespace

Variable stddev(const Variable& x, const Axes& axes, bool keep, double correction, Where where) {
    return root(var(x, axes, keep, correction, where), where);
}

Variable norm(const Variable& x, const Axes& axes, bool keep, double p, Where where) {
    check(p > 0, "norm: p is {}, wanted a number above 0, or infinity", p);
    if (p == 2) return root(sum(square(x, where), axes, keep, where), where);
    if (p == 1) return sum(abs(x, where), axes, keep, where);
    if (std::isinf(p)) return max(abs(x, where), axes, keep, where);
    Variable powers;
    if (p < 1) {  // the slope of |x|^p at 0 is infinite
        const Tensor flat = x == 0;
        powers = ops::where(flat, 0.0, pow(ops::where(flat, 1.0, abs(x, where), where), p, where), where);
    } else {
        powers = pow(abs(x, where), p, where);
    }
    const Variable total = sum(powers, axes, keep, where);
    const Tensor zero = total == 0;
    return ops::where(zero, 0.0, pow(ops::where(zero, 1.0, total, where), 1 / p, where), where);
}

Variable logsumexp(const Variable& x, const Axes& axes, bool keep, Where where) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Variable largest = max(x.detach(), axes, true, where);
    const Tensor infinite = (largest == kInfinity) | (largest == -kInfinity);
    const Variable shift = ops::where(infinite, 0.0, largest, where);
    const Variable total = sum(exp(sub(x, shift, where), where), axes, true, where);
    const Tensor lost = total == 0;  // nothing but -infinity: no NaN goes back
    const Variable y = add(ops::where(lost, -kInfinity, log(ops::where(lost, 1.0, total, where), where), where), shift, where);
    return keep ? y : reshape(y, reduced_shape(x.shape(), ordered_axes("logsumexp", x.shape(), axes), false), where);
}

Variable cumsum(const Variable& x, int axis, Where where) {
    Tensor y = kernels::cumsum(x.value(), axis, false);
    return record(y, {.op = "cumsum", .where = where, .inputs = {x}, .backward = [axis](Gradients& g) {
                          g.give(0, kernels::cumsum(g.output(), axis, true));
                      }});
}

// ---- places and masks

namespace {

Tensor place_of(const Variable& in, const std::optional<int>& axis, bool keep,
                kernels::Extremum (*forward)(const Tensor& x, int axis, bool keep)) {
    const Tensor x = is_whole(in.dtype()) ? to(in, DType::f64).value() : in.value();
    if (axis) return forward(x, *axis, keep).indices;
    const Tensor places = forward(x.reshape({x.numel()}), 0, false).indices;
    Shape kept;
    for (int i = 0; keep && i < x.rank(); ++i) kept.append(1);
    return places.reshape(kept);
}

}  // namespace

Tensor argmax(const Variable& x, const std::optional<int>& axis, bool keep) {
    return place_of(x, axis, keep, kernels::max_forward);
}
Tensor argmin(const Variable& x, const std::optional<int>& axis, bool keep) {
    return place_of(x, axis, keep, kernels::min_forward);
}

// Counts the elements that hold, in f64, since `all` must tell n from n - 1 beyond 2^24.
Tensor any(const Tensor& mask, const Axes& axes, bool keep) {
    check_dtype("any", "mask", mask, DType::u8);
    const NoGrad off;
    return sum((mask != 0).to(DType::f64), axes, keep) != 0;
}

Tensor all(const Tensor& mask, const Axes& axes, bool keep) {
    check_dtype("all", "mask", mask, DType::u8);
    const NoGrad off;
    return sum((mask == 0).to(DType::f64), axes, keep) == 0;
}

}  // namespace heddle::inline ops
