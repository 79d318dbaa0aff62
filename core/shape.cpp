#include "core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "core/axes.h"
#include "core/format.h"

namespace heddle {

Shape::Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
    for (const std::int64_t extent : extents) append(extent);
}

void Shape::append(std::int64_t extent) {
    check(extent >= 0, "shape: an extent is {}, but extents are at least 0", extent);
    check(rank_ < kMaxRank, "shape: more than {} axes", kMaxRank);
    extents_[static_cast<std::size_t>(rank_++)] = extent;
}

void Shape::set(int axis, std::int64_t extent) {
    check(extent >= 0, "shape: an extent is {}, but extents are at least 0", extent);
    extents_[static_cast<std::size_t>(index(axis))] = extent;
}

std::int64_t Shape::numel() const { return product(rank_); }

std::int64_t Shape::rows() const { return product(std::max(0, rank_ - 1)); }

std::int64_t Shape::product(int axes) const {
    std::int64_t product = 1;
    for (int axis = 0; axis < axes; ++axis) {
        const std::int64_t extent = extents_[static_cast<std::size_t>(axis)];
        if (extent == 0) return 0;  // even if the product of the other extents would overflow
        if (__builtin_mul_overflow(product, extent, &product)) product = -1;
    }
    check(product >= 0, "shape: {} has more elements than 64 bits can count", *this);
    return product;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(extents_.begin(), extents_.begin() + rank_, ", ")); }

NewShape::NewShape(std::span<const std::int64_t> extents) : rank_(extents.size()) {
    check(rank_ <= Shape::kMaxRank, "shape: more than {} axes", Shape::kMaxRank);
    std::copy(extents.begin(), extents.end(), extents_.begin());
    for (const std::int64_t extent : extents)
        check(extent >= -1, "shape: an extent is {} in {}, wanted at least 0, or -1", extent, str());
}

std::string NewShape::str() const {
    return fmt::format("[{}]", fmt::join(extents_.begin(), extents_.begin() + static_cast<std::ptrdiff_t>(rank_), ", "));
}

Shape NewShape::holding(std::int64_t numel, const char* op, const Shape& from) const {
    Shape shape;
    int open = -1;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
        check(extents_[axis] >= 0 || open < 0, "{}: {} leaves more than one extent open", op, str());
        if (extents_[axis] < 0) open = static_cast<int>(axis);
        shape.append(extents_[axis] < 0 ? 1 : extents_[axis]);
    }
    const std::int64_t others = shape.numel();
    if (open >= 0) {
        check(others > 0 && numel % others == 0, "{}: {} has {} elements, which {} cannot hold", op, from, numel, str());
        shape.set(open, numel / others);
    }
    check(shape.numel() == numel, "{}: {} has {} elements, but {} has {}", op, from, numel, shape, shape.numel());
    return shape;
}

Shape NewShape::keeping(const Shape& x, const char* op) const {
    Shape shape;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
        const int there = static_cast<int>(axis) - static_cast<int>(rank_) + x.rank();
        check(extents_[axis] >= 0 || there >= 0, "{}: -1 in {} keeps an extent, but {} has no such axis", op, str(), x);
        shape.append(extents_[axis] < 0 ? x[there] : extents_[axis]);
    }
    return shape;
}

int counted_axis(const char* op, const Shape& shape, int axis, int more) {
    const int axes = shape.rank() + more, at = axis < 0 ? axis + axes : axis;
    check(at >= 0 && at < axes, "{}: shape {} has no axis {}", op, shape, axis);
    return at;
}

std::vector<int> counted_axes(const char* op, const Shape& shape, const Axes& axes) {
    std::vector<int> counted;
    for (int axis = 0; axes.all() && axis < shape.rank(); ++axis) counted.push_back(axis);
    for (const int axis : axes.list()) {
        const int at = counted_axis(op, shape, axis);
        check(std::find(counted.begin(), counted.end(), at) == counted.end(), "{}: axis {} is named twice", op, axis);
        counted.push_back(at);
    }
    return counted;
}

int Shape::index(int axis) const {
    const int at = axis < 0 ? axis + rank_ : axis;
    check(at >= 0 && at < rank_, "shape: axis {} of {}, which has {} axes", axis, *this, rank_);
    return at;
}

bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(a.rank_); ++axis)
        if (a.extents_[axis] != b.extents_[axis]) return false;
    return true;
}

}  // namespace heddle
