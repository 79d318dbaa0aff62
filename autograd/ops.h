// The differentiable ops. Each stands in autograd/ops/<op>.cpp, calls the kernels of its folder below kernels/, where formula and
// proof stand, and records one node on the tape. Shapes are checked by the kernels; an error names the op, the argument and both
// shapes.
//
// The namespace is inline: ops::gelu is heddle::gelu, too.
//
// Every op takes the caller's source line as its last argument, so that anomaly mode and version errors can name it.
#pragma once

#include <optional>
#include <span>

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
Variable neg(const Variable& x, Where where = Where::current());
Variable exp(const Variable& x, Where where = Where::current());
Variable log(const Variable& x, Where where = Where::current());
Variable sqrt(const Variable& x, Where where = Where::current());
Variable tanh(const Variable& x, Where where = Where::current());
/// `condition` u8, true (nonzero) takes from `a`, false from `b`; all three broadcast.
Variable where(const Tensor& condition, const Variable& a, const Variable& b, Where where = Where::current());
/// factor * x
Variable scale(const Variable& x, double factor, Where where = Where::current());

/// Over one axis (negative counts from the end); the axis stays with extent 1 when `keep`. `max` sends the gradient to the first
/// maximum.
Variable sum(const Variable& x, int axis, bool keep = false, Where where = Where::current());
Variable mean(const Variable& x, int axis, bool keep = false, Where where = Where::current());
Variable max(const Variable& x, int axis, bool keep = false, Where where = Where::current());
/// Over all elements; a scalar (shape []).
Variable sum(const Variable& x, Where where = Where::current());

// ---- shapes: what only moves elements

Variable reshape(const Variable& x, const Shape& shape, Where where = Where::current());
/// Axis i of the result is axis axes[i] of x.
Variable permute(const Variable& x, std::span<const int> axes, Where where = Where::current());
/// Elements [begin, end) of `axis`.
Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end, Where where = Where::current());
Variable concat(std::span<const Variable> parts, int axis, Where where = Where::current());
/// Row indices[i] of x [rows, ...] for each i; indices i32 [n] may repeat.
Variable gather(const Variable& x, const Tensor& indices, Where where = Where::current());

// ---- products

/// a [..., m, k] times b [..., k, n], each optionally transposed in its last two axes; leading axes equal, or absent in b.
Variable matmul(const Variable& a, const Variable& b, bool transpose_a = false, bool transpose_b = false,
                Where where = Where::current());
/// x [rows, in] times weight^T + bias; weight [out, in], bias [out] or undefined.
Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {}, Where where = Where::current());

// ---- activations and dropout

using kernels::Activation;

Variable relu(const Variable& x, Where where = Where::current());
/// x Phi(x) with the error function, or with the tanh approximation (Hendrycks and Gimpel 2016, section 2).
Variable gelu(const Variable& x, bool tanh_form = false, Where where = Where::current());
/// x / (1 + exp(-x)), also called swish (the same paper, section 2; Elfwing et al. 2017).
Variable silu(const Variable& x, Where where = Where::current());
Variable dropout(const Variable& x, const Dropout& dropout, Where where = Where::current());
/// x + dropout(sublayer): the residual connection with the paper's residual dropout (section 5.4).
Variable residual(const Variable& x, const Variable& sublayer, const Dropout& dropout = {}, Where where = Where::current());

// ---- embedding

struct EmbeddingOptions {
    double scale = 1;                 ///< the paper's sqrt(d_model), section 3.4
    Variable positions = {};          ///< [positions, d_model]: a learned or a fixed table, or undefined
    std::int64_t first_position = 0;  ///< the position of each span's first row; decoding with a cache continues from here
    Dropout dropout = {};
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
/// gamma (x - mean) / sqrt(variance + eps) + beta over the last axis, biased variance. gamma, beta [cols].
Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, double eps = 1e-5,
                    Where where = Where::current());
struct ResidualNorm {
    Variable sum;         ///< x + dropout(sublayer)
    Variable normalised;  ///< layer_norm(sum)
};
/// The residual connection and the normalisation after it in one pass.
ResidualNorm residual_layer_norm(const Variable& x, const Variable& sublayer, const Variable& gamma, const Variable& beta,
                                 double eps = 1e-5, const Dropout& dropout = {}, Where where = Where::current());

// ---- attention

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
    Dropout dropout = {};              ///< of the attention weights
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
                      Activation activation, const Dropout& dropout = {}, Where where = Where::current());

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

}  // namespace ops
}  // namespace heddle
