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

/// The base of Tensor and of Variable, each with its own results: the members of a Variable are recorded by the tape, those of a
/// Tensor compute alone. autograd/ops.h has the functions with their formulas and errors, and autograd/members.cpp calls them.
template <class Self>
class Members {
  public:
    // ---- the shape; a Tensor's results share its memory
    std::int64_t size(int axis) const { return self().shape()[axis]; }
    const Shape& sizes() const { return self().shape(); }
    int ndim() const { return self().shape().rank(); }
    bool is_cuda() const { return self().device() == Device::cuda; }
    /// One extent may be -1: the one that takes all elements.
    Self reshape(const NewShape& shape, Where where = Where::current()) const;
    template <std::integral First, std::integral... Rest>  // First is deduced, so that {} is the shape of a scalar
    Self reshape(First first, Rest... rest) const {
        return reshape(NewShape{static_cast<std::int64_t>(first), static_cast<std::int64_t>(rest)...});
    }
    Self view(const NewShape& shape, Where where = Where::current()) const;
    template <std::integral First, std::integral... Rest>  // First is deduced, so that {} is the shape of a scalar
    Self view(First first, Rest... rest) const {
        return view(NewShape{static_cast<std::int64_t>(first), static_cast<std::int64_t>(rest)...});
    }
    Self flatten(int first = 0, int last = -1, Where where = Where::current()) const;
    /// Without the axis, which has extent 1, or without all axes that have.
    Self squeeze(const std::optional<int>& axis = {}, Where where = Where::current()) const;
    Self unsqueeze(int axis, Where where = Where::current()) const;

    // ---- other places
    Self permute(std::initializer_list<int> axes, Where where = Where::current()) const;
    Self transpose(int a, int b, Where where = Where::current()) const;
    /// A matrix transposed; a vector as it is. Error when there are more axes.
    Self t(Where where = Where::current()) const;
    Self T(Where where = Where::current()) const { return t(where); }
    /// The last two axes exchanged.
    Self mT(Where where = Where::current()) const { return transpose(-2, -1, where); }
    Self expand(const NewShape& shape, Where where = Where::current()) const;
    Self expand_as(const Variable& other, Where where = Where::current()) const;
    Self repeat(std::initializer_list<std::int64_t> times, Where where = Where::current()) const;
    Self flip(const Axes& axes, Where where = Where::current()) const;
    Self roll(std::int64_t by, const std::optional<int>& axis = {}, Where where = Where::current()) const;
    Self tril(std::int64_t diagonal = 0, Where where = Where::current()) const;
    Self triu(std::int64_t diagonal = 0, Where where = Where::current()) const;
    Self masked_fill(const Tensor& mask, double value, Where where = Where::current()) const;

    // ---- parts; negative places count from the end
    /// Element `place` of the first axis, without this axis.
    Self operator[](std::int64_t place) const { return select(0, place); }
    /// The element, or the part, at these places of the first axes.
    Self operator[](std::initializer_list<std::int64_t> places) const;
    /// The rows with these numbers, i32, or with a mask u8 of x's shape (or of its first axes) the elements where it holds.
    Self operator[](const Tensor& rows_or_mask) const;
    /// Elements [begin, end) of the first axis, or of `axis`.
    Self slice(std::int64_t begin, std::int64_t end) const { return slice(0, begin, end); }
    Self slice(std::int64_t begin) const { return slice(0, begin, size(0)); }
    Self slice(int axis, std::int64_t begin, std::int64_t end, Where where = Where::current()) const;
    Self narrow(int axis, std::int64_t begin, std::int64_t count, Where where = Where::current()) const;
    Self select(int axis, std::int64_t place, Where where = Where::current()) const;
    /// x.index({Slice(), 0}), as x[:, 0] in Python (core/index.h). A copy where more than leading numbers are asked for.
    Self index(std::initializer_list<Index> places, Where where = Where::current()) const;
    Self index_select(int axis, const Tensor& indices, Where where = Where::current()) const;
    /// As gather(x, axis, indices): y[i][j] = x[i][indices[i][j]] for axis 1.
    Self gather(int axis, const Tensor& indices, Where where = Where::current()) const;
    std::vector<Self> split(std::int64_t size, int axis = 0, Where where = Where::current()) const;
    std::vector<Self> split(std::initializer_list<std::int64_t> sizes, int axis = 0, Where where = Where::current()) const;
    std::vector<Self> chunk(std::int64_t parts, int axis = 0, Where where = Where::current()) const;
    std::vector<Self> unbind(int axis = 0, Where where = Where::current()) const;

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
