#include "kernels/residual/residual.h"

#include "core/check.h"
#include "core/dual.h"
#include "core/parallel.h"
#include "kernels/dropout/dropout.h"

namespace heddle::kernels {
namespace {

// The reference for f64 and dual numbers: all [rows, cols], rows [begin, end).
template <class T>
void add_rows(const T* x, const T* sublayer, T* y, std::int64_t begin, std::int64_t end, std::int64_t cols,
              const Dropout& dropout) {
    for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < cols; ++column) {
            const std::int64_t at = row * cols + column;
            y[at] = x[at] + sublayer[at] * (dropout.keeps_row(row, column) ? dropout.scale() : 0);
        }
}

void add_rows(const float* x, const float* sublayer, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols,
              const Dropout& dropout) {
    if (dropout.active())
        return by_level(v2::residual_rows, v3::residual_rows, v4::residual_rows)(x, sublayer, y, begin, end, cols, dropout);
    for (std::int64_t at = begin * cols; at < end * cols; ++at) y[at] = x[at] + sublayer[at];
}

}  // namespace

Tensor residual_forward(const Tensor& x, const Tensor& sublayer, const Dropout& dropout) {
    check_defined("residual", "x", x);
    check_shape("residual", "sublayer", sublayer, x.shape());
    check_dtype("residual", "sublayer", sublayer, x.dtype());
    check_device("residual", {{"x", x}, {"sublayer", sublayer}});
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        residual_cuda(x, sublayer, dropout, y);
        return y;
    }
    dispatch_real("residual", x, [&]<class T>(TypeTag<T>) {
        const T* stream = x.data<T>();
        const T* branch = sublayer.data<T>();
        T* to = y.mutable_data<T>();
        const std::int64_t work = (dropout.active() ? 4 : 1) * x.cols();
        parallel_for(x.rows(), grain_for(work),
                     [&](std::int64_t begin, std::int64_t end) { add_rows(stream, branch, to, begin, end, x.cols(), dropout); });
    });
    return y;
}

Tensor residual_backward(const Tensor& dy, const Dropout& dropout) { return dropout_backward(dy, dropout); }

}  // namespace heddle::kernels
