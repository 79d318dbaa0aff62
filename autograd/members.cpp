// The ops as members of Tensor and Variable. A Tensor is a Variable that nothing records, so both take the same way.
#include "core/members.h"

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

// A member that is one call of an op.
#define HEDDLE_MEMBER(Result, member, ...) \
    template <class Self>                  \
    Result Members<Self>::member const {   \
        return as<Self>(__VA_ARGS__);      \
    }

// ---- the shape

HEDDLE_MEMBER(const Self, reshape(const NewShape& shape, Where where), ops::reshape(self(), shape, where))
HEDDLE_MEMBER(const Self, flatten(int first, int last, Where where), ops::flatten(self(), first, last, where))
HEDDLE_MEMBER(const Self, squeeze(const std::optional<int>& axis, Where where),
              ops::squeeze(self(), axis ? Axes(*axis) : Axes(), where))
HEDDLE_MEMBER(const Self, unsqueeze(int axis, Where where), ops::unsqueeze(self(), axis, where))

// ---- other places

HEDDLE_MEMBER(const Self, permute(std::initializer_list<int> axes, Where where),
              ops::permute(self(), std::span(axes.begin(), axes.size()), where))
HEDDLE_MEMBER(const Self, transpose(int a, int b, Where where), ops::transpose(self(), a, b, where))
template <class Self>
const Self Members<Self>::t(Where where) const {
    check(ndim() <= 2, "t: {} has {} axes, wanted a matrix; mT() exchanges the last two, transpose(a, b) any two", sizes(),
          ndim());
    return ndim() < 2 ? self() : transpose(0, 1, where);
}
HEDDLE_MEMBER(const Self, expand(const NewShape& shape, Where where), ops::expand(self(), shape, where))
template <class Self>
const Self Members<Self>::expand_as(const Variable& other, Where where) const {
    return expand(other.shape(), where);
}
HEDDLE_MEMBER(const Self, repeat(std::initializer_list<std::int64_t> times, Where where), ops::repeat(self(), times, where))
HEDDLE_MEMBER(const Self, flip(const Axes& axes, Where where), ops::flip(self(), axes, where))
HEDDLE_MEMBER(const Self, roll(std::int64_t by, const std::optional<int>& axis, Where where), ops::roll(self(), by, axis, where))
HEDDLE_MEMBER(const Self, tril(std::int64_t diagonal, Where where), ops::tril(self(), diagonal, where))
HEDDLE_MEMBER(const Self, triu(std::int64_t diagonal, Where where), ops::triu(self(), diagonal, where))
HEDDLE_MEMBER(const Self, masked_fill(const Tensor& mask, double value, Where where),
              ops::masked_fill(self(), mask, value, where))

// ---- parts

template <class Self>
const std::vector<Self> Members<Self>::split(std::int64_t size, int axis, Where where) const {
    return parts_of(self(), parts_of_size(sizes()[counted_axis("split", sizes(), axis)], size), axis, where);
}
template <class Self>
const std::vector<Self> Members<Self>::split(std::initializer_list<std::int64_t> extents, int axis, Where where) const {
    return parts_of(self(), extents, axis, where);
}
template <class Self>
const std::vector<Self> Members<Self>::chunk(std::int64_t parts, int axis, Where where) const {
    return parts_of(self(), so_many_parts(sizes()[counted_axis("chunk", sizes(), axis)], parts), axis, where);
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
HEDDLE_MEMBER(const Self, index_select(int axis, const Tensor& indices, Where where),
              ops::index_select(self(), axis, indices, where))
HEDDLE_MEMBER(const Self, gather(int axis, const Tensor& indices, Where where), ops::gather(self(), axis, indices, where))

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

#define HEDDLE_UNARY(op) HEDDLE_MEMBER(Self, op(Where where), ops::op(self(), where))
HEDDLE_UNARY(neg)
HEDDLE_UNARY(exp)
HEDDLE_UNARY(expm1)
HEDDLE_UNARY(log)
HEDDLE_UNARY(log1p)
HEDDLE_UNARY(sqrt)
HEDDLE_UNARY(rsqrt)
HEDDLE_UNARY(square)
HEDDLE_UNARY(abs)
HEDDLE_UNARY(sign)
HEDDLE_UNARY(sin)
HEDDLE_UNARY(cos)
HEDDLE_UNARY(tanh)
HEDDLE_UNARY(sigmoid)
HEDDLE_UNARY(softplus)
HEDDLE_UNARY(erf)
HEDDLE_UNARY(relu)
HEDDLE_UNARY(silu)
HEDDLE_UNARY(clone)
#undef HEDDLE_UNARY

// These call the operators, so that they take integers and masks, too.
#define HEDDLE_BINARY(name, op)                                                                                       \
    HEDDLE_MEMBER(Self, name(const Variable& other, Where where), Operand(Variable(self()), where) op Operand(other)) \
    HEDDLE_MEMBER(Self, name(double other, Where where), Operand(Variable(self()), where) op Operand(other))
HEDDLE_BINARY(add, +)
HEDDLE_BINARY(sub, -)
HEDDLE_BINARY(mul, *)
HEDDLE_BINARY(div, /)
#undef HEDDLE_BINARY

HEDDLE_MEMBER(Self, pow(double exponent, Where where), ops::pow(self(), exponent, where))
HEDDLE_MEMBER(Self, maximum(const Variable& other, Where where), ops::maximum(self(), other, where))
HEDDLE_MEMBER(Self, minimum(const Variable& other, Where where), ops::minimum(self(), other, where))
HEDDLE_MEMBER(Self, clamp(double low, double high, Where where), ops::clamp(self(), low, high, where))
template <class Self>
Self Members<Self>::clamp_min(double low, Where where) const {
    return clamp(low, std::numeric_limits<double>::infinity(), where);
}
template <class Self>
Self Members<Self>::clamp_max(double high, Where where) const {
    return clamp(-std::numeric_limits<double>::infinity(), high, where);
}
HEDDLE_MEMBER(Self, gelu(bool tanh_form, Where where), ops::gelu(self(), tanh_form, where))

// ---- reductions and products

#define HEDDLE_REDUCTION(op) HEDDLE_MEMBER(Self, op(const Axes& axes, bool keep, Where where), ops::op(self(), axes, keep, where))
HEDDLE_REDUCTION(sum)
HEDDLE_REDUCTION(mean)
HEDDLE_REDUCTION(max)
HEDDLE_REDUCTION(min)
HEDDLE_REDUCTION(prod)
HEDDLE_REDUCTION(logsumexp)
#undef HEDDLE_REDUCTION

HEDDLE_MEMBER(Self, var(const Axes& axes, bool keep, double correction, Where where),
              ops::var(self(), axes, keep, correction, where))
HEDDLE_MEMBER(Self, std(const Axes& axes, bool keep, double correction, Where where),
              ops::stddev(self(), axes, keep, correction, where))
HEDDLE_MEMBER(Self, norm(const Axes& axes, bool keep, double p, Where where), ops::norm(self(), axes, keep, p, where))
HEDDLE_MEMBER(Self, cumsum(int axis, Where where), ops::cumsum(self(), axis, where))
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
HEDDLE_MEMBER(Self, softmax(int axis, Where where), ops::softmax(self(), axis, where))
HEDDLE_MEMBER(Self, log_softmax(int axis, Where where), ops::log_softmax(self(), axis, where))
HEDDLE_MEMBER(Self, matmul(const Variable& other, Where where), ops::matmul(self(), other, false, false, where))

// ---- other types and memory

HEDDLE_MEMBER(Self, to(DType dtype, Where where), ops::to(self(), dtype, where))
HEDDLE_MEMBER(Self, to(Device device, Where where), ops::to(self(), device, where))

#undef HEDDLE_MEMBER

template class Members<Tensor>;
template class Members<Variable>;

}  // namespace heddle
