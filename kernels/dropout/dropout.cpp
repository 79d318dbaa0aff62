#include "kernels/dropout/dropout.h"

#include "core/check.h"
#include "core/dual.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// The reference for f64 and dual numbers: x, y [rows, cols], rows [begin, end).
template <class T>
void drop_rows(const T* x, T* y, std::int64_t begin, std::int64_t end, std::int64_t cols, const Dropout& dropout) {
    for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < cols; ++column) {
            const double factor = dropout.keeps_row(row, column) ? dropout.scale() : 0;
            y[row * cols + column] = x[row * cols + column] * factor;
        }
}

void drop_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols, const Dropout& dropout) {
    by_level(v2::dropout_rows, v3::dropout_rows, v4::dropout_rows)(x, y, begin, end, cols, dropout);
}

}  // namespace

Tensor dropout_forward(const Tensor& x, const Dropout& dropout) {
    check_defined("dropout", "x", x);
    if (!dropout.active()) return x;
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        dropout_cuda(x, dropout, y);
        return y;
    }
    dispatch_real("dropout", x, [&]<class T>(TypeTag<T>) {
        const T* from = x.data<T>();
        T* to = y.mutable_data<T>();
        parallel_for(x.rows(), grain_for(4 * x.cols()),
                     [&](std::int64_t begin, std::int64_t end) { drop_rows(from, to, begin, end, x.cols(), dropout); });
    });
    return y;
}

Tensor dropout_backward(const Tensor& dy, const Dropout& dropout) { return dropout_forward(dy, dropout); }

}  // namespace heddle::kernels
