// Products and running sums on CUDA; reduce.h has the formulas. x is [outer, n, inner].
//
// Who owns what: a thread a line of the axis, which it walks element by element in the order of the CPU's reference. Neighbouring
// threads have neighbouring lines, so where inner > 1 a warp reads whole cache lines; where inner is 1 each thread walks a row of
// its own, and the caches serve the row's next elements. Few long lines leave most of the chip idle: these ops are for lines of
// some thousand elements.
//
// Products are kept in f64 as on the CPU: 1e30 1e30 0 is 0, and 1e-40 1e40 is 1.
//
// Memory traffic: x is read once, twice for the product's gradient, which also writes and reads x.numel() products in f64.
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/sweep.h"
#include "kernels/reduce/reduce.h"

namespace heddle::kernels {
namespace {

using namespace device;

// The line of this thread, and its first element.
struct Line {
    bool inside;
    std::int64_t number, first;
};
__device__ __forceinline__ Line line_of(std::int64_t outer, std::int64_t n, Divisor inner) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x, block = i / inner;
    return {i < outer * inner.number, i, block * n * inner.number + (i - block * inner.number)};
}

// x [outer, n, inner], y [outer, inner]
template <class T>
__global__ void __launch_bounds__(kSweepBlock) prod_kernel(const T* x, T* y, std::int64_t outer, std::int64_t n, Divisor inner) {
    const Line line = line_of(outer, n, inner);
    if (!line.inside) return;
    double product = 1;
    for (std::int64_t k = 0; k < n; ++k) product *= static_cast<double>(load(x[line.first + k * inner.number]));
    y[line.number] = store<T>(static_cast<Accumulator<T>>(product));
}

// products [outer, n, inner]: those of the numbers before k, left to right, until the way back multiplies them by dy and those
// behind k; dx itself for f64. A thread's own writes are all that it reads.
template <class T>
__global__ void __launch_bounds__(kSweepBlock)
    prod_backward_kernel(const T* dy, const T* x, double* products, T* dx, std::int64_t outer, std::int64_t n, Divisor inner) {
    const Line line = line_of(outer, n, inner);
    if (!line.inside) return;
    double before = 1, behind = static_cast<double>(load(dy[line.number]));
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = line.first + k * inner.number;
        products[at] = before;
        before *= static_cast<double>(load(x[at]));
    }
    for (std::int64_t k = n - 1; k >= 0; --k) {
        const std::int64_t at = line.first + k * inner.number;
        dx[at] = store<T>(static_cast<Accumulator<T>>(products[at] * behind));
        behind *= static_cast<double>(load(x[at]));
    }
}

// x, y [outer, n, inner]
template <class T>
__global__ void __launch_bounds__(kSweepBlock)
    cumsum_kernel(const T* x, bool from_end, T* y, std::int64_t outer, std::int64_t n, Divisor inner) {
    const Line line = line_of(outer, n, inner);
    if (!line.inside) return;
    Accumulator<T> total = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = line.first + (from_end ? n - 1 - k : k) * inner.number;
        total += load(x[at]);
        y[at] = store<T>(total);
    }
}

}  // namespace

void prod_cuda(const Tensor& x, const MiddleAxis& axis, Tensor& y) {
    const auto [outer, n, inner] = axis;
    dispatch("prod", x.dtype(), [&]<class T>(TypeTag<T>) {
        launch(sweep_config(y.numel(), 1), prod_kernel<T>, x.data<T>(), y.mutable_data<T>(), outer, n, inner);
    });
}

void prod_backward_cuda(const Tensor& dy, const Tensor& x, const MiddleAxis& axis, Tensor& dx) {
    const std::int64_t outer = axis.outer, n = axis.n, inner = axis.inner;
    Tensor products = x.dtype() == DType::f64 ? dx : Tensor::empty(x.shape(), DType::f64, x.device());
    dispatch("prod_backward", x.dtype(), [&]<class T>(TypeTag<T>) {
        launch(sweep_config(dy.numel(), 1), prod_backward_kernel<T>, dy.data<T>(), x.data<T>(), products.mutable_data<double>(),
               dx.mutable_data<T>(), outer, n, inner);
    });
}

void cumsum_cuda(const Tensor& x, const MiddleAxis& axis, bool from_end, Tensor& y) {
    const auto [outer, n, inner] = axis;
    dispatch("cumsum", x.dtype(), [&]<class T>(TypeTag<T>) {
        launch(sweep_config(outer * inner, 1), cumsum_kernel<T>, x.data<T>(), from_end, y.mutable_data<T>(), outer, n, inner);
    });
}

}  // namespace heddle::kernels
