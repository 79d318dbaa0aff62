// The CPU path in f32: rows go through both products block by block, so that a block of h is still in the second-level cache when
// the second product reads it.
#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/matmul/product.h"

namespace heddle::kernels {
namespace {

// Rows that go through both products together: a multiple of every level's tile, 192 KB of h at d_ff 512.
constexpr std::int64_t kBlockRows = 96;
// A smooth act's backward pass takes 128, the rows of one partial sum of linear_backward_bias: db1 then has the bits of the ops
// one after another.
constexpr std::int64_t kSumRows = 128;

const float* bias_of(const Tensor& bias) { return bias.defined() ? bias.data<float>() : nullptr; }

template <class Body>
void each_block(std::int64_t rows, std::int64_t block, const Body& body) {
    parallel_for(rows, block, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += block) body(first, std::min(block, end - first));
    });
}

}  // namespace

float* own_block(std::int64_t count) {
    struct alignas(64) Line {
        float values[16];
    };
    thread_local std::vector<Line> lines;
    const auto wanted = static_cast<std::size_t>((count + 15) / 16);
    if (lines.size() < wanted) lines.resize(wanted);
    return lines.data()->values;
}

FeedForwardResult feed_forward_blocks(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                      const Dropout& dropout, bool keep) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.dim(0), out = weights.w2.dim(0);
    const bool relu = activation == Activation::relu;
    const Tensor panels1 = make_panels(whole<float>(weights.w1).transposed(), d_model, d_ff);
    const Tensor panels2 = make_panels(whole<float>(weights.w2).transposed(), d_ff, out);
    FeedForwardResult result{Tensor::empty({rows, out}, DType::f32), {}};
    if (keep || relu) result.hidden = Tensor::empty({rows, d_ff}, DType::f32);
    const float* from = x.data<float>();
    float* const hidden = result.hidden.defined() ? result.hidden.mutable_data<float>() : nullptr;
    float* y = result.y.mutable_data<float>();
    each_block(rows, kBlockRows, [&](std::int64_t first, std::int64_t count) {
        float* const u = hidden != nullptr ? hidden + first * d_ff : own_block(kBlockRows * d_ff);
        float* const h = relu || !keep ? u : own_block(kBlockRows * d_ff);
        product<float>(count, d_ff, d_model, {from + first * d_model, d_model, 1}, panels1.data<float>(), {u, d_ff, 1},
                       {.bias = bias_of(weights.b1), .relu = relu});
        if (!relu)
            by_level(v2::smooth_dropout, v3::smooth_dropout, v4::smooth_dropout)(u, h, first, count, d_ff, activation, dropout);
        else if (dropout.active())
            by_level(v2::dropout_rows, v3::dropout_rows, v4::dropout_rows)(hidden, hidden, first, first + count, d_ff, dropout);
        product<float>(count, out, d_ff, {h, d_ff, 1}, panels2.data<float>(), {y + first * out, out, 1},
                       {.bias = bias_of(weights.b2)});
    });
    if (!keep) result.hidden = Tensor();
    return result;
}

Tensor feed_forward_backward_blocks(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights,
                                    Activation activation, const Dropout& dropout, Tensor* h, Tensor* dx, Tensor* db1) {
    const std::int64_t rows = dy.rows(), out = dy.cols(), d_ff = hidden.cols(), d_model = weights.w1.cols();
    const bool relu = activation == Activation::relu;
    const std::int64_t block_rows = relu ? kBlockRows : kSumRows;
    const Tensor panels2 = make_panels(whole<float>(weights.w2), out, d_ff);
    const Tensor panels1 = dx ? make_panels(whole<float>(weights.w1), d_ff, d_model) : Tensor();
    Tensor du = Tensor::empty({rows, d_ff}, DType::f32);
    const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
    Tensor sums = Tensor::zeros({blocks, d_ff}, DType::f32);
    if (dx) *dx = Tensor::empty({rows, d_model}, DType::f32);
    if (h) *h = relu ? hidden : Tensor::empty({rows, d_ff}, DType::f32);
    each_block(rows, block_rows, [&](std::int64_t first, std::int64_t count) {
        float* const block = du.mutable_data<float>() + first * d_ff;
        const float* const kept = hidden.data<float>() + first * d_ff;
        float* const of_block = sums.mutable_data<float>() + first / block_rows * d_ff;
        product<float>(count, d_ff, out, {dy.data<float>() + first * out, out, 1}, panels2.data<float>(), {block, d_ff, 1});
        if (relu)
            by_level(v2::relu_dropout_gradient, v3::relu_dropout_gradient, v4::relu_dropout_gradient)(
                block, kept, count, d_ff, static_cast<float>(dropout.scale()), of_block);
        else
            by_level(v2::smooth_dropout_gradient, v3::smooth_dropout_gradient, v4::smooth_dropout_gradient)(
                block, kept, h ? h->mutable_data<float>() + first * d_ff : nullptr, first, count, d_ff, activation, dropout,
                of_block);
        if (dx)
            product<float>(count, d_model, d_ff, {block, d_ff, 1}, panels1.data<float>(),
                           {dx->mutable_data<float>() + first * d_model, d_model, 1});
    });
    if (db1)
        for (std::int64_t block = 0; block < blocks; ++block)
            for (std::int64_t j = 0; j < d_ff; ++j) db1->mutable_data<float>()[j] += sums.data<float>()[block * d_ff + j];
    return du;
}

}  // namespace heddle::kernels
