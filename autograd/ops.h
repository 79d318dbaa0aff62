// The differentiable ops. Each stands in autograd/ops/<op>.cpp, calls the kernels of its folder below kernels/, where formula and
// proof stand, and records one node on the tape. Shapes are checked by the kernels; an error names the op, the argument and both
// shapes.
//
// The namespace is inline: ops::gelu is heddle::gelu, too.
//
// Every op takes the caller's source line as its last argument, so that anomaly mode and version errors can name it.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "autograd/tape.h"
#include "core/random.h"
#include "core/spans.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/softmax/softmax.h"

namespace heddle {
inline namespace ops {

// ---- composable, with broadcasting as NumPy defines it

Variable add(const Variable& a, const Variable& b, Where where = Where::current());
Variable sub(const Variable& a, const Variable& b, Where where = Where::current());
Variable mul(const Variable& a, const Variable& b, Where where = Where::current());
Variable div(const Variable& a, const Variable& b, Where where = Where::current());
/// a^b; where a is 0 and b >= 0 the exponent gets no gradient, and where b is 0 the base.
Variable pow(const Variable& a, const Variable& b, Where where = Where::current());
Variable pow(const Variable& x, double exponent, Where where = Where::current());
Variable pow(double a, const Variable& b, Where where = Where::current());
/// The larger or the smaller one; where they are equal each gets half of the gradient. A NaN of either side stays.
Variable maximum(const Variable& a, const Variable& b, Where where = Where::current());
Variable maximum(const Variable& a, double b, Where where = Where::current());
Variable minimum(const Variable& a, const Variable& b, Where where = Where::current());
Variable minimum(const Variable& a, double b, Where where = Where::current());
Variable neg(const Variable& x, Where where = Where::current());
Variable exp(const Variable& x, Where where = Where::current());
/// e^x - 1, exact near 0.
Variable expm1(const Variable& x, Where where = Where::current());
Variable log(const Variable& x, Where where = Where::current());
/// ln(1 + x), exact near 0.
Variable log1p(const Variable& x, Where where = Where::current());
Variable sqrt(const Variable& x, Where where = Where::current());
/// 1 / sqrt(x)
Variable rsqrt(const Variable& x, Where where = Where::current());
Variable square(const Variable& x, Where where = Where::current());
/// The gradient at 0 is 0.
Variable abs(const Variable& x, Where where = Where::current());
/// -1, 0 or 1; a NaN stays. Its gradient is 0.
Variable sign(const Variable& x, Where where = Where::current());
Variable sin(const Variable& x, Where where = Where::current());
Variable cos(const Variable& x, Where where = Where::current());
Variable tanh(const Variable& x, Where where = Where::current());
/// 1 / (1 + e^-x)
Variable sigmoid(const Variable& x, Where where = Where::current());
/// ln(1 + e^x)
Variable softplus(const Variable& x, Where where = Where::current());
Variable erf(const Variable& x, Where where = Where::current());
/// x within [low, high]; infinities are no bounds. Where x lies outside, it gets no gradient. Error when low > high or one is
/// NaN.
Variable clamp(const Variable& x, double low, double high, Where where = Where::current());
/// `condition` u8, true (nonzero) takes from `a`, false from `b`; all three broadcast.
Variable where(const Tensor& condition, const Variable& a, const Variable& b, Where where = Where::current());
Variable where(const Tensor& condition, const Variable& a, double b, Where where = Where::current());
Variable where(const Tensor& condition, double a, const Variable& b, Where where = Where::current());
/// factor * x
Variable scale(const Variable& x, double factor, Where where = Where::current());

/// Masks u8, 0 or 1, of masks u8 that broadcast (nonzero is true). autograd/operators.h compares numbers, and has the operators
/// &, |, ^ and ~.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& a);

/// Over one axis, several or all; they stay with extent 1 when `keep`. Integers and masks give i32 (and have no mean). `max` and
/// `min` send the gradient to the first of equal numbers, and a NaN goes before all numbers. Error when an axis is not there, and
/// for mean, max and min when nothing is reduced.
Variable sum(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
Variable mean(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
Variable max(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
Variable min(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
/// Where zeros are among them, the gradients are right, too.
Variable prod(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
/// The mean squared distance from the mean, with n - correction in place of n: 1 for a sample's, 0 as in layer norm. Error unless
/// n > correction.
Variable var(const Variable& x, const Axes& axes = {}, bool keep = false, double correction = 1, Where where = Where::current());
/// The root of var (torch.std, whose name a C++ program cannot call beside namespace std); its gradient is 0 where it is 0.
Variable stddev(const Variable& x, const Axes& axes = {}, bool keep = false, double correction = 1,
                Where where = Where::current());
/// (sum |x|^p)^(1/p), for infinity the largest |x|; its gradient is 0 where it is 0, and for p < 1 where x is 0. Error unless
/// p > 0.
Variable norm(const Variable& x, const Axes& axes = {}, bool keep = false, double p = 2, Where where = Where::current());
/// ln sum e^x, without overflow; -infinity, and no gradient, where all x are -infinity.
Variable logsumexp(const Variable& x, const Axes& axes = {}, bool keep = false, Where where = Where::current());
/// y[.., k, ..]: the sum of x[.., 0, ..] to x[.., k, ..].
Variable cumsum(const Variable& x, int axis, Where where = Where::current());
/// i32: the first place of the largest or smallest number along the axis, or in x as one row. A NaN goes before all numbers.
Tensor argmax(const Variable& x, const std::optional<int>& axis = {}, bool keep = false);
Tensor argmin(const Variable& x, const std::optional<int>& axis = {}, bool keep = false);
/// Masks u8: whether any, or all, elements of a mask u8 hold (are not 0) over the axes. Nothing holds of no element, and all.
Tensor any(const Tensor& mask, const Axes& axes = {}, bool keep = false);
Tensor all(const Tensor& mask, const Axes& axes = {}, bool keep = false);

// ---- shapes: what only moves elements

/// One extent may be -1: the one that takes all elements.
Variable reshape(const Variable& x, const NewShape& shape, Where where = Where::current());
/// Axis i of the result is axis axes[i] of x.
Variable permute(const Variable& x, std::span<const int> axes, Where where = Where::current());
/// Elements [begin, end) of `axis`; negative bounds count from the end.
Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end, Where where = Where::current());
Variable concat(std::span<const Variable> parts, int axis, Where where = Where::current());
/// Row indices[i] of x [rows, ...] for each i; indices i32 [n] may repeat.
Variable gather(const Variable& x, const Tensor& indices, Where where = Where::current());
/// y[i][j][k] = x[i][indices[i][j][k]][k], here with `axis` 1 (torch.gather). The indices i32 have x's shape but for the extent
/// of `axis`. On CUDA the host waits for them.
Variable gather(const Variable& x, int axis, const Tensor& indices, Where where = Where::current());
/// The places indices[i] of `axis`, i32 [n] that may repeat. Error for indices of another dtype or with more axes.
Variable index_select(const Variable& x, int axis, const Tensor& indices, Where where = Where::current());

/// Axes `a` and `b` change places; without them, the order of all axes is reversed.
Variable transpose(const Variable& x, int a, int b, Where where = Where::current());
Variable transpose(const Variable& x, Where where = Where::current());
/// The axes `first` to `last` as one.
Variable flatten(const Variable& x, int first = 0, int last = -1, Where where = Where::current());
/// Without these axes, or without any axis of extent 1. Error when an axis has another extent.
Variable squeeze(const Variable& x, const Axes& axes = {}, Where where = Where::current());
/// With a new axis of extent 1, which has the number `axis` in the result.
Variable unsqueeze(const Variable& x, int axis, Where where = Where::current());
/// The parts, of one shape, side by side along a new axis, which has the number `axis` in the result.
Variable stack(std::span<const Variable> parts, int axis = 0, Where where = Where::current());
Variable stack(std::initializer_list<Variable> parts, int axis = 0, Where where = Where::current());
/// Parts of `size` places of `axis`, the last one perhaps of fewer; an empty axis has one empty part. Or parts of these sizes,
/// which add up to its extent.
std::vector<Variable> split(const Variable& x, std::int64_t size, int axis = 0, Where where = Where::current());
std::vector<Variable> split(const Variable& x, const std::vector<std::int64_t>& sizes, int axis = 0,
                            Where where = Where::current());
/// Up to `count` parts of equal size, the last one perhaps smaller; of an empty axis `count` empty ones, as in PyTorch.
std::vector<Variable> chunk(const Variable& x, std::int64_t count, int axis = 0, Where where = Where::current());
/// The parts at the places of an axis, without it.
std::vector<Variable> unbind(const Variable& x, int axis = 0, Where where = Where::current());
/// x repeated to this shape as NumPy's broadcasting does it, where -1 keeps the extent; broadcast_to is its name in NumPy and
/// MLX.
Variable expand(const Variable& x, const NewShape& shape, Where where = Where::current());
inline Variable broadcast_to(const Variable& x, const NewShape& shape, Where where = Where::current()) {
    return expand(x, shape, where);
}
/// The whole of x so many times along each axis (NumPy's tile); there may be more axes than x has.
Variable repeat(const Variable& x, const Shape& times, Where where = Where::current());
inline Variable tile(const Variable& x, const Shape& times, Where where = Where::current()) { return repeat(x, times, where); }
/// Each place of `axis` so many times, one after the other (NumPy's and MLX's repeat); of the elements in one row without an
/// axis.
Variable repeat_interleave(const Variable& x, std::int64_t times, const std::optional<int>& axis = {},
                           Where where = Where::current());
/// Backwards along these axes.
Variable flip(const Variable& x, const Axes& axes = {}, Where where = Where::current());
/// Elements that leave the end of the axis come in at its beginning; without an axis those of x in one row.
Variable roll(const Variable& x, std::int64_t shift, const std::optional<int>& axis = {}, Where where = Where::current());
/// The lower or upper triangle of the last two axes, zeros elsewhere: columns up to, or from, row + diagonal.
Variable tril(const Variable& x, std::int64_t diagonal = 0, Where where = Where::current());
Variable triu(const Variable& x, std::int64_t diagonal = 0, Where where = Where::current());
/// `value` where the mask u8, which broadcasts to x's shape, is not 0.
Variable masked_fill(const Variable& x, const Tensor& mask, double value, Where where = Where::current());
/// [..., classes]: 1 at the place indices[...], i32, else 0. Error when an index is not in [0, classes); on CUDA it gives zeros.
Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype = DType::f32);

/// x with source[i][j] added at x[i][indices[i][j]], here for `axis` 1: the inverse of gather. The indices i32 and the source
/// have one shape, that of x but for the extent of `axis`; equal places add up.
Variable scatter_add(const Variable& x, int axis, const Tensor& indices, const Variable& source, Where where = Where::current());
/// i32 [n, rank]: the places of the n elements that are not 0, in ascending order. On CUDA the host waits for them.
Tensor nonzero(const Tensor& x);
/// Converted to another dtype, and the gradient back; integers have none.
Variable to(const Variable& x, DType dtype, Where where = Where::current());
/// Moved to a device, and the gradient back.
Variable to(const Variable& x, Device device, Where where = Where::current());
/// A copy of the elements.
Variable clone(const Variable& x, Where where = Where::current());

// ---- products

/// a [..., m, k] times b [..., k, n], each optionally transposed in its last two axes; the leading axes broadcast. A vector [k]
/// is a row on the left and a column on the right, and the result has no axis for it.
Variable matmul(const Variable& a, const Variable& b, bool transpose_a = false, bool transpose_b = false,
                Where where = Where::current());
/// x [..., in] times weight^T + bias; weight [out, in], bias [out] or undefined. Result [..., out].
Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {}, Where where = Where::current());

// ---- activations and dropout

using kernels::Activation;

Variable relu(const Variable& x, Where where = Where::current());
/// x Phi(x) with the error function, or with the tanh approximation (Hendrycks and Gimpel 2016, section 2).
Variable gelu(const Variable& x, bool tanh_form = false, Where where = Where::current());
/// x / (1 + exp(-x)), also called swish (the same paper, section 2; Elfwing et al. 2017).
Variable silu(const Variable& x, Where where = Where::current());
Variable dropout(const Variable& x, const DropoutMask& dropout, Where where = Where::current());
/// x + dropout(sublayer): the residual connection with the paper's residual dropout (section 5.4).
Variable residual(const Variable& x, const Variable& sublayer, const DropoutMask& dropout = {}, Where where = Where::current());

// ---- embedding

struct EmbeddingOptions {
    double scale = 1;                 ///< the paper's sqrt(d_model), section 3.4
    Variable positions = {};          ///< [positions, d_model]: a learned or a fixed table, or undefined
    std::int64_t first_position = 0;  ///< the position of each span's first row; decoding with a cache continues from here
    DropoutMask dropout = {};
    Tensor order = {};  ///< kernels::rows_by_token() of tokens and spans, i32 [2, rows] beside the tokens: spares CUDA a sort
    std::int32_t untrained = -1;  ///< lookups of this token give the table no gradient (PyTorch's padding_idx); -1: of none
};
/// Row i: dropout(scale * table[tokens[i]] + positions[first_position + i - start of i's span]). table [vocabulary, d_model],
/// tokens i32 [rows]. Rows outside the spans become zero. Error when a token or a position lies outside its table.
Variable embedding(const Variable& table, const Tensor& tokens, const Spans& spans, const EmbeddingOptions& options = {},
                   Where where = Where::current());

// ---- softmax and normalisation

using kernels::SoftmaxReach;

/// The scores that softmax normalises: scale x + bias.
struct SoftmaxScores {
    double scale = 1;
    Variable bias = {};  ///< of the shape of x's last axes, one or more; or undefined
};
/// Over the last axis of scale x + bias. `mask` u8 with x's shape, or the shape of its last two axes, or undefined; true = may
/// attend. A fully masked row gives zeros and zero gradients. `reach`: key lengths and the causal rule
/// (kernels/softmax/softmax.h).
Variable softmax(const Variable& x, const Tensor& mask = {}, const SoftmaxReach& reach = {}, const SoftmaxScores& scores = {},
                 Where where = Where::current());
Variable log_softmax(const Variable& x, Where where = Where::current());
/// The plain forms over another axis. Error when x has no such axis.
Variable softmax(const Variable& x, int axis, Where where = Where::current());
Variable log_softmax(const Variable& x, int axis, Where where = Where::current());
/// gamma (x - mean) / sqrt(variance + eps) + beta over the last axis, biased variance. gamma, beta [cols].
Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps = 1e-5,
                    Where where = Where::current());
/// gamma x / sqrt(mean(x^2) + eps) over the last axis (Zhang and Sennrich 2019, equation 4). gamma [cols].
Variable rms_norm(const Variable& x, const Variable& gamma, double eps = 1e-6, Where where = Where::current());
struct ResidualNorm {
    Variable sum;         ///< x + dropout(sublayer)
    Variable normalised;  ///< layer_norm(sum), or rms_norm(sum)
};
/// The residual connection and the normalisation after it in one pass.
ResidualNorm residual_layer_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, const Variable& beta,
                                 double eps = 1e-5, const DropoutMask& dropout = {}, Where where = Where::current());
/// The same with RMS normalisation.
ResidualNorm residual_rms_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, double eps = 1e-6,
                               const DropoutMask& dropout = {}, Where where = Where::current());

// ---- attention

struct RotaryOptions {
    double base = 10000;              ///< above 1
    std::int64_t first_position = 0;  ///< the position of each span's first row
    Tensor positions = {};            ///< i32 [rows], instead of the rows' places in their spans (decoding)
    bool inverse = false;             ///< turns back
};
/// Rotary positions (Su et al. 2021, equation 34): of x [rows, cols] the first `columns` columns are turned by angles that grow
/// with the row's position, in heads of `head_dim` columns; the others are copied. So queries and keys of one projection [rows,
/// (heads + 2 key_heads) head_dim] are turned by one call. A head's pairs are its columns i and i + head_dim / 2, as in LLaMA at
/// Hugging Face; the paper pairs neighbours. Rows outside the spans become zero. Error when head_dim is odd, or `columns` is not
/// whole heads.
Variable rotary(const Variable& x, const Spans& spans, std::int64_t head_dim, std::int64_t columns,
                const RotaryOptions& options = {}, Where where = Where::current());

/// Columns [begin, begin + count) of a [rows, pitch] Variable; several may share one base (q, k, v of one projection).
struct ColumnsOf {
    Variable base;
    std::int64_t begin = 0;
    std::int64_t count = 0;

    ColumnsOf(const Variable& whole) : base(whole), count(whole.cols()) {}  // NOLINT: a Variable is its own full slice
    ColumnsOf(const Variable& variable, std::int64_t first, std::int64_t number) : base(variable), begin(first), count(number) {}
    Columns value() const { return {base.value(), begin, count}; }
};

struct AttentionArguments {
    std::int64_t heads = 1;
    std::int64_t key_heads = 0;  ///< of key and value; `heads / key_heads` query heads share each. 0: as many as `heads`
    bool causal = false;         ///< aligned to the end when a query span is shorter than its key span
    /// u8 [query_time, key_time], [sentences, query_time, key_time] or [sentences or 1, heads or 1, query_time, key_time],
    /// relative to the spans; or undefined.
    Tensor mask = {};
    /// [heads or 1, query_time, key_time], added to the scaled scores; of the query's dtype, or f32 beside bf16; or undefined.
    Variable bias = {};
    std::optional<double> scale = {};  ///< default 1 / sqrt(head width of q)
    DropoutMask dropout = {};          ///< of the attention weights
    Tensor* weights =
        nullptr;  ///< when set: receives [sentences, heads, longest query, longest key], zeros where nothing attends
};
/// Multi-head softmax(scale q k^T + bias + masks) v per sentence. q [rows, heads * dk], k [rows', key_heads * dk], v [rows',
/// key_heads * dv]; the i-th query span attends to the i-th key span. Result [rows, heads * dv]; rows outside the query spans are
/// zero.
Variable attention(const ColumnsOf& query, const ColumnsOf& key, const ColumnsOf& value, const Spans& query_spans,
                   const Spans& key_spans, const AttentionArguments& options, Where where = Where::current());

// ---- feed-forward

/// dropout(activation(x w1^T + b1)) w2^T + b2; x [rows, d_model], w1 [d_ff, d_model], w2 [d_model, d_ff]; biases may be
/// undefined.
Variable feed_forward(const Variable& x, const Variable& w1, const Variable& b1, const Variable& w2, const Variable& b2,
                      Activation activation, const DropoutMask& dropout = {}, Where where = Where::current());
/// dropout(gate(x Wg^T + bg) * (x Wu^T + bu)) w2^T + b2 (Shazeer 2020, equation 6): SwiGLU with silu, GEGLU with gelu, ReGLU with
/// relu. x [rows, d_model], w_gate_and_up [2 d_ff, d_model] with the rows of Wg first, b [2 d_ff] likewise, w2 [d_model, d_ff];
/// biases may be undefined.
Variable gated_feed_forward(const Variable& x, const Variable& w_gate_and_up, const Variable& b, const Variable& w2,
                            const Variable& b2, Activation gate, const DropoutMask& dropout = {}, Where where = Where::current());

// ---- losses

using kernels::loss_statistics;
using kernels::LossOptions;
using kernels::LossStatistics;

/// logits [rows, V], targets i32 [rows]. A scalar; 0 when every target is ignored. `statistics` becomes f64 [4] on the logits'
/// device, which loss_statistics() reads.
Variable cross_entropy(const Variable& logits, const Tensor& targets, const LossOptions& options = {},
                       Tensor* statistics = nullptr, Where where = Where::current());
/// cross_entropy(linear(x, weight, bias)) without ever holding all logits. x [rows, d_model], weight [V, d_model], bias [V] or
/// undefined.
Variable linear_cross_entropy(const Variable& x, const Variable& weight, const Variable& bias, const Tensor& targets,
                              const LossOptions& options = {}, Tensor* statistics = nullptr, Where where = Where::current());

/// How a loss that has one value for each element becomes its result: their mean, their sum, all of them, or their sum over the
/// extent of the first axis.
enum class Reduction { mean, sum, none, batch_mean };

/// The squared distance (x - target)^2, and the distance |x - target|. Error when the two shapes or dtypes differ, here and
/// below: they do not broadcast.
Variable mse_loss(const Variable& x, const Variable& target, Reduction reduction = Reduction::mean,
                  Where where = Where::current());
Variable l1_loss(const Variable& x, const Variable& target, Reduction reduction = Reduction::mean,
                 Where where = Where::current());
/// With d = x - target: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). Huber 1964; delta > 0.
Variable huber_loss(const Variable& x, const Variable& target, double delta = 1, Reduction reduction = Reduction::mean,
                    Where where = Where::current());
/// huber_loss over its delta: d^2 / (2 beta) where |d| <= beta, else |d| - beta / 2.
Variable smooth_l1_loss(const Variable& x, const Variable& target, double beta = 1, Reduction reduction = Reduction::mean,
                        Where where = Where::current());

struct BinaryLossOptions {
    Tensor weight = {};           ///< factors of the losses, that broadcast to their shape; or undefined
    Tensor positive_weight = {};  ///< factors of the targets' part (torch's pos_weight), that broadcast; or undefined
    Reduction reduction = Reduction::mean;
};
/// -(t log p + (1 - t) log(1 - p)) with p = sigmoid(logits) and targets t in [0, 1], numbers or a mask u8, computed as t
/// softplus(-x) + (1 - t) softplus(x): exact for logits x of any size.
Variable bce_with_logits(const Variable& logits, const Variable& targets, const BinaryLossOptions& options = {},
                         Where where = Where::current());
/// The same of probabilities; a logarithm counts as at least -100, as in PyTorch, and sends no gradient there: with the target 1
/// a probability of 1 has the loss and the gradient 0.
Variable bce_loss(const Variable& probabilities, const Variable& targets, const BinaryLossOptions& options = {},
                  Where where = Where::current());

/// -log p(target) of log probabilities [rows, classes], from log_softmax, and targets i32 [rows]: cross_entropy's second half.
/// Error when options ask for label smoothing.
Variable nll_loss(const Variable& log_probabilities, const Tensor& targets, const LossOptions& options = {},
                  Where where = Where::current());

struct DivergenceOptions {
    Reduction reduction = Reduction::batch_mean;  ///< the divergence of distributions in rows (PyTorch's default is the mean)
    bool log_target = false;                      ///< the targets are logarithms, too
};
/// t (log t - x) for log probabilities x and probabilities t; 0 where t is 0 (Kullback and Leibler 1951).
Variable kl_div(const Variable& log_probabilities, const Variable& target, const DivergenceOptions& options = {},
                Where where = Where::current());

}  // namespace ops
}  // namespace heddle
