// The ops as members of Tensor and Variable. A Tensor is a Variable that nothing records, so both take the same way.
#include "core/members.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "autograd/members_impl.h"
#include "autograd/operators.h"
#include "autograd/ops.h"
#include "core/check.h"
#include "core/format.h"
#include "core/index.h"

namespace heddle {
using namespace members;

// ---- the shape

template <class Self>
const Self Members<Self>::reshape(const NewShape& shape, Where where) const {
    return as<Self>(ops::reshape(self(), shape, where));
}
template <class Self>
const Self Members<Self>::flatten(int first, int last, Where where) const {
    return as<Self>(ops::flatten(self(), first, last, where));
}
template <class Self>
const Self Members<Self>::squeeze(const std::optional<int>& axis, Where where) const {
    return as<Self>(ops::squeeze(self(), axis ? Axes(*axis) : Axes(), where));
}
template <class Self>
const Self Members<Self>::unsqueeze(int axis, Where where) const {
    return as<Self>(ops::unsqueeze(self(), axis, where));
}

// ---- other places

template <class Self>
const Self Members<Self>::permute(std::initializer_list<int> axes, Where where) const {
    return as<Self>(ops::permute(self(), std::span(axes.begin(), axes.size()), where));
}
template <class Self>
const Self Members<Self>::transpose(int a, int b, Where where) const {
    return as<Self>(ops::transpose(self(), a, b, where));
}
template <class Self>
const Self Members<Self>::t(Where where) const {
    check(ndim() <= 2, "t: {} has {} axes, wanted a matrix; mT() exchanges the last two, transpose(a, b) any two", sizes(),
          ndim());
    return ndim() < 2 ? self() : transpose(0, 1, where);
}
template <class Self>
const Self Members<Self>::expand(const NewShape& shape, Where where) const {
    return as<Self>(ops::expand(self(), shape, where));
}
template <class Self>
const Self Members<Self>::expand_as(const Variable& other, Where where) const {
    return expand(other.shape(), where);
}
template <class Self>
const Self Members<Self>::repeat(std::initializer_list<std::int64_t> times, Where where) const {
    return as<Self>(ops::repeat(self(), times, where));
}
template <class Self>
const Self Members<Self>::flip(const Axes& axes, Where where) const {
    return as<Self>(ops::flip(self(), axes, where));
}
template <class Self>
const Self Members<Self>::roll(std::int64_t by, const std::optional<int>& axis, Where where) const {
    return as<Self>(ops::roll(self(), by, axis, where));
}
template <class Self>
const Self Members<Self>::tril(std::int64_t diagonal, Where where) const {
    return as<Self>(ops::tril(self(), diagonal, where));
}
template <class Self>
const Self Members<Self>::triu(std::int64_t diagonal, Where where) const {
    return as<Self>(ops::triu(self(), diagonal, where));
}
template <class Self>
const Self Members<Self>::masked_fill(const Tensor& mask, double value, Where where) const {
    return as<Self>(ops::masked_fill(self(), mask, value, where));
}

// ---- parts

template <class Self>
const std::vector<Self> Members<Self>::split(std::int64_t size, int axis, Where where) const {
    check(size > 0, "split: parts of {} places, wanted at least one", size);
    std::vector<std::int64_t> extents;
    for (std::int64_t left = sizes()[counted_axis("split", sizes(), axis)]; left > 0; left -= size)
        extents.push_back(std::min(size, left));
    return parts_of(self(), extents, axis, where);
}
template <class Self>
const std::vector<Self> Members<Self>::split(std::initializer_list<std::int64_t> extents, int axis, Where where) const {
    return parts_of(self(), extents, axis, where);
}
template <class Self>
const std::vector<Self> Members<Self>::chunk(std::int64_t parts, int axis, Where where) const {
    check(parts > 0, "chunk: {} parts, wanted at least one", parts);
    const std::int64_t extent = sizes()[counted_axis("chunk", sizes(), axis)];
    return split(std::max<std::int64_t>(1, (extent + parts - 1) / parts), axis, where);
}
template <class Self>
const std::vector<Self> Members<Self>::unbind(int axis, Where where) const {
    const int at = counted_axis("unbind", sizes(), axis);
    std::vector<Self> parts;
    for (std::int64_t place = 0; place < sizes()[at]; ++place) parts.push_back(select(at, place, where));
    return parts;
}
template <class Self>
const Self Members<Self>::operator[](std::initializer_list<PlaceArgument> places) const {
    check(static_cast<int>(places.size()) <= ndim(), "index: {} places, but {} has {} axes", places.size(), sizes(), ndim());
    Self part = self();
    for (const PlaceArgument& argument : places) part = part.select(0, argument.place, argument.where);
    return part;
}
template <class Self>
const Self Members<Self>::operator[](const TensorArgument& rows_or_mask) const {
    const Index place[] = {rows_or_mask.tensor};
    return indexed<Self>(self(), place, rows_or_mask.where);
}
template <class Self>
const Self Members<Self>::slice(int axis, std::int64_t begin, std::int64_t end, Where where) const {
    const int at = counted_axis("slice", sizes(), axis);
    const std::int64_t extent = sizes()[at], from = begin < 0 ? begin + extent : begin, to = end < 0 ? end + extent : end;
    check(0 <= from && from <= to && to <= extent, "slice: places [{}, {}) of axis {} of {}", begin, end, axis, sizes());
    return part_of(self(), at, from, to, where);
}
template <class Self>
const Self Members<Self>::narrow(int axis, std::int64_t begin, std::int64_t count, Where where) const {
    const int at = counted_axis("narrow", sizes(), axis);
    const std::int64_t extent = sizes()[at], from = begin < 0 ? begin + extent : begin;
    check(0 <= from && from <= extent && count >= 0 && count <= extent - from, "narrow: {} places from {} on of axis {} of {}",
          count, begin, axis, sizes());
    return part_of(self(), at, from, from + count, where);
}
template <class Self>
const Self Members<Self>::select(int axis, std::int64_t place, Where where) const {
    return select_of<Self>(self(), axis, place, where);
}
template <class Self>
const Self Members<Self>::index_select(int axis, const Tensor& indices, Where where) const {
    return as<Self>(ops::index_select(self(), axis, indices, where));
}
template <class Self>
const Self Members<Self>::gather(int axis, const Tensor& indices, Where where) const {
    return as<Self>(ops::gather(self(), axis, indices, where));
}

template <class Self>
const Self Members<Self>::index(std::initializer_list<Index> places, Where where) const {
    return indexed<Self>(self(), std::span(places.begin(), places.size()), where);
}

const IndexedPart Tensor::operator[](const TensorArgument& rows_or_mask) {
    return {std::as_const(*this)[rows_or_mask], *this, {rows_or_mask.tensor}};
}
const IndexedPart Tensor::index(std::initializer_list<Index> places, Where where) {
    return {std::as_const(*this).index(places, where), *this, places};
}

IndexedPart::IndexedPart(const Tensor& elements, const Tensor& whole, std::initializer_list<Index> places)
    : Tensor(elements), whole_(whole), places_(std::make_shared<const std::vector<Index>>(places)) {}

void IndexedPart::put_(const Assigned& source) const {
    Tensor whole = whole_;
    put(whole, *places_, source.tensor() ? *source.tensor() : full({}, source.number(), DType::f64), source.where());
}

void Tensor::index_put_(std::initializer_list<Index> places, const Tensor& value, Where where) {
    put(*this, std::span(places.begin(), places.size()), value, where);
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

// These call the operators, so that they take integers and masks, too.
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
