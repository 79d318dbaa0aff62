// Translating, generating and scoring as functions of namespace heddle, and the forms that a program's own code likes to call:
// tensors from numbers, names of PyTorch and MLX for parts, and functions made of a few ops. The ops themselves are functions of
// namespace heddle, too: ops is an inline namespace (autograd/ops.h).
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/operators.h"
#include "autograd/ops.h"
#include "core/index.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"

namespace heddle {

using nn::generate;
using nn::score;
using nn::translate;

// ---- tensors

/// Error when a row of a written tensor has another length than the first.
void check_row_length(std::int64_t length, std::int64_t first);

/// The type of a tensor that is written as numbers: f32 for floating-point ones, i32 for integers, u8 for bool.
template <class Number>
inline constexpr DType written_dtype = std::is_floating_point_v<Number> ? DType::f32 : stored_dtype<Number>();

/// tensor(3.5), tensor({1, 2, 3}), tensor({{1.0, 2.0}, {3.0, 4.0}}): numbers as a tensor, f32, i32 or u8 (for bool), or of
/// `dtype`. Fractions are cut off for an integer dtype. Error when the rows differ in length, or a number does not fit into an
/// integer dtype.
template <class Number>
requires std::is_arithmetic_v<Number>
inline Tensor tensor(Number number, std::optional<DType> dtype = {}) {
    return Tensor::from({number}, Shape(), dtype.value_or(written_dtype<Number>));
}
template <class Number>
requires std::is_arithmetic_v<Number>
inline Tensor tensor(std::initializer_list<Number> numbers, std::optional<DType> dtype = {}) {
    return Tensor::from(numbers, {std::ssize(numbers)}, dtype.value_or(written_dtype<Number>));
}
template <class Number>
requires std::is_arithmetic_v<Number>
inline Tensor tensor(std::initializer_list<std::initializer_list<Number>> rows, std::optional<DType> dtype = {}) {
    std::vector<Number> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    const auto count = static_cast<std::int64_t>(rows.size()), length = count == 0 ? 0 : std::ssize(*rows.begin());
    for (const auto& row : rows) check_row_length(std::ssize(row), length);
    return Tensor::from(all, {count, length}, dtype.value_or(written_dtype<Number>));
}

/// Tensors with the shape, the dtype and the device of `x`.
inline Tensor zeros_like(const Variable& x) { return Tensor::zeros_like(x.value()); }
inline Tensor ones_like(const Variable& x) { return Tensor::ones_like(x.value()); }
inline Tensor full_like(const Variable& x, double value) { return Tensor::full_like(x.value(), value); }
inline Tensor rand_like(const Variable& x, const RandomSource& source = {}) {
    return Tensor::rand(x.shape(), source, x.dtype(), x.device());
}
inline Tensor randn_like(const Variable& x, const RandomSource& source = {}) {
    return Tensor::randn(x.shape(), source, x.dtype(), x.device());
}
inline Tensor bernoulli(const Variable& probabilities, const RandomSource& source = {}) {
    return Tensor::bernoulli(probabilities.value(), source);
}

/// Whether both have one shape and equal elements, or elements with |a - b| <= absolute + relative |b|. A NaN equals nothing.
bool equal(const Variable& a, const Variable& b);
bool allclose(const Variable& a, const Variable& b, double relative = 1e-5, double absolute = 1e-8);
/// Masks u8.
Tensor isnan(const Variable& x);
Tensor isinf(const Variable& x);
Tensor isfinite(const Variable& x);

// ---- parts and places

/// ops::permute and ops::concat with initializer lists: permute(x, {1, 0, 2}), concat({a, b}, 0). cat is PyTorch's name.
inline Variable permute(const Variable& x, std::initializer_list<int> axes, Where where = Where::current()) {
    return ops::permute(x, std::span<const int>(axes.begin(), axes.size()), where);
}
inline Variable concat(std::initializer_list<Variable> parts, int axis = 0, Where where = Where::current()) {
    return ops::concat(std::span<const Variable>(parts.begin(), parts.size()), axis, where);
}
inline Variable cat(std::span<const Variable> parts, int axis = 0, Where where = Where::current()) {
    return ops::concat(parts, axis, where);
}
inline Variable cat(std::initializer_list<Variable> parts, int axis = 0, Where where = Where::current()) {
    return ops::concat(std::span<const Variable>(parts.begin(), parts.size()), axis, where);
}
inline Variable swapaxes(const Variable& x, int a, int b, Where where = Where::current()) {
    return ops::transpose(x, a, b, where);
}
/// Axis `from` at the place `to`, the others in their order; any dtype, negative axes count from the end. Error when x has no
/// such axis.
Variable movedim(const Variable& x, int from, int to, Where where = Where::current());
/// Axis `axis` as several of these extents, one of which may be -1; any dtype. Error when x has no such axis, or the extents have
/// another product than that of the axis.
Variable unflatten(const Variable& x, int axis, std::initializer_list<std::int64_t> extents, Where where = Where::current());
/// MLX's names of index_select and gather along an axis.
inline Variable take(const Variable& x, const Tensor& indices, int axis, Where where = Where::current()) {
    return ops::index_select(x, axis, indices, where);
}
inline Variable take_along_axis(const Variable& x, const Tensor& indices, int axis, Where where = Where::current()) {
    return ops::gather(x, axis, indices, where);
}
/// A copy of the elements in one row where the mask u8 holds, which has the shape of x, in the dtype of x. Error when it has
/// another dtype or shape. On CUDA the host waits.
Variable masked_select(const Variable& x, const Tensor& mask, Where where = Where::current());
/// The matrix [n, n] with the vector x [n] on its diagonal and zeros elsewhere, or the diagonal [min(rows, cols)] of the matrix
/// x; any dtype, integers without a gradient. Error when x is neither.
Variable diag(const Variable& x, Where where = Where::current());
/// With so many places of `value` before and behind an axis: pairs for the last axis, the last but one, and so on, as in PyTorch;
/// any dtype that holds `value`. Error for an odd count, a negative number, or more pairs than x has axes.
Variable pad(const Variable& x, std::initializer_list<std::int64_t> before_and_behind, double value = 0,
             Where where = Where::current());

/// The places of a grid, two Variables [n, m] for a [n] and b [m], each with its dtype: the numbers of `a` down the columns, and
/// those of `b` along the rows (indexing="ij" in PyTorch and NumPy). Error unless both are vectors.
std::vector<Variable> meshgrid(const Variable& a, const Variable& b, Where where = Where::current());
/// i32 [n]: how often each of 0, 1, ..., n - 1 occurs; n is `least`, or more when a number asks for it. On CUDA the host waits.
Tensor bincount(const Tensor& numbers, std::int64_t least = 0);

/// The numbers along an axis in order, and the places i32 that they come from; equal ones keep their order, and a NaN goes behind
/// all numbers. Both have x's shape, the values its dtype; integers have no gradient. The host sorts them: on CUDA it waits for
/// them. Error when x has no such axis, or more elements than i32 counts.
struct Sorted {
    Variable values;
    Tensor indices;
};
Sorted sort(const Variable& x, int axis = -1, bool descending = false, Where where = Where::current());
Tensor argsort(const Variable& x, int axis = -1, bool descending = false);
/// The k largest, falling: the axis has the extent k in both. Error when the axis has fewer.
Sorted topk(const Variable& x, std::int64_t k, int axis = -1, Where where = Where::current());

// ---- functions

/// PyTorch's names of maximum and minimum of two Variables.
inline Variable max(const Variable& a, const Variable& b, Where where = Where::current()) { return ops::maximum(a, b, where); }
inline Variable min(const Variable& a, const Variable& b, Where where = Where::current()) { return ops::minimum(a, b, where); }
/// One of two numbers for each element of the mask u8, f32.
template <class First, class Second>
requires(std::is_arithmetic_v<First>&& std::is_arithmetic_v<Second>) Tensor
    where(const Tensor& condition, First a, Second b, Where where = Where::current()) {
    return ops::where(condition, Tensor::full({}, static_cast<double>(a), DType::f32, condition.device()), static_cast<double>(b),
                      where)
        .value();
}
inline Variable reciprocal(const Variable& x, Where where = Where::current()) { return Operand(1, where) / x; }
Variable log2(const Variable& x, Where where = Where::current());
Variable log10(const Variable& x, Where where = Where::current());
Variable tan(const Variable& x, Where where = Where::current());
Variable sinh(const Variable& x, Where where = Where::current());
Variable cosh(const Variable& x, Where where = Where::current());
/// x where it is positive, else slope x, or alpha (e^x - 1); the gradient at 0 is that of the other side.
Variable leaky_relu(const Variable& x, double slope = 0.01, Where where = Where::current());
Variable elu(const Variable& x, double alpha = 1, Where where = Where::current());
/// ln(1 / (1 + e^-x))
Variable log_sigmoid(const Variable& x, Where where = Where::current());
/// a + weight (b - a), and b itself for the weight 1.
Variable lerp(const Variable& a, const Variable& b, double weight, Where where = Where::current());
/// ln(e^a + e^b), without overflow; infinity when one of them is, -infinity when both are. The two broadcast.
Variable logaddexp(const Variable& a, const Variable& b, Where where = Where::current());
/// x / max(|x|, eps), with the norm along `axis`; numbers whose squares are beyond the dtype give it, too.
Variable normalize(const Variable& x, int axis = 1, double eps = 1e-12, Where where = Where::current());
/// The sum of normalize(a) normalize(b) along `axis`, as in PyTorch; the two broadcast.
Variable cosine_similarity(const Variable& a, const Variable& b, int axis = 1, double eps = 1e-8, Where where = Where::current());
/// PyTorch's names of products: a [batch, n, k] b [batch, k, m] gives [batch, n, m]; a [n, k] b [k, m] gives [n, m]; a [n, k] x
/// [k] gives [n]; a [n] b [n] gives a scalar. Error when the arguments have other numbers of axes, the extents do not fit or the
/// batches differ: these do not broadcast, as matmul does.
Variable bmm(const Variable& a, const Variable& b, Where where = Where::current());
Variable mm(const Variable& a, const Variable& b, Where where = Where::current());
Variable mv(const Variable& a, const Variable& x, Where where = Where::current());
Variable dot(const Variable& a, const Variable& b, Where where = Where::current());
/// a_i b_j: [n, m] for vectors a [n] and b [m]. Error unless both are vectors.
Variable outer(const Variable& a, const Variable& b, Where where = Where::current());

/// einsum("bij,bjk->bik", {a, b}): sums of products over the letters that the result has not; without -> it has those that occur
/// once. One letter for each axis. Two operands at a time become a matrix product, from the left. Error when letters and
/// shapes do not fit, or an operand has a letter twice.
Variable einsum(const std::string& sum, const std::vector<Variable>& operands, Where where = Where::current());

/// Softmax(scale q k^T) v of tensors [..., time, width], where with `causal` a query sees no later key; scale is 1 /
/// sqrt(width). The last query stands beside the last key: with fewer queries than keys they are the newest ones, as in decoding
/// with a cache, while PyTorch's is_causal sets the first query beside the first key. ops::attention computes it in one pass for
/// packed rows, and keeps no scores.
Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value, bool causal = false,
                                      Where where = Where::current());

/// Dropout with the next key of the thread's generator (manual_seed); x itself unless `training`.
Variable dropout(const Variable& x, double probability, bool training = true, Where where = Where::current());

/// The rows of the table [vocabulary, d_model] for tokens i32 [...]: [..., d_model]. Error when a token lies outside the table.
Variable embedding(const Variable& table, const Tensor& tokens, Where where = Where::current());

// ---- learning

/// ops::cross_entropy with targets i32 [rows] given as a Variable.
inline Variable cross_entropy(const Variable& logits, const Variable& targets, const ops::LossOptions& options = {},
                              Where where = Where::current()) {
    return ops::cross_entropy(logits, targets.value(), options, nullptr, where);
}

/// The part of the rows of logits [..., classes] whose largest logit, the first of several equal ones, is that of the target;
/// targets i32 [...]. Error when the shapes do not fit or there are no rows.
double accuracy(const Variable& logits, const Tensor& targets);

/// The gradients of a one-element loss for these leaves, without adding to what they hold. Other leaves get theirs added, as by
/// backward. A leaf on which the loss does not depend gets zeros; one that is named twice gets its gradient in both places.
std::vector<Tensor> grad(const Variable& loss, const std::vector<Variable>& leaves);

/// MLX's transforms of a function of one Variable that gives a loss: its gradient, and its value with the gradient.
template <class Function>
requires std::is_invocable_r_v<Variable, Function&, const Variable&>
auto value_and_grad(Function function) {
    return [function = std::move(function)](const Variable& x) mutable {
        const Variable leaf(x.value(), true);
        const Variable loss = function(leaf);
        return std::pair(loss.detach(), grad(loss, {leaf}).front());
    };
}
template <class Function>
requires std::is_invocable_r_v<Variable, Function&, const Variable&>
auto grad(Function function) {
    return [both = value_and_grad(std::move(function))](const Variable& x) mutable { return both(x).second; };
}

/// Multiplies the gradients of these leaves by most / norm when their common norm is above `most`. Returns the norm before. A
/// leaf that is named twice counts once. An optimizer's option `clip` does this in its update.
double clip_grad_norm(const std::vector<Variable>& leaves, double most);

}  // namespace heddle
