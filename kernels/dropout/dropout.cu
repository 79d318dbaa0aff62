// Dropout on CUDA; dropout.h has the formula. Forward and backward are one kernel: backward draws the same numbers for dy.
//
// Who owns what: a warp 32 groups of eight elements, one lane a group's Philox call, and all lanes together the groups' memory,
// 16 bytes a lane at a time (dropout_walk.h). Rows of odd lengths take the same way one element at a time.
//
// Memory traffic of an element of s bytes: x is read and y written once, 2 s. Ten rounds of Philox and eight
// decisions are some 150 integer instructions (of PTX) for eight elements: what they cost beside the memory shows in bf16 first.
//
// A dropped element is x times 0, not 0: what is NaN stays NaN, as on the CPU.
#include "kernels/device/dispatch.h"
#include "kernels/device/dropout_walk.h"
#include "kernels/dropout/dropout.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T, int N>
__global__ void __launch_bounds__(kWalkThreads)
    dropout_kernel(const T* x, T* y, WalkedRows rows, DropoutRule rule) {  // x, y [rows, cols]
    const auto scale = static_cast<Accumulator<T>>(rule.scale);
    walk_dropped<N>(rule, rows, [&](std::int64_t at, unsigned kept) {
        Vector<T, N> values = load_vector<N>(x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) values[j] = store<T>(load(values[j]) * (kept >> j & 1 ? scale : Accumulator<T>{0}));
        store_vector_whole(y + at, values);
    });
}

}  // namespace

void dropout_cuda(const Tensor& x, const Dropout& dropout, Tensor& y) {
    dispatch("dropout", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        const std::int64_t rows = x.rows(), cols = x.cols();
        const bool fits = walk_fits(from, cols) && walk_fits(to, cols);
        launch(walk_config(rows, cols), fits ? dropout_kernel<T, kVector<T>> : dropout_kernel<T, 1>, from, to,
               WalkedRows(rows, cols), DropoutRule(dropout));
    });
}

}  // namespace heddle::kernels
