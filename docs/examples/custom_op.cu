// softplus on CUDA: a thread computes 16 bytes of the result and needs nothing of another thread (kernels/device/sweep.h).
// Forward reads x and writes y; backward reads dy and x and writes dx.
#include <heddle/kernels/device/dispatch.h>
#include <heddle/kernels/device/sweep.h>

#include "custom_op.h"

namespace example {
namespace {

using namespace heddle;
using namespace heddle::device;

__device__ __forceinline__ float softplus(float x) { return ::fmaxf(x, 0) + ::log1pf(::expf(-::fabsf(x))); }
__device__ __forceinline__ double softplus(double x) { return ::fmax(x, 0.0) + ::log1p(::exp(-::fabs(x))); }
__device__ __forceinline__ float slope(float x) { return 1 / (1 + ::expf(-x)); }
__device__ __forceinline__ double slope(double x) { return 1 / (1 + ::exp(-x)); }

// x, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) forward_kernel(const T* x, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(softplus(load(values[j])));
        store_vector(y + at, values);
    });
}

// dy, x, dx [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) backward_kernel(const T* dy, const T* x, T* dx, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> gradient = load_vector<M>(dy + at);
        const Vector<T, M> values = load_vector<M>(x + at);
#pragma unroll
        for (int j = 0; j < M; ++j) gradient[j] = store<T>(load(gradient[j]) * slope(load(values[j])));
        store_vector(dx + at, gradient);
    });
}

}  // namespace

void softplus_forward_cuda(const Tensor& x, Tensor& y) {
    dispatch("softplus", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        with_width<T>({from, to},
                      [&]<int N>(Width<N>) { launch(sweep_config(x.numel(), N), forward_kernel<T, N>, from, to, x.numel()); });
    });
}

void softplus_backward_cuda(const Tensor& dy, const Tensor& x, Tensor& dx) {
    dispatch("softplus_backward", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = x.data<T>();
        T* to = dx.mutable_data<T>();
        with_width<T>({gradient, from, to}, [&]<int N>(Width<N>) {
            launch(sweep_config(x.numel(), N), backward_kernel<T, N>, gradient, from, to, x.numel());
        });
    });
}

}  // namespace example
