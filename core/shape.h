// The extents of a tensor.
#pragma once

#include <array>
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

}  // namespace heddle
