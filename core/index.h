// Places in a tensor: x.index({Slice(1, 3), 0}) is x[1:3, 0] in Python.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "core/tensor.h"

namespace heddle {

/// A new axis of extent 1, or an open end of a Slice.
struct NoneIndex {};
inline constexpr NoneIndex None;
/// All axes that the other places do not name.
struct EllipsisIndex {};
inline constexpr EllipsisIndex Ellipsis;

/// Elements begin, begin + step, ... before `end` of an axis. Negative bounds count from the end, and bounds beyond it mean the
/// end, as in Python.
class Slice {
  public:
    /// One bound of a slice: a number or None.
    struct Bound {
        template <std::integral Number>
        Bound(Number place) : place(static_cast<std::int64_t>(place)) {}  // NOLINT
        Bound(NoneIndex) {}                                               // NOLINT

        static constexpr std::int64_t open = std::numeric_limits<std::int64_t>::max();
        std::int64_t place = open;
    };

    Slice(Bound begin = 0, Bound end = None, std::int64_t step = 1)  // NOLINT: Slice() is the whole axis
        : begin_(begin.place == Bound::open ? 0 : begin.place), end_(end.place), step_(step) {}

    /// The first place and one beyond the last in an axis of this extent.
    std::int64_t begin(std::int64_t extent) const { return within(begin_, extent); }
    std::int64_t end(std::int64_t extent) const { return within(end_, extent); }
    std::int64_t step() const { return step_; }

  private:
    static std::int64_t within(std::int64_t place, std::int64_t extent) {
        if (place < 0) return place + extent < 0 ? 0 : place + extent;
        return place < extent ? place : extent;
    }

    std::int64_t begin_, end_, step_;
};

/// One of the places of Members::index: a number, a Slice, None, Ellipsis, numbers i32 [n] or a mask u8.
class Index {
  public:
    enum class Kind : std::uint8_t { number, slice, none, ellipsis, tensor };

    template <std::integral Number>
    Index(Number number) : number_(static_cast<std::int64_t>(number)) {}   // NOLINT
    Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}       // NOLINT
    Index(NoneIndex) : kind_(Kind::none) {}                                // NOLINT
    Index(EllipsisIndex) : kind_(Kind::ellipsis) {}                        // NOLINT
    Index(const Tensor& tensor) : kind_(Kind::tensor), tensor_(tensor) {}  // NOLINT

    Kind kind() const { return kind_; }
    std::int64_t number() const { return number_; }
    const Slice& slice() const { return slice_; }
    const Tensor& tensor() const { return tensor_; }

  private:
    Kind kind_ = Kind::number;
    std::int64_t number_ = 0;
    Slice slice_;
    Tensor tensor_;
};

}  // namespace heddle
