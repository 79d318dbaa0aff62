// The gated feed-forward network between its products, where both are cuBLASLt's: u = x W1^T + b1 comes from it with the bias
// added, h goes to it; gated_feed_forward.h has the formulas.
//
// One pass each way. Forward reads gate and up of a unit and writes h; backward reads dh, gate and up, draws the dropout again
// and writes both gradients, and h where dW2 needs it: one exponential serves them all.
//
// Who owns what: kernels/device/dropout_walk.h, a walk over h [rows, d_ff]; the gate of an element stands in the row of u that is
// twice as long, its up d_ff columns further. Memory traffic of an element of h of s bytes: forward 3 s (g, v, h), backward 5 s
// (dh, g, v, dg, dv) and s for h.
#include "kernels/activation/activation_device.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/dropout_walk.h"
#include "kernels/feed_forward/gated_feed_forward.h"

namespace heddle::kernels {
namespace {

using namespace device;

// Where the gate of element `at` of h [rows, d_ff] stands in u [rows, 2 d_ff].
struct GatePlace {
    Divisor d_ff;
    __device__ __forceinline__ std::int64_t operator()(std::int64_t at) const { return at + at / d_ff * d_ff.number; }
};

// u [rows, 2 d_ff], h [rows, d_ff]
template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads)
    gate_kernel(const T* u, T* h, WalkedRows rows, GatePlace place, Activation gate, DropoutRule rule) {
    const auto scale = static_cast<Accumulator<T>>(rule.scale);
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        const T* const from = u + place(at);
        Vector<T, N> values = load_vector<N>(from);
        const Vector<T, N> up = load_vector<N>(from + rows.cols);
#pragma unroll
        for (int j = 0; j < N; ++j)
            values[j] = store<T>(activated(load(values[j]), gate) * load(up[j]) * (kept >> j & 1 ? scale : Accumulator<T>{0}));
        store_vector_whole(h + at, values);
    });
}

// dh [rows, d_ff], u, du [rows, 2 d_ff]; h [rows, d_ff] or null. A NaN in the gate lets the gradient through, as in relu.
template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads) gate_gradient_kernel(const T* dh, const T* u, T* du, T* h, WalkedRows rows,
                                                                     GatePlace place, Activation gate, DropoutRule rule) {
    using A = Accumulator<T>;
    const auto scale = static_cast<A>(rule.scale);
    const bool relu = gate == Activation::relu;
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        const std::int64_t of_gate = place(at);
        Vector<T, N> gates = load_vector<N>(u + of_gate), ups = load_vector<N>(u + of_gate + rows.cols);
        Vector<T, N> values = load_vector<N>(dh + at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const A from = load(gates[j]), up = load(ups[j]), value = activated(from, gate);
            const A factor = kept >> j & 1 ? scale : A{0}, gradient = load(values[j]) * factor;
            const A through = gradient * up;
            gates[j] = store<T>(!relu ? through * smooth_slope_of(from, gate) : from <= 0 ? A{0} : through);
            ups[j] = store<T>(gradient * value);
            values[j] = store<T>(value * up * factor);
        }
        store_vector_whole(du + of_gate, gates);
        store_vector_whole(du + of_gate + rows.cols, ups);
        if (h != nullptr) store_vector_whole(h + at, values);
    });
}

}  // namespace

void gate_cuda(const Tensor& u, Activation gate, const Dropout& dropout, Tensor& h) {
    dispatch("gated_feed_forward", u.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = u.data<T>();
        T* to = h.mutable_data<T>();
        const std::int64_t rows = h.rows(), d_ff = h.cols();
        const bool fits = walk_fits(from, d_ff) && walk_fits(to, d_ff);
        launch(walk_config(rows, d_ff), fits ? gate_kernel<T, kVector<T>> : gate_kernel<T, 1>, from, to, WalkedRows(rows, d_ff),
               GatePlace{d_ff}, gate, DropoutRule(dropout));
    });
}

void gate_gradient_cuda(const Tensor& dh, const Tensor& u, Activation gate, const Dropout& dropout, Tensor& du, Tensor* h) {
    dispatch("gated_feed_forward_backward", dh.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dh.data<T>(), *from = u.data<T>();
        T *to = du.mutable_data<T>(), *again = h == nullptr ? nullptr : h->mutable_data<T>();
        const std::int64_t rows = dh.rows(), d_ff = dh.cols();
        const bool fits = walk_fits(gradient, d_ff) && walk_fits(from, d_ff) && walk_fits(to, d_ff) && walk_fits(again, d_ff);
        launch(walk_config(rows, d_ff), fits ? gate_gradient_kernel<T, kVector<T>> : gate_gradient_kernel<T, 1>, gradient, from,
               to, again, WalkedRows(rows, d_ff), GatePlace{d_ff}, gate, DropoutRule(dropout));
    });
}

}  // namespace heddle::kernels
