// The ops as members of Tensor and Variable. A Tensor is a Variable that nothing records, so both take the same way.
#include "core/members.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "autograd/operators.h"
#include "autograd/ops.h"
#include "core/check.h"
#include "core/format.h"
#include "core/index.h"

namespace heddle {
namespace {

template <class Self>
Self as(const Variable& result) {
    if constexpr (std::is_same_v<Self, Tensor>)
        return result.value();
    else
        return result;
}

template <class Self>
std::vector<Self> each_as(const std::vector<Variable>& results) {
    std::vector<Self> all;
    for (const Variable& result : results) all.push_back(as<Self>(result));
    return all;
}

int from_front(const char* op, const Shape& shape, int axis) {
    const int at = axis < 0 ? axis + shape.rank() : axis;
    check(at >= 0 && at < shape.rank(), "{}: {} has no axis {}", op, shape, axis);
    return at;
}

Variable select_of(const Variable& x, int axis, std::int64_t place, Where where) {
    const int at = from_front("select", x.shape(), axis);
    const std::int64_t extent = x.dim(at), from = place < 0 ? place + extent : place;
    check(0 <= from && from < extent, "select: no place {} in axis {} of {}", place, axis, x.shape());
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
        if (i != at) shape.append(x.dim(i));
    return ops::reshape(ops::slice(x, at, from, from + 1, where), shape, where);
}

// Rows begin, begin + step, ... of the axis as numbers i32.
Tensor places_of(const Slice& slice, std::int64_t extent) {
    check(slice.step() > 0, "index: the step of a slice is {}, wanted at least 1; flip() turns an axis round", slice.step());
    std::vector<std::int32_t> places;
    for (std::int64_t i = slice.begin(extent); i < slice.end(extent); i += slice.step())
        places.push_back(static_cast<std::int32_t>(i));
    return Tensor::from(places);
}

// The elements of x where the mask, of the shape of x's axes from `axis` on or of the first of them, holds.
Variable where_mask_holds(const Variable& x, int axis, const Tensor& mask, Where where) {
    Shape shape;
    std::int64_t covered = 1;
    for (int i = 0; i < mask.rank(); ++i) {
        check(axis + i < x.rank() && x.dim(axis + i) == mask.dim(i), "index: a mask {} does not lie on {} from axis {} on",
              mask.shape(), x.shape(), axis);
        covered *= mask.dim(i);
    }
    for (int i = 0; i < axis; ++i) shape.append(x.dim(i));
    shape.append(covered);
    for (int i = axis + mask.rank(); i < x.rank(); ++i) shape.append(x.dim(i));
    return ops::index_select(ops::reshape(x, shape, where), axis, ops::nonzero(mask.reshape({-1})).reshape({-1}), where);
}

}  // namespace

// ---- the shape

template <class Self>
Self Members<Self>::reshape(const NewShape& shape, Where where) const {
    return as<Self>(ops::reshape(self(), shape, where));
}
template <class Self>
Self Members<Self>::view(const NewShape& shape, Where where) const {
    return as<Self>(ops::reshape(self(), shape, where));
}

template <class Self>
Self Members<Self>::flatten(int first, int last, Where where) const {
    return as<Self>(ops::flatten(self(), first, last, where));
}
template <class Self>
Self Members<Self>::squeeze(const std::optional<int>& axis, Where where) const {
    return as<Self>(ops::squeeze(self(), axis ? Axes(*axis) : Axes(), where));
}
template <class Self>
Self Members<Self>::unsqueeze(int axis, Where where) const {
    return as<Self>(ops::unsqueeze(self(), axis, where));
}

// ---- other places

template <class Self>
Self Members<Self>::permute(std::initializer_list<int> axes, Where where) const {
    return as<Self>(ops::permute(self(), std::span(axes.begin(), axes.size()), where));
}
template <class Self>
Self Members<Self>::transpose(int a, int b, Where where) const {
    return as<Self>(ops::transpose(self(), a, b, where));
}
template <class Self>
Self Members<Self>::t(Where where) const {
    check(ndim() <= 2, "t: {} has {} axes, wanted a matrix; mT() exchanges the last two, transpose(a, b) any two", sizes(),
          ndim());
    return ndim() < 2 ? self() : transpose(0, 1, where);
}
template <class Self>
Self Members<Self>::expand(const NewShape& shape, Where where) const {
    return as<Self>(ops::expand(self(), shape, where));
}
template <class Self>
Self Members<Self>::expand_as(const Variable& other, Where where) const {
    return expand(other.shape(), where);
}
template <class Self>
Self Members<Self>::repeat(std::initializer_list<std::int64_t> times, Where where) const {
    return as<Self>(ops::repeat(self(), times, where));
}
template <class Self>
Self Members<Self>::flip(const Axes& axes, Where where) const {
    return as<Self>(ops::flip(self(), axes, where));
}
template <class Self>
Self Members<Self>::roll(std::int64_t by, const std::optional<int>& axis, Where where) const {
    return as<Self>(ops::roll(self(), by, axis, where));
}
template <class Self>
Self Members<Self>::tril(std::int64_t diagonal, Where where) const {
    return as<Self>(ops::tril(self(), diagonal, where));
}
template <class Self>
Self Members<Self>::triu(std::int64_t diagonal, Where where) const {
    return as<Self>(ops::triu(self(), diagonal, where));
}
template <class Self>
Self Members<Self>::masked_fill(const Tensor& mask, double value, Where where) const {
    return as<Self>(ops::masked_fill(self(), mask, value, where));
}

// ---- parts

template <class Self>
std::vector<Self> Members<Self>::split(std::int64_t size, int axis, Where where) const {
    return each_as<Self>(ops::split(self(), size, axis, where));
}
template <class Self>
std::vector<Self> Members<Self>::split(std::initializer_list<std::int64_t> sizes, int axis, Where where) const {
    return each_as<Self>(ops::split(self(), std::vector<std::int64_t>(sizes), axis, where));
}
template <class Self>
std::vector<Self> Members<Self>::chunk(std::int64_t parts, int axis, Where where) const {
    return each_as<Self>(ops::chunk(self(), parts, axis, where));
}
template <class Self>
std::vector<Self> Members<Self>::unbind(int axis, Where where) const {
    return each_as<Self>(ops::unbind(self(), axis, where));
}
template <class Self>
Self Members<Self>::operator[](std::initializer_list<std::int64_t> places) const {
    check(static_cast<int>(places.size()) <= ndim(), "index: {} places, but {} has {} axes", places.size(), sizes(), ndim());
    Self part = self();
    for (const std::int64_t place : places) part = part.select(0, place);
    return part;
}
template <class Self>
Self Members<Self>::operator[](const Tensor& rows_or_mask) const {
    return index({rows_or_mask});
}
template <class Self>
Self Members<Self>::slice(int axis, std::int64_t begin, std::int64_t end, Where where) const {
    return as<Self>(ops::slice(self(), axis, begin, end, where));
}
template <class Self>
Self Members<Self>::narrow(int axis, std::int64_t begin, std::int64_t count, Where where) const {
    const std::int64_t from = begin < 0 ? begin + size(axis) : begin;
    return as<Self>(ops::slice(self(), axis, from, from + count, where));
}
template <class Self>
Self Members<Self>::select(int axis, std::int64_t place, Where where) const {
    return as<Self>(select_of(self(), axis, place, where));
}
template <class Self>
Self Members<Self>::index_select(int axis, const Tensor& indices, Where where) const {
    return as<Self>(ops::index_select(self(), axis, indices, where));
}
template <class Self>
Self Members<Self>::gather(int axis, const Tensor& indices, Where where) const {
    return as<Self>(ops::gather(self(), axis, indices, where));
}

template <class Self>
Self Members<Self>::index(std::initializer_list<Index> places, Where where) const {
    int named = 0;
    for (const Index& place : places) {
        if (place.kind() == Index::Kind::number || place.kind() == Index::Kind::slice) ++named;
        if (place.kind() == Index::Kind::tensor) named += place.tensor().dtype() == DType::u8 ? place.tensor().rank() : 1;
    }
    check(named <= ndim(), "index: {} places, but {} has {} axes", named, sizes(), ndim());
    const int before = ndim();
    Variable part = self();
    int axis = 0;
    for (const Index& place : places) {
        switch (place.kind()) {
            case Index::Kind::number: part = select_of(part, axis, place.number(), where); break;
            case Index::Kind::none: {
                Shape shape;
                for (int i = 0; i <= part.rank(); ++i) {
                    if (i == axis) shape.append(1);
                    if (i < part.rank()) shape.append(part.dim(i));
                }
                part = ops::reshape(part, shape, where);
                ++axis;
                break;
            }
            case Index::Kind::ellipsis: axis += before - named; break;
            case Index::Kind::slice: {
                const Slice& slice = place.slice();
                const std::int64_t extent = part.dim(axis), begin = slice.begin(extent), end = std::max(begin, slice.end(extent));
                if (slice.step() != 1)
                    part = ops::index_select(part, axis, places_of(slice, extent).to(part.device()), where);
                else if (begin != 0 || end != extent)
                    part = ops::slice(part, axis, begin, end, where);
                ++axis;
                break;
            }
            case Index::Kind::tensor: {
                const Tensor& tensor = place.tensor();
                if (tensor.dtype() == DType::u8) {
                    part = where_mask_holds(part, axis, tensor, where);
                } else {
                    const std::int64_t extent = part.dim(axis);
                    const Tensor from_front =
                        ops::where(tensor < 0, Variable(tensor).to(DType::f64) + static_cast<double>(extent),
                                   Variable(tensor).to(DType::f64))
                            .value()
                            .to(DType::i32);
                    part = ops::index_select(part, axis, from_front, where);
                }
                ++axis;
                break;
            }
        }
    }
    return as<Self>(part);
}

void Tensor::index_put_(std::initializer_list<Index> places, const Tensor& value, Where where) {
    check(numel() <= INT32_MAX, "index_put_: {} has more elements than i32 can count", shape());
    const Tensor targets = arange(numel()).reshape(shape()).index(places);
    const Tensor values = (Tensor::zeros(targets.shape(), DType::f64) + value.to(Device::cpu).to(DType::f64)).value();
    check(values.shape() == targets.shape(), "index_put_: the value {} does not fit the part {}", value.shape(), targets.shape());
    Tensor whole = to(Device::cpu);
    Tensor elements = values.to(dtype());
    const std::int64_t size = size_of(dtype());
    for (std::int64_t i = 0; i < targets.numel(); ++i)
        std::memcpy(whole.mutable_bytes_data() + targets.values<std::int32_t>()[static_cast<std::size_t>(i)] * size,
                    elements.bytes_data() + i * size, static_cast<std::size_t>(size));
    if (device() == Device::cpu)
        bump_version(where);
    else
        copy_(whole.to(device()), where);
}

void Tensor::index_put_(std::initializer_list<Index> places, double value, Where where) {
    index_put_(places, full({}, value, DType::f64), where);
}

// ---- element by element

#define HEDDLE_MEMBER(op)                        \
    template <class Self>                        \
    Self Members<Self>::op(Where where) const {  \
        return as<Self>(ops::op(self(), where)); \
    }
HEDDLE_MEMBER(neg)
HEDDLE_MEMBER(exp)
HEDDLE_MEMBER(expm1)
HEDDLE_MEMBER(log)
HEDDLE_MEMBER(log1p)
HEDDLE_MEMBER(sqrt)
HEDDLE_MEMBER(rsqrt)
HEDDLE_MEMBER(square)
HEDDLE_MEMBER(abs)
HEDDLE_MEMBER(sign)
HEDDLE_MEMBER(sin)
HEDDLE_MEMBER(cos)
HEDDLE_MEMBER(tanh)
HEDDLE_MEMBER(sigmoid)
HEDDLE_MEMBER(softplus)
HEDDLE_MEMBER(erf)
HEDDLE_MEMBER(relu)
HEDDLE_MEMBER(silu)
HEDDLE_MEMBER(clone)
#undef HEDDLE_MEMBER

// As the operators, which take integers and masks, too.
#define HEDDLE_MEMBER(name, op)                                              \
    template <class Self>                                                    \
    Self Members<Self>::name(const Variable& other, Where where) const {     \
        return as<Self>(Operand(Variable(self()), where) op Operand(other)); \
    }                                                                        \
    template <class Self>                                                    \
    Self Members<Self>::name(double other, Where where) const {              \
        return as<Self>(Operand(Variable(self()), where) op Operand(other)); \
    }
HEDDLE_MEMBER(add, +)
HEDDLE_MEMBER(sub, -)
HEDDLE_MEMBER(mul, *)
HEDDLE_MEMBER(div, /)
#undef HEDDLE_MEMBER

template <class Self>
Self Members<Self>::pow(double exponent, Where where) const {
    return as<Self>(ops::pow(self(), exponent, where));
}
template <class Self>
Self Members<Self>::maximum(const Variable& other, Where where) const {
    return as<Self>(ops::maximum(self(), other, where));
}
template <class Self>
Self Members<Self>::minimum(const Variable& other, Where where) const {
    return as<Self>(ops::minimum(self(), other, where));
}
template <class Self>
Self Members<Self>::clamp(double low, double high, Where where) const {
    return as<Self>(ops::clamp(self(), low, high, where));
}
template <class Self>
Self Members<Self>::clamp_min(double low, Where where) const {
    return clamp(low, std::numeric_limits<double>::infinity(), where);
}
template <class Self>
Self Members<Self>::clamp_max(double high, Where where) const {
    return clamp(-std::numeric_limits<double>::infinity(), high, where);
}
template <class Self>
Self Members<Self>::gelu(bool tanh_form, Where where) const {
    return as<Self>(ops::gelu(self(), tanh_form, where));
}

// ---- reductions and products

#define HEDDLE_MEMBER(op)                                                    \
    template <class Self>                                                    \
    Self Members<Self>::op(const Axes& axes, bool keep, Where where) const { \
        return as<Self>(ops::op(self(), axes, keep, where));                 \
    }
HEDDLE_MEMBER(sum)
HEDDLE_MEMBER(mean)
HEDDLE_MEMBER(max)
HEDDLE_MEMBER(min)
HEDDLE_MEMBER(prod)
HEDDLE_MEMBER(logsumexp)
#undef HEDDLE_MEMBER

template <class Self>
Self Members<Self>::var(const Axes& axes, bool keep, double correction, Where where) const {
    return as<Self>(ops::var(self(), axes, keep, correction, where));
}
template <class Self>
Self Members<Self>::std(const Axes& axes, bool keep, double correction, Where where) const {
    return as<Self>(ops::stddev(self(), axes, keep, correction, where));
}
template <class Self>
Self Members<Self>::norm(const Axes& axes, bool keep, double p, Where where) const {
    return as<Self>(ops::norm(self(), axes, keep, p, where));
}
template <class Self>
Self Members<Self>::cumsum(int axis, Where where) const {
    return as<Self>(ops::cumsum(self(), axis, where));
}
template <class Self>
Tensor Members<Self>::argmax(const std::optional<int>& axis, bool keep) const {
    return ops::argmax(self(), axis, keep);
}
template <class Self>
Tensor Members<Self>::argmin(const std::optional<int>& axis, bool keep) const {
    return ops::argmin(self(), axis, keep);
}
template <class Self>
Tensor Members<Self>::any(const Axes& axes, bool keep) const {
    return ops::any(Variable(self()).value(), axes, keep);
}
template <class Self>
Tensor Members<Self>::all(const Axes& axes, bool keep) const {
    return ops::all(Variable(self()).value(), axes, keep);
}
template <class Self>
Self Members<Self>::softmax(int axis, Where where) const {
    return as<Self>(ops::softmax(self(), axis, where));
}
template <class Self>
Self Members<Self>::log_softmax(int axis, Where where) const {
    return as<Self>(ops::log_softmax(self(), axis, where));
}
template <class Self>
Self Members<Self>::matmul(const Variable& other, Where where) const {
    return as<Self>(ops::matmul(self(), other, false, false, where));
}

// ---- other types and memory

template <class Self>
Self Members<Self>::to(DType dtype, Where where) const {
    return as<Self>(ops::to(self(), dtype, where));
}
template <class Self>
Self Members<Self>::to(Device device, Where where) const {
    return as<Self>(ops::to(self(), device, where));
}

template class Members<Tensor>;
template class Members<Variable>;

}  // namespace heddle
