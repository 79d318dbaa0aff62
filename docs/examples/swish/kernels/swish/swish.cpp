#include "kernels/swish/swish.h"

#include <algorithm>
#include <cmath>

#include "core/dual.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// The reference, for every type of element: one row forward, and the columns [begin, end) of all rows backward.
void swish_row(const auto* x, const auto* beta, auto* y, std::int64_t n) {
    using std::exp;
    for (std::int64_t j = 0; j < n; ++j) y[j] = x[j] / (1 + exp(-beta[j] * x[j]));
}

void swish_columns(const auto* dy, const auto* x, const auto* beta, auto* dx, auto* dbeta, std::int64_t rows, std::int64_t cols,
                   std::int64_t begin, std::int64_t end) {
    using std::exp;
    for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
            const auto value = x[i * cols + j], d = dy[i * cols + j], z = beta[j] * value;
            const auto s = 1 / (1 + exp(-z));
            dx[i * cols + j] = d * (s + z * s * (1 - s));
            if (dbeta != nullptr) dbeta[j] += d * value * value * s * (1 - s);
        }
}

}  // namespace

Tensor swish_forward(const Tensor& x, const Tensor& beta) {
    check_rank("swish", "x", x, 2);
    check_shape("swish", "beta", beta, {x.cols()});
    check_dtype("swish", "beta", beta, x.dtype());
    check_device("swish", {{"x", x}, {"beta", beta}});
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        swish_forward_cuda(x, beta, y);
        return y;
    }
    dispatch_real("swish", x, [&]<class T>(TypeTag<T>) {
        const std::int64_t cols = x.cols();
        parallel_for(x.rows(), grain_for(20 * cols), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                swish_row(x.data<T>() + i * cols, beta.data<T>(), y.mutable_data<T>() + i * cols, cols);
        });
    });
    return y;
}

Tensor swish_backward(const Tensor& dy, const Tensor& x, const Tensor& beta, Tensor dbeta) {
    check_shape("swish_backward", "dy", dy, x.shape());
    check_shape("swish_backward", "beta", beta, {x.cols()});
    check_dtype("swish_backward", "dy", dy, x.dtype());
    check_device("swish_backward", {{"x", x}, {"dy", dy}, {"beta", beta}, {"dbeta", dbeta}});
    Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (dx.device() == Device::cuda) {
        swish_backward_cuda(dy, x, beta, dx, dbeta);
        return dx;
    }
    dispatch_real("swish_backward", x, [&]<class T>(TypeTag<T>) {
        constexpr std::int64_t kColumns = 16;  // a whole vector at every level
        const std::int64_t rows = x.rows(), cols = x.cols();
        T* const sums = dbeta.defined() ? dbeta.mutable_data<T>() : nullptr;
        // Columns are parallel, rows are summed in order: the bits do not depend on the number of threads.
        parallel_for((cols + kColumns - 1) / kColumns, grain_for(20 * rows * kColumns),
                     [&](std::int64_t begin, std::int64_t end) {
                         swish_columns(dy.data<T>(), x.data<T>(), beta.data<T>(), dx.mutable_data<T>(), sums, rows, cols,
                                       begin * kColumns, std::min(cols, end * kColumns));
                     });
    });
    return dx;
}

}  // namespace heddle::kernels
