// ReLU, GELU and SiLU on CUDA; activation.h has the formulas, kernels/device/activation.h computes them for one number.
//
// Who owns what: a thread 16 bytes (sweep.h). Threads are independent.
//
// Memory traffic of an element of s bytes: forward reads x and writes y, 2 s; backward reads dy and the output (ReLU) or the
// input (GELU, SiLU) and writes dx, 3 s. That bounds ReLU. GELU's 25 or so instructions an element should hide behind 8 bytes
// of f32 traffic, and just about behind 4 of bf16. Where a product stands before it, the sweep is better done there
// (kernels/feed_forward).
#include "kernels/activation/activation_device.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/sweep.h"

namespace heddle::kernels {
namespace {

using namespace device;

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) activation_forward_kernel(const T* x, T* y, std::int64_t n, Activation f) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(activated(load(values[j]), f));
        store_vector(y + at, values);
    });
}

// dy, saved, dx [n]; saved is ReLU's result, the others' argument. A NaN in ReLU's result lets the gradient through.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    activation_backward_kernel(const T* dy, const T* saved, T* dx, std::int64_t n, Activation f) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> gradient = load_vector<M>(dy + at);
        const Vector<T, M> others = load_vector<M>(saved + at);
#pragma unroll
        for (int j = 0; j < M; ++j) {
            const Accumulator<T> from = load(others[j]);
            if (f != Activation::relu)
                gradient[j] = store<T>(load(gradient[j]) * smooth_slope_of(from, f));
            else if (from <= 0)
                gradient[j] = store<T>(0);
        }
        store_vector(dx + at, gradient);
    });
}

}  // namespace

void activation_forward_cuda(const char* op, Activation f, const Tensor& x, Tensor& y) {
    dispatch(op, x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), activation_forward_kernel<T, N>, from, to, x.numel(), f);
        });
    });
}

void activation_backward_cuda(const char* op, Activation f, const Tensor& dy, const Tensor& saved, Tensor& dx) {
    dispatch(op, dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = saved.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(dy.numel(), N), activation_backward_kernel<T, N>, gradient, from, to, dy.numel(), f);
        });
    });
}

}  // namespace heddle::kernels
