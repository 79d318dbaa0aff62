// ReLU, GELU and SiLU on CUDA; activation.h has the formulas, kernels/device/activation.h computes them for one number.
//
// Who owns what: a thread 16 bytes (sweep.h). Threads are independent.
//
// Memory traffic of an element of s bytes: forward reads x and writes y, 2 s; backward reads dy and the output (ReLU) or the
// input (GELU, SiLU) and writes dx, 3 s. That bounds ReLU. GELU's 25 or so instructions an element should hide behind 8 bytes
// of f32 traffic, and just about behind 4 of bf16. Where a product stands before it, the sweep is better done there
// (kernels/feed_forward).
#include "kernels/activation/activation.h"
#include "kernels/device/activation.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/sweep.h"

namespace heddle::kernels {
namespace {

using namespace device;

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) relu_forward_kernel(const T* x, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(device::relu(load(values[j])));
        store_vector(y + at, values);
    });
}

// dy, y, dx [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) relu_backward_kernel(const T* dy, const T* y, T* dx, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> gradient = load_vector<M>(dy + at);
        const Vector<T, M> result = load_vector<M>(y + at);
#pragma unroll
        for (int j = 0; j < M; ++j)
            if (load(result[j]) <= 0) gradient[j] = store<T>(0);
        store_vector(dx + at, gradient);
    });
}

// x, y [n]. The form is one branch that all threads take alike.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) gelu_forward_kernel(const T* x, T* y, std::int64_t n, bool tanh_form) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) {
            const Accumulator<T> value = load(values[j]);
            values[j] = store<T>(tanh_form ? device::gelu_tanh(value) : device::gelu(value));
        }
        store_vector(y + at, values);
    });
}

// dy, x, dx [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    gelu_backward_kernel(const T* dy, const T* x, T* dx, std::int64_t n, bool tanh_form) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> gradient = load_vector<M>(dy + at);
        const Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) {
            const Accumulator<T> value = load(values[j]);
            const Accumulator<T> slope = tanh_form ? device::gelu_tanh_slope(value) : device::gelu_slope(value);
            gradient[j] = store<T>(load(gradient[j]) * slope);
        }
        store_vector(dx + at, gradient);
    });
}

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) silu_forward_kernel(const T* x, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(device::silu(load(values[j])));
        store_vector(y + at, values);
    });
}

// dy, x, dx [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) silu_backward_kernel(const T* dy, const T* x, T* dx, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> gradient = load_vector<M>(dy + at);
        const Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) gradient[j] = store<T>(load(gradient[j]) * device::silu_slope(load(values[j])));
        store_vector(dx + at, gradient);
    });
}

}  // namespace

void relu_forward_cuda(const Tensor& x, Tensor& y) {
    dispatch("relu", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), relu_forward_kernel<T, N>, from, to, x.numel());
        });
    });
}

void relu_backward_cuda(const Tensor& dy, const Tensor& y, Tensor& dx) {
    dispatch("relu_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *result = y.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, result, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(dy.numel(), N), relu_backward_kernel<T, N>, gradient, result, to, dy.numel());
        });
    });
}

void gelu_forward_cuda(const Tensor& x, bool tanh_form, Tensor& y) {
    dispatch("gelu", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), gelu_forward_kernel<T, N>, from, to, x.numel(), tanh_form);
        });
    });
}

void gelu_backward_cuda(const Tensor& dy, const Tensor& x, bool tanh_form, Tensor& dx) {
    dispatch("gelu_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *at = x.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, at, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(dy.numel(), N), gelu_backward_kernel<T, N>, gradient, at, to, dy.numel(), tanh_form);
        });
    });
}

void silu_forward_cuda(const Tensor& x, Tensor& y) {
    dispatch("silu", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), silu_forward_kernel<T, N>, from, to, x.numel());
        });
    });
}

void silu_backward_cuda(const Tensor& dy, const Tensor& x, Tensor& dx) {
    dispatch("silu_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *at = x.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, at, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(dy.numel(), N), silu_backward_kernel<T, N>, gradient, at, to, dy.numel());
        });
    });
}

}  // namespace heddle::kernels
