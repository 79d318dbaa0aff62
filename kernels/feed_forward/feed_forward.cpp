#include "kernels/feed_forward/feed_forward.h"

#include <algorithm>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/dropout/dropout_fast.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/product.h"
#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {
namespace {

// Rows that go through both products together: a multiple of every level's tile, 192 KB of h at d_ff 512.
constexpr std::int64_t kBlockRows = 96;

void check_weights(const Tensor& x, const FeedForwardWeights& weights) {
    check_rank("feed_forward", "x", x, 2);
    check_rank("feed_forward", "w1", weights.w1, 2);
    const std::int64_t d_ff = weights.w1.dim(0), d_model = x.cols();
    check_shape("feed_forward", "w1", weights.w1, {d_ff, d_model});
    check_rank("feed_forward", "w2", weights.w2, 2);
    check_shape("feed_forward", "w2", weights.w2, {weights.w2.dim(0), d_ff});
    if (weights.b1.defined()) check_shape("feed_forward", "b1", weights.b1, {d_ff});
    if (weights.b2.defined()) check_shape("feed_forward", "b2", weights.b2, {weights.w2.dim(0)});
    for (const Tensor* tensor : {&weights.w1, &weights.b1, &weights.w2, &weights.b2})
        if (tensor->defined()) check_dtype("feed_forward", "a weight", *tensor, x.dtype());
    check_device("feed_forward", {{"x", x}, {"w1", weights.w1}, {"b1", weights.b1}, {"w2", weights.w2}, {"b2", weights.b2}});
}

Tensor activate(const Tensor& u, Activation activation) {
    return activation == Activation::relu ? relu_forward(u) : gelu_forward(u, activation == Activation::gelu_tanh);
}

template <class T>
const T* bias_of(const Tensor& bias) {
    return bias.defined() ? bias.data<T>() : nullptr;
}

template <class Body>
void each_block(std::int64_t rows, const Body& body) {
    parallel_for(rows, kBlockRows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += kBlockRows) body(first, std::min(kBlockRows, end - first));
    });
}

// ---- ReLU in f32: block by block

FeedForwardResult relu_forward_blocks(const Tensor& x, const FeedForwardWeights& weights, const Dropout& dropout) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.dim(0), out = weights.w2.dim(0);
    const Tensor panels1 = make_panels(whole<float>(weights.w1).transposed(), d_model, d_ff);
    const Tensor panels2 = make_panels(whole<float>(weights.w2).transposed(), d_ff, out);
    FeedForwardResult result{Tensor::empty({rows, out}, DType::f32), Tensor::empty({rows, d_ff}, DType::f32)};
    const float* from = x.data<float>();
    float* h = result.hidden.data<float>();
    float* y = result.y.data<float>();
    each_block(rows, [&](std::int64_t first, std::int64_t count) {
        product<float>(count, d_ff, d_model, {from + first * d_model, d_model, 1}, panels1.data<float>(),
                       {h + first * d_ff, d_ff, 1}, {.bias = bias_of<float>(weights.b1), .relu = true});
        if (dropout.active())
            by_level(v2::dropout_rows, v3::dropout_rows, v4::dropout_rows)(h, h, first, first + count, d_ff, dropout);
        product<float>(count, out, d_ff, {h + first * d_ff, d_ff, 1}, panels2.data<float>(), {y + first * out, out, 1},
                       {.bias = bias_of<float>(weights.b2)});
    });
    return result;
}

// du [rows, d_ff] and, when wanted, dx and the sums of du over blocks of rows, added in ascending order.
Tensor relu_backward_blocks(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights, const Dropout& dropout,
                            Tensor* dx, Tensor* db1) {
    const std::int64_t rows = dy.rows(), out = dy.cols(), d_ff = hidden.cols(), d_model = weights.w1.cols();
    const Tensor panels2 = make_panels(whole<float>(weights.w2), out, d_ff);
    const Tensor panels1 = dx ? make_panels(whole<float>(weights.w1), d_ff, d_model) : Tensor();
    Tensor du = Tensor::empty({rows, d_ff}, DType::f32);
    const std::int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    const Tensor sums = Tensor::zeros({blocks, d_ff}, DType::f32);
    if (dx) *dx = Tensor::empty({rows, d_model}, DType::f32);
    each_block(rows, [&](std::int64_t first, std::int64_t count) {
        float* block = du.data<float>() + first * d_ff;
        product<float>(count, d_ff, out, {dy.data<float>() + first * out, out, 1}, panels2.data<float>(), {block, d_ff, 1});
        by_level(v2::relu_dropout_gradient, v3::relu_dropout_gradient, v4::relu_dropout_gradient)(
            block, hidden.data<float>() + first * d_ff, count, d_ff, static_cast<float>(dropout.scale()),
            sums.data<float>() + first / kBlockRows * d_ff);
        if (dx)
            product<float>(count, d_model, d_ff, {block, d_ff, 1}, panels1.data<float>(),
                           {dx->data<float>() + first * d_model, d_model, 1});
    });
    if (db1)
        for (std::int64_t block = 0; block < blocks; ++block)
            for (std::int64_t j = 0; j < d_ff; ++j) db1->data<float>()[j] += sums.data<float>()[block * d_ff + j];
    return du;
}

// ---- on the device: two products, and one kernel between them

FeedForwardResult forward_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation, const Dropout& dropout,
                               bool keep) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.dim(0);
    // cuBLASLt's GELU is the tanh form; it is taken where it is the whole way from the product to h.
    const bool whole_gelu =
        activation == Activation::gelu_tanh && x.dtype() == DType::bf16 && !dropout.active() && !keep && d_model > 0;
    Tensor u = Tensor::empty({rows, d_ff}, x.dtype(), Device::cuda);
    product_cuda({.op = "feed_forward",
                  .m = rows,
                  .n = d_ff,
                  .k = d_model,
                  .a = DeviceMatrix(x),
                  .b = DeviceMatrix(weights.w1).transpose(),
                  .c = DeviceMatrix(u),
                  .bias = weights.b1,
                  .gelu_tanh = whole_gelu});
    const bool in_place = activation == Activation::relu || !keep;
    Tensor h = in_place ? u : Tensor::empty(u.shape(), u.dtype(), Device::cuda);
    if (!whole_gelu) feed_forward_activate_cuda(u, activation, dropout, h);
    return {linear_forward(h, weights.w2, weights.b2), keep ? u : Tensor()};
}

// h again from what forward kept.
Tensor hidden_again(const Tensor& hidden, Activation activation, const Dropout& dropout) {
    if (activation == Activation::relu) return hidden;
    if (hidden.device() == Device::cpu) return dropout_forward(activate(hidden, activation), dropout);
    Tensor h = Tensor::empty(hidden.shape(), hidden.dtype(), Device::cuda);
    feed_forward_activate_cuda(hidden, activation, dropout, h);
    return h;
}

// ---- everything else: the formula, op by op

Tensor hidden_gradient(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights, Activation activation,
                       const Dropout& dropout) {
    if (dy.device() == Device::cuda) {
        Tensor dh = linear_backward_x(dy, weights.w2);
        feed_forward_gradient_cuda(dh, hidden, activation, dropout, dh);
        return dh;
    }
    const Tensor dh = dropout_backward(linear_backward_x(dy, weights.w2), dropout);
    return activation == Activation::relu ? relu_backward(dh, hidden)
                                          : gelu_backward(dh, hidden, activation == Activation::gelu_tanh);
}

}  // namespace

FeedForwardResult feed_forward_forward(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                       const Dropout& dropout, bool keep) {
    check_weights(x, weights);
    if (x.device() == Device::cuda) return forward_cuda(x, weights, activation, dropout, keep);
    if (activation == Activation::relu && x.dtype() == DType::f32) {
        FeedForwardResult result = relu_forward_blocks(x, weights, dropout);
        if (!keep) result.hidden = Tensor();
        return result;
    }
    const Tensor u = linear_forward(x, weights.w1, weights.b1);
    const Tensor h = dropout_forward(activate(u, activation), dropout);
    FeedForwardResult result{linear_forward(h, weights.w2, weights.b2), {}};
    if (keep) result.hidden = activation == Activation::relu ? h : u;
    return result;
}

Tensor feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& hidden, const FeedForwardWeights& weights,
                             Activation activation, const Dropout& dropout, const FeedForwardWants& wants,
                             FeedForwardWeights& gradients) {
    check_weights(x, weights);
    check_shape("feed_forward_backward", "dy", dy, {x.rows(), weights.w2.dim(0)});
    check_shape("feed_forward_backward", "hidden", hidden, {x.rows(), weights.w1.dim(0)});
    check_dtype("feed_forward_backward", "dy", dy, x.dtype());
    check_dtype("feed_forward_backward", "hidden", hidden, x.dtype());
    check_device("feed_forward_backward", {{"x", x}, {"dy", dy}, {"hidden", hidden}});
    if (wants.b1) {
        check_shape("feed_forward_backward", "the gradient of b1", gradients.b1, {weights.w1.dim(0)});
        const bool wider = x.dtype() == DType::bf16 && gradients.b1.dtype() == DType::f32;
        check_dtype("feed_forward_backward", "the gradient of b1", gradients.b1, wider ? DType::f32 : x.dtype());
    }
    if (wants.w2) linear_backward_weight(dy, hidden_again(hidden, activation, dropout), gradients.w2);
    if (wants.b2) linear_backward_bias(dy, gradients.b2);
    if (!wants.x && !wants.w1 && !wants.b1) return {};
    Tensor dx, du;
    if (activation == Activation::relu && x.dtype() == DType::f32 && x.device() == Device::cpu) {
        du = relu_backward_blocks(dy, hidden, weights, dropout, wants.x ? &dx : nullptr, wants.b1 ? &gradients.b1 : nullptr);
    } else {
        du = hidden_gradient(dy, hidden, weights, activation, dropout);
        if (wants.x) dx = linear_backward_x(du, weights.w1);
        if (wants.b1) linear_backward_bias(du, gradients.b1);
    }
    if (wants.w1) linear_backward_weight(du, x, gradients.w1);
    return dx;
}

}  // namespace heddle::kernels
