// The extents of a tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace heddle {

/// Up to eight extents, outermost first. A shape of rank 0 is a scalar.
class Shape {
  public:
    static constexpr int kMaxRank = 8;

    Shape() = default;
    Shape(std::initializer_list<std::int64_t> extents);
    explicit Shape(std::span<const std::int64_t> extents);

    int rank() const { return rank_; }
    /// The extents, for loops: `for (const std::int64_t extent : x.shape())`.
    const std::int64_t* begin() const { return extents_.data(); }
    const std::int64_t* end() const { return extents_.data() + rank_; }
    std::size_t size() const { return static_cast<std::size_t>(rank_); }
    /// The extent of `axis`; negative axes count from the end. Error when there is no such axis.
    std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(index(axis))]; }
    /// Error when there is no such axis or the extent is negative.
    void set(int axis, std::int64_t extent);
    void append(std::int64_t extent);
    /// The product of all extents; 1 for a scalar. Error if it exceeds 64 bits.
    std::int64_t numel() const;
    /// The last extent; 1 for a scalar.
    std::int64_t cols() const { return rank_ == 0 ? 1 : extents_[static_cast<std::size_t>(rank_ - 1)]; }
    /// The product of all extents but the last.
    std::int64_t rows() const;
    /// "[32, 10, 256]"
    std::string str() const;

    friend bool operator==(const Shape& a, const Shape& b);

  private:
    int index(int axis) const;
    std::int64_t product(int axes) const;

    std::array<std::int64_t, kMaxRank> extents_{};
    int rank_ = 0;
};

/// The axis counted from the front; negative ones count from the end. `more`: this many axes come to those of the shape, as in
/// the result of unsqueeze. Error that names `op` when there is no such axis.
int counted_axis(const char* op, const Shape& shape, int axis, int more = 0);

/// A shape that is asked for, in which -1 may stand for an extent that follows from the tensor: reshape(x, {2, -1}).
class NewShape {
  public:
    NewShape(const Shape& shape) : NewShape(std::span(shape.begin(), shape.size())) {}  // NOLINT: a shape without -1
    NewShape(std::initializer_list<std::int64_t> extents) : NewShape(std::span(extents.begin(), extents.size())) {}
    explicit NewShape(std::span<const std::int64_t> extents);

    /// The shape of `numel` elements. Error that names `op` and `from` when there is none, or more than one -1.
    Shape holding(std::int64_t numel, const char* op, const Shape& from) const;
    /// The shape in which -1 keeps the extent of `x`; both end at their last axes. Error that names `op` when x has no such axis.
    Shape keeping(const Shape& x, const char* op) const;

  private:
    std::string str() const;

    std::array<std::int64_t, Shape::kMaxRank> extents_{};
    std::size_t rank_ = 0;
};

}  // namespace heddle
