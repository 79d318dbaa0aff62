// The ops as members of Tensor and Variable: x.sum(1) is sum(x, 1).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/axes.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "core/where.h"

namespace heddle {

class Tensor;
class Variable;
class Index;

/// One number among the arguments of a member, with the line of the call. It is for members that have no room for a last
/// parameter `where`.
struct PlaceArgument {
    template <std::integral Number>
    PlaceArgument(Number number, Where at = Where::current()) : place(static_cast<std::int64_t>(number)), where(at) {}  // NOLINT

    std::int64_t place;
    Where where;
};
/// Likewise a tensor, which the call keeps alive.
struct TensorArgument {
    TensorArgument(const Tensor& argument, Where at = Where::current()) : tensor(argument), where(at) {}  // NOLINT

    const Tensor& tensor;
    Where where;
};

/// The base of Tensor and of Variable, each with its own results: the members of a Variable are recorded by the tape, those of a
/// Tensor compute alone, and an operand that requires a gradient is an Error. autograd/ops.h has the functions with their
/// formulas and errors, and autograd/members.cpp calls them.
///
/// Results that have the elements of x in another shape or order are const, so that an assignment to a part of a copy, as in
/// x.select(1, 0) = y, does not compile. x[0] = y, x[mask] = y, x.index({...}) = y and x.slice(0, 2).fill_(1) write into a Tensor
/// x (core/tensor.h).
template <class Self>
class Members {
  public:
    // ---- the shape; the results share the memory of x
    std::int64_t size(int axis) const { return self().shape()[axis]; }
    const Shape& sizes() const { return self().shape(); }
    int ndim() const { return self().shape().rank(); }
    bool is_cuda() const { return self().device() == Device::cuda; }
    /// One extent may be -1, and follows from the number of elements. Error when the shape has another number of elements.
    const Self reshape(const NewShape& shape, Where where = Where::current()) const;
    template <std::integral... Rest>
    const Self reshape(const PlaceArgument& first, Rest... rest) const {
        return reshape(NewShape{first.place, static_cast<std::int64_t>(rest)...}, first.where);
    }
    /// PyTorch's name of reshape.
    const Self view(const NewShape& shape, Where where = Where::current()) const { return reshape(shape, where); }
    template <std::integral... Rest>
    const Self view(const PlaceArgument& first, Rest... rest) const {
        return reshape(NewShape{first.place, static_cast<std::int64_t>(rest)...}, first.where);
    }
    const Self flatten(int first = 0, int last = -1, Where where = Where::current()) const;
    /// Without the axis, which has extent 1, or without all axes that have.
    const Self squeeze(const std::optional<int>& axis = {}, Where where = Where::current()) const;
    const Self unsqueeze(int axis, Where where = Where::current()) const;

    // ---- other places. The results of repeat, flip, roll, tril, triu and masked_fill are copies. The others are copies, too,
    // unless no element changes its place: then they may share the memory of x.
    const Self permute(std::initializer_list<int> axes, Where where = Where::current()) const;
    const Self transpose(int a, int b, Where where = Where::current()) const;
    /// A matrix transposed; a vector as it is. Error when there are more axes.
    const Self t(Where where = Where::current()) const;
    const Self T(Where where = Where::current()) const { return t(where); }
    /// The last two axes exchanged.
    const Self mT(Where where = Where::current()) const { return transpose(-2, -1, where); }
    const Self expand(const NewShape& shape, Where where = Where::current()) const;
    const Self expand_as(const Variable& other, Where where = Where::current()) const;
    const Self repeat(std::initializer_list<std::int64_t> times, Where where = Where::current()) const;
    const Self flip(const Axes& axes, Where where = Where::current()) const;
    const Self roll(std::int64_t by, const std::optional<int>& axis = {}, Where where = Where::current()) const;
    const Self tril(std::int64_t diagonal = 0, Where where = Where::current()) const;
    const Self triu(std::int64_t diagonal = 0, Where where = Where::current()) const;
    const Self masked_fill(const Tensor& mask, double value, Where where = Where::current()) const;

    // ---- parts; negative places count from the end. A Tensor's part that lies in one piece of its memory, as parts of the first
    // axis do, shares this memory; other parts are copies. Parts of a Variable that requires a gradient are copies.
    /// Element `place` of the first axis, without this axis. Error when there is no such place.
    const Self operator[](const PlaceArgument& place) const { return select(0, place.place, place.where); }
    /// The element, or the part, at these places of the first axes. Error when there is no such place, or not as many axes.
    const Self operator[](std::initializer_list<PlaceArgument> places) const;
    /// As index({rows_or_mask}): the rows with these numbers, i32, or the elements where a mask u8 holds. A copy.
    const Self operator[](const TensorArgument& rows_or_mask) const;
    /// Elements [begin, end) of the first axis, or of `axis`. Error unless 0 <= begin <= end <= extent.
    const Self slice(std::int64_t begin, std::int64_t end, Where where = Where::current()) const {
        return slice(0, begin, end, where);
    }
    const Self slice(const PlaceArgument& begin) const { return slice(0, begin.place, size(0), begin.where); }
    const Self slice(int axis, std::int64_t begin, std::int64_t end, Where where = Where::current()) const;
    /// Elements [begin, begin + count) of the axis. Error unless it has them.
    const Self narrow(int axis, std::int64_t begin, std::int64_t count, Where where = Where::current()) const;
    /// Element `place` of the axis, without this axis. Error when there is no such place.
    const Self select(int axis, std::int64_t place, Where where = Where::current()) const;
    /// x.index({Slice(), 0}), as x[:, 0] in Python (core/index.h). One tensor i32 of numbers takes the place of its axis with its
    /// shape. Several are broadcast and name one element by one number each, as in PyTorch: x.index({rows, cols}) has the element
    /// x[rows[k]][cols[k]] at k. They take the place of their axes when these are neighbours, else the front. A mask u8 [...]
    /// stands for as many axes as it has, and gives one with the elements where it holds. Error when a number lies outside its
    /// axis, a mask has another shape than its axes, a mask stands beside another tensor, the tensors do not broadcast, or more
    /// places are named than x has axes. On CUDA the host waits for masks and for several tensors.
    const Self index(std::initializer_list<Index> places, Where where = Where::current()) const;
    const Self index_select(int axis, const Tensor& indices, Where where = Where::current()) const;
    /// As gather(x, axis, indices): y[i][j] = x[i][indices[i][j]] for axis 1.
    const Self gather(int axis, const Tensor& indices, Where where = Where::current()) const;
    const std::vector<Self> split(std::int64_t size, int axis = 0, Where where = Where::current()) const;
    const std::vector<Self> split(std::initializer_list<std::int64_t> sizes, int axis = 0, Where where = Where::current()) const;
    const std::vector<Self> chunk(std::int64_t parts, int axis = 0, Where where = Where::current()) const;
    const std::vector<Self> unbind(int axis = 0, Where where = Where::current()) const;

    // ---- element by element
    Self add(const Variable& other, Where where = Where::current()) const;
    Self add(double other, Where where = Where::current()) const;
    Self sub(const Variable& other, Where where = Where::current()) const;
    Self sub(double other, Where where = Where::current()) const;
    Self mul(const Variable& other, Where where = Where::current()) const;
    Self mul(double other, Where where = Where::current()) const;
    Self div(const Variable& other, Where where = Where::current()) const;
    Self div(double other, Where where = Where::current()) const;
    Self pow(double exponent, Where where = Where::current()) const;
    Self maximum(const Variable& other, Where where = Where::current()) const;
    Self minimum(const Variable& other, Where where = Where::current()) const;
    Self clamp(double low, double high, Where where = Where::current()) const;
    Self clamp_min(double low, Where where = Where::current()) const;
    Self clamp_max(double high, Where where = Where::current()) const;
    Self neg(Where where = Where::current()) const;
    Self exp(Where where = Where::current()) const;
    Self expm1(Where where = Where::current()) const;
    Self log(Where where = Where::current()) const;
    Self log1p(Where where = Where::current()) const;
    Self sqrt(Where where = Where::current()) const;
    Self rsqrt(Where where = Where::current()) const;
    Self square(Where where = Where::current()) const;
    Self abs(Where where = Where::current()) const;
    Self sign(Where where = Where::current()) const;
    Self sin(Where where = Where::current()) const;
    Self cos(Where where = Where::current()) const;
    Self tanh(Where where = Where::current()) const;
    Self sigmoid(Where where = Where::current()) const;
    Self softplus(Where where = Where::current()) const;
    Self erf(Where where = Where::current()) const;
    Self relu(Where where = Where::current()) const;
    Self gelu(bool tanh_form = false, Where where = Where::current()) const;
    Self silu(Where where = Where::current()) const;

    // ---- reductions and products
    Self sum(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self mean(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self max(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self min(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self amax(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const { return max(axes, keep, where); }
    Self amin(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const { return min(axes, keep, where); }
    Self prod(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self var(const Axes& axes = {}, bool keep = false, double correction = 1, Where where = Where::current()) const;
    Self std(const Axes& axes = {}, bool keep = false, double correction = 1, Where where = Where::current()) const;
    Self norm(const Axes& axes = {}, bool keep = false, double p = 2, Where where = Where::current()) const;
    Self logsumexp(const Axes& axes = {}, bool keep = false, Where where = Where::current()) const;
    Self cumsum(int axis, Where where = Where::current()) const;
    Tensor argmax(const std::optional<int>& axis = {}, bool keep = false) const;
    Tensor argmin(const std::optional<int>& axis = {}, bool keep = false) const;
    Tensor any(const Axes& axes = {}, bool keep = false) const;
    Tensor all(const Axes& axes = {}, bool keep = false) const;
    Self softmax(int axis, Where where = Where::current()) const;
    Self log_softmax(int axis, Where where = Where::current()) const;
    Self matmul(const Variable& other, Where where = Where::current()) const;
    Self mm(const Variable& other, Where where = Where::current()) const { return matmul(other, where); }

    // ---- other types and memory
    /// Converted to `dtype`; the gradient is converted back.
    Self to(DType dtype, Where where = Where::current()) const;
    /// Moved to `device`, and the gradient back.
    Self to(Device device, Where where = Where::current()) const;
    Self clone(Where where = Where::current()) const;
    /// The same handle: all tensors are contiguous.
    Self contiguous() const { return self(); }

  private:
    const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace heddle
