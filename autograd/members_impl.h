// The parts and places of a tensor behind its members, for members.cpp.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "autograd/ops.h"
#include "core/check.h"
#include "core/format.h"
#include "core/index.h"

namespace heddle::members {

/// The result of an op as the type whose member it is. A tensor's member records nothing: error when an operand requires a
/// gradient and grad mode is on.
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

/// Elements [begin, end) of an axis. Those of a Tensor that lie in one piece are a view.
template <class Self>
Self part_of(const Self& x, int axis, std::int64_t begin, std::int64_t end, Where where);

/// Parts of these extents, one behind the other; error unless they cover the axis.
template <class Self>
std::vector<Self> parts_of(const Self& x, const std::vector<std::int64_t>& extents, int axis, Where where);

/// The extents of parts of `size` places, the last one perhaps shorter. An empty axis has one empty part.
std::vector<std::int64_t> parts_of_size(std::int64_t extent, std::int64_t size);
/// The extents of up to `count` parts of one size, the last one perhaps shorter. An empty axis has `count` empty parts.
std::vector<std::int64_t> so_many_parts(std::int64_t extent, std::int64_t count);

/// One place of an axis, which goes.
template <class Self>
Self select_of(const Self& x, int axis, std::int64_t place, Where where);

/// x.index(places).
template <class Self>
Self indexed(const Self& x, std::span<const Index> places, Where where);

/// Writes `value`, which is broadcast, to whole.index(places), whatever the places are.
void put(Tensor& whole, std::span<const Index> places, const Tensor& value, Where where);

}  // namespace heddle::members
