#include "kernels/feed_forward/gated_feed_forward.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/dropout/dropout.h"
#include "kernels/feed_forward/detail/feed_forward.h"
#include "kernels/matmul/product.h"

namespace heddle::kernels {
namespace {

void check_gated(const Tensor& x, const FeedForwardWeights& weights) {
    const char* op = "gated_feed_forward";
    check_rank(op, "x", x, 2);
    check_rank(op, "w_gate_and_up", weights.w1, 2);
    check(weights.w1.dim(0) % 2 == 0,
          "gated_feed_forward: w_gate_and_up has shape {}, wanted as many rows for the gate as for up", weights.w1.shape());
    const std::int64_t d_ff = weights.w1.dim(0) / 2;
    check_shape(op, "w_gate_and_up", weights.w1, {2 * d_ff, x.cols()});
    check_rank(op, "w2", weights.w2, 2);
    check_shape(op, "w2", weights.w2, {weights.w2.dim(0), d_ff});
    if (weights.b1.defined()) check_shape(op, "b", weights.b1, {2 * d_ff});
    if (weights.b2.defined()) check_shape(op, "b2", weights.b2, {weights.w2.dim(0)});
    for (const Tensor* tensor : {&weights.w1, &weights.b1, &weights.w2, &weights.b2})
        if (tensor->defined()) check_dtype(op, "a weight", *tensor, x.dtype());
    check_device(op, {{"x", x}, {"w_gate_and_up", weights.w1}, {"b", weights.b1}, {"w2", weights.w2}, {"b2", weights.b2}});
}

// ---- the middle, of u or of what is left of dh

Tensor columns_of(const Tensor& u, std::int64_t begin, std::int64_t end) {
    Tensor part = Tensor::empty({u.rows(), end - begin}, u.dtype());
    dispatch_real("gated_feed_forward", u, [&]<class T>(TypeTag<T>) {
        const T* const from = u.data<T>() + begin;
        T* const to = part.mutable_data<T>();
        for (std::int64_t row = 0; row < u.rows(); ++row) std::copy_n(from + row * u.cols(), end - begin, to + row * part.cols());
    });
    return part;
}

// a b, element by element.
Tensor times(const Tensor& a, const Tensor& b) {
    Tensor product = Tensor::empty(a.shape(), a.dtype());
    dispatch_real("gated_feed_forward", a, [&]<class T>(TypeTag<T>) {
        const T *const left = a.data<T>(), *const right = b.data<T>();
        T* const to = product.mutable_data<T>();
        for (std::int64_t i = 0; i < product.numel(); ++i) to[i] = left[i] * right[i];
    });
    return product;
}

Tensor gated_hidden(const Tensor& u, Activation gate, const Dropout& dropout) {
    const std::int64_t d_ff = u.cols() / 2;
    Tensor h = Tensor::empty({u.rows(), d_ff}, u.dtype(), u.device());
    if (u.device() == Device::cuda) {
        gate_cuda(u, gate, dropout, h);
        return h;
    }
    if (u.dtype() == DType::f32) {
        parallel_for(u.rows(), grain_for(16 * d_ff), [&](std::int64_t begin, std::int64_t end) {
            by_level(v2::gate_rows, v3::gate_rows, v4::gate_rows)(u.data<float>() + begin * 2 * d_ff,
                                                                  h.mutable_data<float>() + begin * d_ff, begin, end - begin,
                                                                  d_ff, gate, dropout);
        });
        return h;
    }
    return dropout_forward(times(activation_forward(columns_of(u, 0, d_ff), gate), columns_of(u, d_ff, 2 * d_ff)), dropout);
}

// du of f64 and dual numbers; what ReLU's backward is given is its result.
Tensor gradient_of_u(const Tensor& dh, const Tensor& u, Activation gate) {
    const std::int64_t d_ff = u.cols() / 2;
    const Tensor g = columns_of(u, 0, d_ff), v = columns_of(u, d_ff, 2 * d_ff), value = activation_forward(g, gate);
    const Tensor dg = activation_backward(times(dh, v), gate == Activation::relu ? value : g, gate), dv = times(dh, value);
    Tensor du = Tensor::empty(u.shape(), u.dtype());
    dispatch_real("gated_feed_forward", u, [&]<class T>(TypeTag<T>) {
        const T *const of_gate = dg.data<T>(), *const of_up = dv.data<T>();
        T* const to = du.mutable_data<T>();
        for (std::int64_t row = 0; row < u.rows(); ++row) {
            T* const both = to + row * 2 * d_ff;
            std::copy_n(of_gate + row * d_ff, d_ff, both);
            std::copy_n(of_up + row * d_ff, d_ff, both + d_ff);
        }
    });
    return du;
}

// ---- the CPU path in f32: blocks of rows

// Rows that go through both products together. Backward takes those of one partial sum of linear_backward_bias, so that db1 has
// the bits of the ops one after another.
constexpr std::int64_t kGatedRows = 96, kGatedSumRows = 128;

template <class Body>
void each_gated_block(std::int64_t rows, std::int64_t block, const Body& body) {
    parallel_for(rows, block, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += block) body(first, std::min(block, end - first));
    });
}

FeedForwardResult gated_blocks(const Tensor& x, const FeedForwardWeights& weights, Activation gate, const Dropout& dropout,
                               bool keep) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), d_ff = weights.w2.cols(), out = weights.w2.dim(0);
    const Tensor panels1 = make_panels(whole<float>(weights.w1).transposed(), d_model, 2 * d_ff);
    const Tensor panels2 = make_panels(whole<float>(weights.w2).transposed(), d_ff, out);
    FeedForwardResult result{Tensor::empty({rows, out}, DType::f32), {}};
    if (keep) result.hidden = Tensor::empty({rows, 2 * d_ff}, DType::f32);
    float* const kept = keep ? result.hidden.mutable_data<float>() : nullptr;
    float* const y = result.y.mutable_data<float>();
    const float* const b1 = weights.b1.defined() ? weights.b1.data<float>() : nullptr;
    const float* const b2 = weights.b2.defined() ? weights.b2.data<float>() : nullptr;
    each_gated_block(rows, kGatedRows, [&](std::int64_t first, std::int64_t count) {
        float* const h = own_block(kGatedRows * d_ff * (keep ? 1 : 3));
        float* const u = keep ? kept + first * 2 * d_ff : h + kGatedRows * d_ff;
        product<float>(count, 2 * d_ff, d_model, {x.data<float>() + first * d_model, d_model, 1}, panels1.data<float>(),
                       {u, 2 * d_ff, 1}, {.bias = b1});
        by_level(v2::gate_rows, v3::gate_rows, v4::gate_rows)(u, h, first, count, d_ff, gate, dropout);
        product<float>(count, out, d_ff, {h, d_ff, 1}, panels2.data<float>(), {y + first * out, out, 1}, {.bias = b2});
    });
    return result;
}

// du; with it h and dx where the pointers are given, and db1 += the sums of du.
Tensor gated_backward_blocks(const Tensor& dy, const Tensor& u, const FeedForwardWeights& weights, Activation gate,
                             const Dropout& dropout, Tensor* h, Tensor* dx, Tensor* db1) {
    const std::int64_t rows = dy.rows(), out = dy.cols(), d_ff = weights.w2.cols(), d_model = weights.w1.cols();
    const Tensor panels2 = make_panels(whole<float>(weights.w2), out, d_ff);
    const Tensor panels1 = dx ? make_panels(whole<float>(weights.w1), 2 * d_ff, d_model) : Tensor();
    Tensor du = Tensor::empty(u.shape(), DType::f32);
    const std::int64_t blocks = (rows + kGatedSumRows - 1) / kGatedSumRows;
    Tensor sums = Tensor::zeros({blocks, 2 * d_ff}, DType::f32);
    if (dx) *dx = Tensor::empty({rows, d_model}, DType::f32);
    if (h) *h = Tensor::empty({rows, d_ff}, DType::f32);
    each_gated_block(rows, kGatedSumRows, [&](std::int64_t first, std::int64_t count) {
        float* const dh = own_block(kGatedSumRows * d_ff);
        float* const block = du.mutable_data<float>() + first * 2 * d_ff;
        product<float>(count, d_ff, out, {dy.data<float>() + first * out, out, 1}, panels2.data<float>(), {dh, d_ff, 1});
        by_level(v2::gate_gradient_rows, v3::gate_gradient_rows, v4::gate_gradient_rows)(
            dh, u.data<float>() + first * 2 * d_ff, block, h ? h->mutable_data<float>() + first * d_ff : nullptr, first, count,
            d_ff, gate, dropout, sums.mutable_data<float>() + first / kGatedSumRows * 2 * d_ff);
        if (dx)
            product<float>(count, d_model, 2 * d_ff, {block, 2 * d_ff, 1}, panels1.data<float>(),
                           {dx->mutable_data<float>() + first * d_model, d_model, 1});
    });
    if (db1) {
        float* const total = db1->mutable_data<float>();
        const float* const of_blocks = sums.data<float>();
        for (std::int64_t block = 0; block < blocks; ++block)
            for (std::int64_t j = 0; j < 2 * d_ff; ++j) total[j] += of_blocks[block * 2 * d_ff + j];
    }
    return du;
}

// du and, where the pointer is given, h: in steps, for f64 and CUDA.
Tensor gated_gradient(const Tensor& dy, const Tensor& u, const FeedForwardWeights& weights, Activation gate,
                      const Dropout& dropout, Tensor* h) {
    const Tensor dh = linear_backward_x(dy, weights.w2);
    if (u.device() == Device::cuda) {
        Tensor du = Tensor::empty(u.shape(), u.dtype(), Device::cuda);
        if (h) *h = Tensor::empty(dh.shape(), u.dtype(), Device::cuda);
        gate_gradient_cuda(dh, u, gate, dropout, du, h);
        return du;
    }
    if (h) *h = gated_hidden(u, gate, dropout);
    return gradient_of_u(dropout_backward(dh, dropout), u, gate);
}

}  // namespace

// ---- the op

FeedForwardResult gated_feed_forward_forward(const Tensor& x, const FeedForwardWeights& weights, Activation gate,
                                             const Dropout& dropout, bool keep) {
    check_gated(x, weights);
    if (x.device() == Device::cpu && x.dtype() == DType::f32) return gated_blocks(x, weights, gate, dropout, keep);
    const Tensor u = linear_forward(x, weights.w1, weights.b1);
    return {linear_forward(gated_hidden(u, gate, dropout), weights.w2, weights.b2), keep ? u : Tensor()};
}

Tensor gated_feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& hidden, const FeedForwardWeights& weights,
                                   Activation gate, const Dropout& dropout, const FeedForwardWants& wants,
                                   FeedForwardWeights& gradients) {
    check_gated(x, weights);
    check_backward("gated_feed_forward_backward", "the gradient of b", dy, x, hidden, weights, wants, gradients);
    std::optional<BiasSums> both;  // makes the two sums in one launch
    if (!BiasSums::exists()) both.emplace();
    Tensor h, du, dx;
    Tensor* const wanted_h = wants.w2 ? &h : nullptr;
    if (!wants.x && !wants.w1 && !wants.b1) {
        if (wants.w2) h = gated_hidden(hidden, gate, dropout);
    } else if (x.device() == Device::cpu && x.dtype() == DType::f32) {
        du = gated_backward_blocks(dy, hidden, weights, gate, dropout, wanted_h, wants.x ? &dx : nullptr,
                                   wants.b1 ? &gradients.b1 : nullptr);
    } else {
        du = gated_gradient(dy, hidden, weights, gate, dropout, wanted_h);
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
