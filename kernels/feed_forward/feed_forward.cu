// The feed-forward network between its products, where both are cuBLASLt's: u = x W1^T + b1 comes from it with the bias added, h
// goes to it.
//
//     forward     h = act(u) * factor               factor: 0 where dropped, else the dropout's scale; 1 without dropout
//     backward    du = dh * factor * act'(u)
//
// One pass each way: activation and dropout together, in place where the input is not kept. For ReLU backward reads h alone:
// where h is 0 the unit was off or dropped, elsewhere the factor is the scale, and no random number is drawn again. For GELU and
// SiLU it reads u, draws them again, and writes h as well where dW2 needs it: one pass, and one exponential, for both.
//
// Why not cuBLASLt's own activations? Its ReLU is documented as max(x, 0), which may turn a NaN into 0 and hide it; its GELU is
// the tanh form, which feed_forward.cpp takes where nothing is kept and dropped, in bf16. Dropout it has none.
//
// Who owns what: kernels/device/dropout_walk.h. Memory traffic of an element of s bytes: forward 2 s (u, h), backward 3 s (dh,
// hidden, du) and s for h of GELU and SiLU.
#include "kernels/activation/activation_device.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/dropout_walk.h"
#include "kernels/feed_forward/detail/feed_forward.h"

namespace heddle::kernels {
namespace {

using namespace device;

// u, h [rows, d_ff]
template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads)
    feed_forward_activate_kernel(const T* u, T* h, WalkedRows rows, Activation activation, DropoutRule rule) {
    const auto scale = static_cast<Accumulator<T>>(rule.scale);
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        Vector<T, N> values = load_vector<N>(u + at);
#pragma unroll
        for (int j = 0; j < N; ++j)
            values[j] = store<T>(activated(load(values[j]), activation) * (kept >> j & 1 ? scale : Accumulator<T>{0}));
        store_vector_whole(h + at, values);
    });
}

// dh, hidden, du [rows, d_ff]; h [rows, d_ff] or null. A NaN in h lets the gradient through, as in relu.
template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads)
    feed_forward_gradient_kernel(const T* dh, const T* hidden, T* du, T* h, WalkedRows rows, Activation activation,
                                 DropoutRule rule) {
    const auto scale = static_cast<Accumulator<T>>(rule.scale);
    const bool relu = activation == Activation::relu;
    if (relu) rule.threshold = 0;  // h knows what was dropped
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        Vector<T, N> values = load_vector<N>(dh + at);
        Vector<T, N> of_hidden = load_vector<N>(hidden + at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const auto from = load(of_hidden[j]);
            const auto factor = kept >> j & 1 ? scale : Accumulator<T>{0};
            const auto gradient = load(values[j]) * factor;
            values[j] = store<T>(!relu ? gradient * smooth_slope_of(from, activation) : from <= 0 ? Accumulator<T>{0} : gradient);
            if (h != nullptr) of_hidden[j] = store<T>(activated(from, activation) * factor);
        }
        store_vector_whole(du + at, values);
        if (h != nullptr) store_vector_whole(h + at, of_hidden);
    });
}

}  // namespace

void feed_forward_activate_cuda(const Tensor& u, Activation activation, const Dropout& dropout, Tensor& h) {
    dispatch("feed_forward", u.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = u.data<T>();
        T* to = h.mutable_data<T>();
        const std::int64_t rows = u.rows(), d_ff = u.cols();
        const bool fits = walk_fits(from, d_ff) && walk_fits(to, d_ff);
        launch(walk_config(rows, d_ff), fits ? feed_forward_activate_kernel<T, kVector<T>> : feed_forward_activate_kernel<T, 1>,
               from, to, WalkedRows(rows, d_ff), activation, DropoutRule(dropout));
    });
}

void feed_forward_gradient_cuda(const Tensor& dh, const Tensor& hidden, Activation activation, const Dropout& dropout, Tensor& du,
                                Tensor* h) {
    dispatch("feed_forward_backward", dh.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dh.data<T>(), *kept = hidden.data<T>();
        T *to = du.mutable_data<T>(), *again = h == nullptr ? nullptr : h->mutable_data<T>();
        const std::int64_t rows = dh.rows(), d_ff = dh.cols();
        const bool fits = walk_fits(gradient, d_ff) && walk_fits(kept, d_ff) && walk_fits(to, d_ff) && walk_fits(again, d_ff);
        launch(walk_config(rows, d_ff), fits ? feed_forward_gradient_kernel<T, kVector<T>> : feed_forward_gradient_kernel<T, 1>,
               gradient, kept, to, again, WalkedRows(rows, d_ff), activation, DropoutRule(dropout));
    });
}

}  // namespace heddle::kernels
