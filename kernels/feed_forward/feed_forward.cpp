#include "kernels/feed_forward/feed_forward.h"

#include <optional>

#include "core/check.h"
#include "core/device.h"
#include "core/format.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/batch_invariant.h"
#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {
namespace {

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

// ---- on the device

// Whether cuBLASLt's own GELU is all that stands behind the product: it is the tanh form.
bool has_cublas_gelu(DType dtype, Activation activation, const Dropout& dropout) {
    return activation == Activation::gelu_tanh && dtype == DType::bf16 && !dropout.active();
}
// And whether it may write its argument, or read it for its derivative.
bool has_cublas_gelu_input(const Tensor& input, Activation activation, const Dropout& dropout) {
    return has_cublas_gelu(input.dtype(), activation, dropout) && input.cols() % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(input.bytes_data()) % 16 == 0 && !batch_invariant();
}

FeedForwardResult forward_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation, const Dropout& dropout,
                               bool keep) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w1.dim(0);
    if (feed_forward_runs_fused(x.dtype(), rows, d_model, d_ff, weights.w2.dim(0), keep)) {
        if (x.dtype() == DType::bf16) return feed_forward_fused_cuda(x, weights, activation, dropout, keep);
        return {feed_forward_fused_f32_cuda(x, weights, activation, dropout), {}};
    }
    const bool in_place = activation == Activation::relu || !keep;
    Tensor u = Tensor::empty({rows, d_ff}, x.dtype(), Device::cuda);
    Tensor h = in_place ? u : Tensor::empty(u.shape(), u.dtype(), Device::cuda);
    const bool whole_gelu = d_model > 0 && (in_place ? has_cublas_gelu(x.dtype(), activation, dropout)
                                                     : has_cublas_gelu_input(u, activation, dropout));
    if (!whole_gelu && feed_forward_has_epilogue(x.dtype(), d_model)) {
        feed_forward_product_cuda(x, weights.w1, weights.b1, activation, dropout, in_place ? nullptr : &u, h);
    } else {
        product_cuda({.op = "feed_forward",
                      .m = rows,
                      .n = d_ff,
                      .k = d_model,
                      .a = DeviceMatrix(x),
                      .b = DeviceMatrix(weights.w1).transpose(),
                      .c = DeviceResult(whole_gelu ? h : u),
                      .bias = weights.b1,
                      .gelu_tanh = whole_gelu,
                      .gelu_input = whole_gelu && !in_place ? u : Tensor()});
        if (!whole_gelu) feed_forward_activate_cuda(u, activation, dropout, h);
    }
    return {linear_forward(h, weights.w2, weights.b2), keep ? u : Tensor()};
}

// ---- backward: what stands between the products

// h again from what forward kept.
Tensor hidden_again(const Tensor& hidden, Activation activation, const Dropout& dropout) {
    if (activation == Activation::relu) return hidden;
    if (hidden.device() == Device::cpu) return dropout_forward(activation_forward(hidden, activation), dropout);
    Tensor h = Tensor::empty(hidden.shape(), hidden.dtype(), Device::cuda);
    feed_forward_activate_cuda(hidden, activation, dropout, h);
    return h;
}

// du, and h where it is asked for.
Tensor hidden_gradient(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights, Activation activation,
                       const Dropout& dropout, Tensor* h) {
    if (dy.device() == Device::cuda) {
        const bool relu = activation == Activation::relu;
        if (h != nullptr) *h = relu ? hidden : Tensor::empty(hidden.shape(), hidden.dtype(), Device::cuda);
        Tensor* const again = relu ? nullptr : h;
        if (feed_forward_has_epilogue(dy.dtype(), dy.cols())) {
            Tensor du = Tensor::empty(hidden.shape(), hidden.dtype(), Device::cuda);
            feed_forward_product_gradient_cuda(dy, weights.w2, hidden, activation, dropout, du, again);
            return du;
        }
        if (dy.cols() > 0 && has_cublas_gelu_input(hidden, activation, dropout)) {
            Tensor du = Tensor::empty(hidden.shape(), hidden.dtype(), Device::cuda);
            product_cuda({.op = "feed_forward_backward",
                          .m = dy.rows(),
                          .n = hidden.cols(),
                          .k = dy.cols(),
                          .a = DeviceMatrix(dy),
                          .b = DeviceMatrix(weights.w2),
                          .c = DeviceResult(du),
                          .gelu_input = hidden});
            if (again != nullptr) feed_forward_activate_cuda(hidden, activation, dropout, *again);
            return du;
        }
        Tensor dh = linear_backward_x(dy, weights.w2);
        feed_forward_gradient_cuda(dh, hidden, activation, dropout, dh, again);
        return dh;
    }
    if (h != nullptr) *h = hidden_again(hidden, activation, dropout);
    const Tensor dh = dropout_backward(linear_backward_x(dy, weights.w2), dropout);
    return activation_backward(dh, hidden, activation);
}

}  // namespace

bool feed_forward_has_epilogue(DType dtype, std::int64_t terms) {
    constexpr std::int64_t kShortSum = 512;
    return dtype == DType::bf16 && terms <= kShortSum;
}

bool feed_forward_runs_fused(DType dtype, std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, std::int64_t out,
                             bool keep) {
    constexpr std::int64_t kShortWalk = 512;    // units: eight tiles take a block no longer than three launches would take
    constexpr std::int64_t kManyRows = 8192;    // a block of 64 rows for nearly every processor of the largest chips
    constexpr std::int64_t kFewRowsF32 = 2048;  // a block of 16 rows for each
    if (d_model > kFusedWidth || out > kFusedWidth) return false;
    if (dtype == DType::bf16) return d_ff <= kShortWalk || (rows >= kManyRows && !batch_invariant());
    return dtype == DType::f32 && !keep && d_ff <= kShortWalk && rows <= kFewRowsF32 && !batch_invariant();
}

int fused_tiles(std::int64_t rows) {
    constexpr int kRowsOfTile = 4 * 16;  // of a block
    return rows >= 2 * kRowsOfTile * std::int64_t{device::multiprocessors()} ? 2 : 1;
}

FeedForwardResult feed_forward_forward(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                       const Dropout& dropout, bool keep) {
    check_weights(x, weights);
    if (x.device() == Device::cuda) return forward_cuda(x, weights, activation, dropout, keep);
    if (x.dtype() == DType::f32) return feed_forward_blocks(x, weights, activation, dropout, keep);
    const Tensor u = linear_forward(x, weights.w1, weights.b1);
    const Tensor h = dropout_forward(activation_forward(u, activation), dropout);
    FeedForwardResult result{linear_forward(h, weights.w2, weights.b2), {}};
    if (keep) result.hidden = activation == Activation::relu ? h : u;
    return result;
}

void check_backward(const char* op, const char* b1, const Tensor& dy, const Tensor& x, const Tensor& hidden,
                    const FeedForwardWeights& weights, const FeedForwardWants& wants, const FeedForwardWeights& gradients) {
    check_shape(op, "dy", dy, {x.rows(), weights.w2.dim(0)});
    check_shape(op, "hidden", hidden, {x.rows(), weights.w1.dim(0)});
    check_dtype(op, "dy", dy, x.dtype());
    check_dtype(op, "hidden", hidden, x.dtype());
    check_device(op, {{"x", x}, {"dy", dy}, {"hidden", hidden}});
    if (!wants.b1) return;
    check_shape(op, b1, gradients.b1, {weights.w1.dim(0)});
    const bool wider = x.dtype() == DType::bf16 && gradients.b1.dtype() == DType::f32;
    check_dtype(op, b1, gradients.b1, wider ? DType::f32 : x.dtype());
}

Tensor feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& hidden, const FeedForwardWeights& weights,
                             Activation activation, const Dropout& dropout, const FeedForwardWants& wants,
                             FeedForwardWeights& gradients) {
    check_weights(x, weights);
    check_backward("feed_forward_backward", "the gradient of b1", dy, x, hidden, weights, wants, gradients);
    std::optional<BiasSums> both;  // makes the two sums in one launch
    if (!BiasSums::exists()) both.emplace();
    const bool inner = wants.x || wants.w1 || wants.b1;
    Tensor h, du, dx;
    Tensor* const wanted_h = wants.w2 ? &h : nullptr;
    if (!inner) {
        if (wants.w2) h = hidden_again(hidden, activation, dropout);
    } else if (x.dtype() == DType::f32 && x.device() == Device::cpu) {
        du = feed_forward_backward_blocks(dy, hidden, weights, activation, dropout, wanted_h, wants.x ? &dx : nullptr,
                                          wants.b1 ? &gradients.b1 : nullptr);
    } else if (wants.x && x.device() == Device::cuda && x.dtype() == DType::bf16 &&
               feed_forward_runs_fused(DType::bf16, x.rows(), x.cols(), hidden.cols(), dy.cols(), true)) {
        du = feed_forward_fused_backward_cuda(dy, hidden, weights, activation, dropout, wanted_h, dx);
        if (wants.b1) BiasSums::add(du, gradients.b1);
    } else {
        du = hidden_gradient(dy, hidden, weights, activation, dropout, wanted_h);
        if (wants.x) dx = linear_backward_x(du, weights.w1);
        if (wants.b1) BiasSums::add(du, gradients.b1);
    }
    if (wants.w2) linear_backward_weight(dy, h, gradients.w2);
    if (wants.b2) BiasSums::add(dy, gradients.b2);
    if (wants.w1) linear_backward_weight(du, x, gradients.w1);
    if (both) BiasSums::flush();
    return dx;
}

}  // namespace heddle::kernels
