// The residual connection on CUDA; residual.h has the formula. Backward is dropout's kernel.
//
// Who owns what: with dropout a warp owns 32 groups of eight elements, as dropout_walk.h says; without it a thread owns 16 bytes.
//
// Memory traffic of an element of s bytes: x and the sublayer's output are read and y written once, 3 s. Dropout and addition one
// after the other would move 5 s.
#include "kernels/device/contraction.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/dropout_walk.h"
#include "kernels/device/sweep.h"
#include "kernels/residual/residual.h"

namespace heddle::kernels {
namespace {

using namespace device;

// x, sublayer, y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) residual_add_kernel(const T* x, const T* sublayer, T* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values = load_vector<M>(x + at);
        const Vector<T, M> branch = load_vector<M>(sublayer + at);
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = store<T>(load(values[j]) + load(branch[j]));
        store_vector_whole(y + at, values);
    });
}

// x, sublayer, y [rows, cols]
template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads)
    residual_dropout_kernel(const T* x, const T* sublayer, T* y, WalkedRows rows, DropoutRule rule) {
    const auto scale = static_cast<Accumulator<T>>(rule.scale);
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        Vector<T, N> values = load_vector<N>(x + at);
        const Vector<T, N> branch = load_vector<N>(sublayer + at);
#pragma unroll
        for (int j = 0; j < N; ++j)
            values[j] = store<T>(multiply_add(load(branch[j]), kept >> j & 1 ? scale : Accumulator<T>{0}, load(values[j])));
        store_vector_whole(y + at, values);
    });
}

}  // namespace

void residual_cuda(const Tensor& x, const Tensor& sublayer, const Dropout& dropout, Tensor& y) {
    dispatch("residual", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T *stream = x.data<T>(), *branch = sublayer.data<T>();
        T* to = y.mutable_data<T>();
        const std::int64_t rows = x.rows(), cols = x.cols();
        if (!dropout.active())
            return with_width<T>({stream, branch, to}, [&]<int N>(Width<N>) {
                launch(sweep_config(x.numel(), N), residual_add_kernel<T, N>, stream, branch, to, x.numel());
            });
        const bool fits = walk_fits(stream, cols) && walk_fits(branch, cols) && walk_fits(to, cols);
        launch(walk_config(rows, cols), fits ? residual_dropout_kernel<T, kVector<T>> : residual_dropout_kernel<T, 1>, stream,
               branch, to, WalkedRows(rows, cols), DropoutRule(dropout));
    });
}

}  // namespace heddle::kernels
