// Parts of tensors, and places named by numbers, slices, masks and tensors of numbers.
#include <algorithm>
#include <cstring>

#include "autograd/members_impl.h"
#include "autograd/operators.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::members {
namespace {

template <class Self>
Self reshaped(const Self& x, const Shape& shape, Where where) {
    return as<Self>(ops::reshape(x, shape, where));
}

std::int64_t product(const Shape& shape, int begin, int end) {
    std::int64_t all = 1;
    for (int axis = begin; axis < end; ++axis) all *= shape[axis];
    return all;
}

}  // namespace

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
    std::vector<Self> parts;
    std::int64_t begin = 0;
    for (const std::int64_t extent : extents) {
        check(extent >= 0 && extent <= x.dim(at) - begin, "split: a part of {} places, where axis {} of x {} has {} left", extent,
              axis, x.shape(), x.dim(at) - begin);
        parts.push_back(part_of(x, at, begin, begin + extent, where));
        begin += extent;
    }
    check(begin == x.dim(at), "split: the parts have {} places together, but axis {} of x {} has {}", begin, axis, x.shape(),
          x.dim(at));
    return parts;
}

std::vector<std::int64_t> parts_of_size(std::int64_t extent, std::int64_t size) {
    check(size > 0, "split: parts of {} places, wanted at least one", size);
    std::vector<std::int64_t> extents;
    do extents.push_back(std::min(size, extent));
    while ((extent -= size) > 0);
    return extents;
}

std::vector<std::int64_t> so_many_parts(std::int64_t extent, std::int64_t count) {
    check(count > 0, "chunk: {} parts, wanted at least one", count);
    if (extent == 0) return std::vector<std::int64_t>(static_cast<std::size_t>(count));
    return parts_of_size(extent, (extent + count - 1) / count);
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

namespace {

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

}  // namespace

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

template Tensor part_of(const Tensor&, int, std::int64_t, std::int64_t, Where);
template Variable part_of(const Variable&, int, std::int64_t, std::int64_t, Where);
template std::vector<Tensor> parts_of(const Tensor&, const std::vector<std::int64_t>&, int, Where);
template std::vector<Variable> parts_of(const Variable&, const std::vector<std::int64_t>&, int, Where);
template Tensor select_of(const Tensor&, int, std::int64_t, Where);
template Variable select_of(const Variable&, int, std::int64_t, Where);
template Tensor indexed(const Tensor&, std::span<const Index>, Where);
template Variable indexed(const Variable&, std::span<const Index>, Where);

}  // namespace heddle::members
