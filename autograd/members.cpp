// The ops as members of Tensor and Variable. A Tensor is a Variable that nothing records, so both take the same way.
#include "core/members.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/operators.h"
#include "autograd/ops.h"
#include "core/check.h"
#include "core/format.h"
#include "core/index.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {
namespace {

template <class Self>
Self as(const Variable& result) {
    if constexpr (std::is_same_v<Self, Tensor>) {
        check(!result.requires_grad(),
              "tensor: a member of a tensor records nothing, but its operand requires a gradient; "
              "call it on a Variable, or under NoGrad");
        return result.value();
    } else
        return result;
}

template <class Self>
Self reshaped(const Self& x, const Shape& shape, Where where) {
    return as<Self>(ops::reshape(x, shape, where));
}

std::int64_t product(const Shape& shape, int begin, int end) {
    std::int64_t all = 1;
    for (int axis = begin; axis < end; ++axis) all *= shape[axis];
    return all;
}

// Elements [begin, end) of an axis. Those of a Tensor that lie in one piece are a view.
template <class Self>
Self part_of(const Self& x, int axis, std::int64_t begin, std::int64_t end, Where where) {
    if constexpr (std::is_same_v<Self, Tensor>) {
        if (product(x.shape(), 0, axis) == 1) {
            Shape shape = x.shape();
            const Tensor whole = x.reshape({shape[axis], product(shape, axis + 1, shape.rank())});
            shape.set(axis, end - begin);
            return whole.slice(begin, end).reshape(shape);
        }
    }
    return as<Self>(ops::slice(x, axis, begin, end, where));
}

template <class Self>
std::vector<Self> parts_of(const Self& x, const std::vector<std::int64_t>& extents, int axis, Where where) {
    const int at = counted_axis("split", x.shape(), axis);
    std::int64_t all = 0;
    for (const std::int64_t extent : extents) {
        check(extent >= 0, "split: a part of {} places, wanted at least 0", extent);
        all += extent;
    }
    check(all == x.dim(at), "split: the parts have {} places together, but axis {} of {} has {}", all, axis, x.shape(),
          x.dim(at));
    std::vector<Self> parts;
    std::int64_t begin = 0;
    for (const std::int64_t extent : extents) {
        parts.push_back(part_of(x, at, begin, begin + extent, where));
        begin += extent;
    }
    return parts;
}

template <class Self>
Self select_of(const Self& x, int axis, std::int64_t place, Where where) {
    const int at = counted_axis("select", x.shape(), axis);
    const std::int64_t extent = x.dim(at), from = place < 0 ? place + extent : place;
    check(0 <= from && from < extent, "select: no place {} in axis {} of {}", place, axis, x.shape());
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
        if (i != at) shape.append(x.dim(i));
    return reshaped(part_of(x, at, from, from + 1, where), shape, where);
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

// Numbers i32 of any shape along an axis: their shape takes the axis' place.
Variable rows_of(const Variable& x, int axis, const Tensor& numbers, Where where) {
    const Variable places = Variable(numbers).to(DType::f64);
    const Tensor from_front =
        ops::where(numbers < 0, places + static_cast<double>(x.dim(axis)), places).value().to(DType::i32).reshape({-1});
    const Variable rows = ops::index_select(x, axis, from_front, where);
    if (numbers.rank() == 1) return rows;
    Shape shape;
    for (int i = 0; i < axis; ++i) shape.append(x.dim(i));
    for (const std::int64_t extent : numbers.shape()) shape.append(extent);
    for (int i = axis + 1; i < x.rank(); ++i) shape.append(x.dim(i));
    return ops::reshape(rows, shape, where);
}

// Numbers along one axis each.
struct AxisNumbers {
    int axis;
    Tensor numbers;
};

// Pairs, triples, ... of numbers name elements: the axes become neighbours, then one axis, whose rows they count.
Variable together_of(const Variable& x, const std::vector<AxisNumbers>& all, Where where) {
    Shape common;
    std::int64_t extent = 1;
    for (const AxisNumbers& one : all) {
        common = kernels::broadcast_shape("index", common, one.numbers.shape());
        extent *= x.dim(one.axis);
    }
    check(extent <= INT32_MAX, "index: the axes that tensors name have {} elements together, more than i32 can count", extent);
    std::vector<std::int32_t> places(static_cast<std::size_t>(common.numel()), 0);
    for (const AxisNumbers& one : all) {
        const std::int64_t length = x.dim(one.axis);
        const Tensor numbers = one.numbers.to(Device::cpu).expand(common);
        for (std::size_t i = 0; i < places.size(); ++i) {
            const std::int64_t place = numbers.values<std::int32_t>()[i], from = place < 0 ? place + length : place;
            check(0 <= from && from < length, "index: no place {} in axis {} of extent {}", place, one.axis, length);
            places[i] = static_cast<std::int32_t>(places[i] * length + from);
        }
    }
    const auto named = static_cast<int>(all.size()), first = all.front().axis;
    const int target = all.back().axis - first + 1 == named ? first : 0;
    std::vector<int> order;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (std::none_of(all.begin(), all.end(), [axis](const AxisNumbers& one) { return one.axis == axis; }))
            order.push_back(axis);
    for (int i = 0; i < named; ++i) order.insert(order.begin() + target + i, all[static_cast<std::size_t>(i)].axis);
    const Variable neighbours = ops::permute(x, order, where);
    Shape merged, result;
    for (int i = 0; i < target; ++i) merged.append(neighbours.dim(i)), result.append(neighbours.dim(i));
    merged.append(extent);
    for (const std::int64_t length : common) result.append(length);
    for (int i = target + named; i < x.rank(); ++i) merged.append(neighbours.dim(i)), result.append(neighbours.dim(i));
    const Tensor rows = Tensor::from(places).to(x.device());
    return ops::reshape(ops::index_select(ops::reshape(neighbours, merged, where), target, rows, where), result, where);
}

template <class Self>
Self indexed(const Self& x, std::span<const Index> places, Where where) {
    int named = 0, tensors = 0, masks = 0;
    for (const Index& place : places) {
        if (place.kind() == Index::Kind::number || place.kind() == Index::Kind::slice) ++named;
        if (place.kind() != Index::Kind::tensor) continue;
        const bool mask = place.tensor().dtype() == DType::u8;
        check(mask || place.tensor().dtype() == DType::i32, "index: a tensor of places is {}, wanted i32 or a mask u8",
              place.tensor().dtype());
        named += mask ? place.tensor().rank() : 1;
        ++(mask ? masks : tensors);
    }
    check(named <= x.rank(), "index: {} places, but {} has {} axes", named, x.shape(), x.rank());
    check(masks == 0 || masks + tensors == 1, "index: a mask beside another tensor; take numbers from nonzero(mask) instead");
    Self part = x;
    std::vector<AxisNumbers> together;
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
                part = reshaped(part, shape, where);
                ++axis;
                break;
            }
            case Index::Kind::ellipsis: axis += x.rank() - named; break;
            case Index::Kind::slice: {
                const Slice& slice = place.slice();
                const std::int64_t extent = part.dim(axis), begin = slice.begin(extent), end = std::max(begin, slice.end(extent));
                if (slice.step() != 1)
                    part = as<Self>(ops::index_select(part, axis, places_of(slice, extent).to(part.device()), where));
                else if (begin != 0 || end != extent)
                    part = part_of(part, axis, begin, end, where);
                ++axis;
                break;
            }
            case Index::Kind::tensor:
                if (masks > 0)
                    part = as<Self>(where_mask_holds(part, axis, place.tensor(), where));
                else
                    together.push_back({axis, place.tensor()});
                ++axis;
                break;
        }
    }
    if (together.size() == 1) return as<Self>(rows_of(part, together[0].axis, together[0].numbers, where));
    if (!together.empty()) return as<Self>(together_of(part, together, where));
    return part;
}

void put(Tensor& whole, std::span<const Index> places, const Tensor& value, Where where) {
    check(whole.numel() <= INT32_MAX, "index_put_: {} has more elements than i32 can count", whole.shape());
    std::vector<Index> on_cpu(places.begin(), places.end());
    for (Index& place : on_cpu)
        if (place.kind() == Index::Kind::tensor) place = Index(place.tensor().to(Device::cpu));
    const Tensor targets = indexed<Tensor>(Tensor::arange(whole.numel()).reshape(whole.shape()), on_cpu, where);
    const Tensor values = Tensor::zeros(targets.shape(), DType::f64) + value.to(Device::cpu).to(DType::f64);
    check(values.shape() == targets.shape(), "index_put_: the value {} does not fit the part {}", value.shape(), targets.shape());
    Tensor elements = whole.to(Device::cpu);
    const Tensor given = values.to(whole.dtype());
    const std::int64_t size = size_of(whole.dtype());
    for (std::int64_t i = 0; i < targets.numel(); ++i)
        std::memcpy(elements.mutable_bytes_data() + targets.values<std::int32_t>()[static_cast<std::size_t>(i)] * size,
                    given.bytes_data() + i * size, static_cast<std::size_t>(size));
    if (whole.device() == Device::cpu)
        whole.bump_version(where);
    else
        whole.copy_(elements.to(whole.device()), where);
}

}  // namespace

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
