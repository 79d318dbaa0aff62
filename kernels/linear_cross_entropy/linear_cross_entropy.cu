// The backward pass of linear + cross entropy: target += dloss * gradient.
//
// The forward pass has made the gradients for a loss gradient of 1, because dlogits depends on the true one by a factor only. The
// factor is a scalar in device memory and every thread reads it there: asking the host for it would make the host wait for the
// whole forward pass.
//
// What the forward pass is made of lies elsewhere: the products in kernels/matmul/matmul.cu, the row kernel between them in
// kernels/cross_entropy/cross_entropy.cu, the column sums of db in kernels/linear/linear.cu.
//
// Memory traffic: gradient and target are read, target is written, once each.
#include "kernels/device/dispatch.h"
#include "kernels/device/sweep.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace heddle::kernels {
namespace {

using namespace device;

// A scalar in device memory: `wide` or `half`, the other is null.
template <class T>
struct Factor {
    const Accumulator<T>* wide;
    const bf16* half;
};

// target, gradient [n]. N elements at a time: 16 bytes of the wider one.
template <class T, class G, int N>
__global__ void __launch_bounds__(kSweepBlock) add_scaled_kernel(const G* gradient, Factor<T> factor, T* target, std::int64_t n) {
    const auto scale = factor.half != nullptr ? static_cast<Accumulator<T>>(load(*factor.half)) : *factor.wide;
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> to = load_vector<M>(target + at);
        const Vector<G, M> from = load_vector<M>(gradient + at);
#pragma unroll
        for (int j = 0; j < M; ++j) to[j] = store<T>(load(to[j]) + scale * load(from[j]));
        store_vector(target + at, to);
    });
}

template <class T, class G>
void add_scaled(const Tensor& gradient, const Tensor& dloss, Tensor& target) {
    const G* from = gradient.data<G>();
    T* to = target.mutable_data<T>();
    const bool half = dloss.dtype() == DType::bf16;
    const Factor<T> factor{half ? nullptr : dloss.data<Accumulator<T>>(), half ? dloss.data<bf16>() : nullptr};
    with_width<std::conditional_t<(sizeof(T) > sizeof(G)), T, G>>({from, to}, [&]<int N>(Width<N>) {
        launch(sweep_config(target.numel(), N), add_scaled_kernel<T, G, N>, from, factor, to, target.numel());
    });
}

// body(type tag) for a gradient beside a target of T: of its dtype, or the other one of f32 and bf16.
template <class T, class Body>
void dispatch_beside(const Tensor& tensor, Body&& body) {
    if constexpr (!std::is_same_v<T, double>) {
        if (tensor.dtype() == DType::bf16) return body(TypeTag<bf16>{});
        if (tensor.dtype() == DType::f32) return body(TypeTag<float>{});
    }
    body(TypeTag<T>{});
}

}  // namespace

void add_scaled_cuda(const Tensor& gradient, const Tensor& dloss, Tensor& target) {
    dispatch("linear_cross_entropy_backward", target.dtype(), [&]<class T>(TypeTag<T>) {
        dispatch_beside<T>(gradient, [&]<class G>(TypeTag<G>) { add_scaled<T, G>(gradient, dloss, target); });
    });
}

}  // namespace heddle::kernels
