#include "kernels/matmul/matmul.h"

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "kernels/matmul/product.h"

namespace heddle::kernels {
namespace {

// The b-th matrix of a batched tensor; transposed when asked.
template <class T>
MatrixRef<const T> matrix(const Tensor& tensor, std::int64_t batch, bool transpose) {
    const std::int64_t rows = tensor.dim(-2), cols = tensor.dim(-1);
    const MatrixRef<const T> plain{tensor.data<T>() + batch * rows * cols, cols, 1};
    return transpose ? plain.transposed() : plain;
}

// out = or += left * right for one batch entry; the transpose of that where the output is stored transposed.
template <class T>
void multiply_into(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> left, MatrixRef<const T> right, T* out,
                   bool transposed, bool accumulate) {
    if (transposed)
        product<T>(n, m, k, right.transposed(), left.transposed(), {out, m, 1}, {.accumulate = accumulate});
    else
        product<T>(m, n, k, left, right, {out, n, 1}, {.accumulate = accumulate});
}

}  // namespace

MatmulShape matmul_shape(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    check_defined("matmul", "a", a);
    check_dtype("matmul", "b", b, a.dtype());
    check(a.rank() >= 2 && b.rank() >= 2, "matmul: a has shape {} and b {}, wanted at least 2 axes each", a.shape(), b.shape());
    MatmulShape shape;
    shape.m = a.dim(transpose_a ? -1 : -2);
    shape.k = a.dim(transpose_a ? -2 : -1);
    shape.n = b.dim(transpose_b ? -2 : -1);
    const std::int64_t k = b.dim(transpose_b ? -1 : -2);
    check(k == shape.k, "matmul: a {}{} has {} columns, but b {}{} has {} rows", a.shape(), transpose_a ? " transposed" : "",
          shape.k, b.shape(), transpose_b ? " transposed" : "", k);
    shape.shared_b = b.rank() == 2 && a.rank() > 2;
    check(shape.shared_b || a.rank() == b.rank(), "matmul: a has shape {} and b {}, wanted equal leading axes, or none in b",
          a.shape(), b.shape());
    for (int axis = 0; axis < a.rank() - 2; ++axis) {
        check(shape.shared_b || a.dim(axis) == b.dim(axis), "matmul: a has shape {} and b {}, wanted equal leading axes",
              a.shape(), b.shape());
        shape.batch *= a.dim(axis);
        shape.result.append(a.dim(axis));
    }
    shape.result.append(shape.m);
    shape.result.append(shape.n);
    return shape;
}

Tensor matmul_forward(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    const MatmulShape s = matmul_shape(a, b, transpose_a, transpose_b);
    Tensor c = Tensor::empty(s.result, a.dtype());
    dispatch_float("matmul", a.dtype(), [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)
            product<T>(s.m, s.n, s.k, matrix<T>(a, i, transpose_a), matrix<T>(b, s.shared_b ? 0 : i, transpose_b),
                       {c.data<T>() + i * s.m * s.n, s.n, 1});
    });
    return c;
}

Tensor matmul_backward_a(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    const MatmulShape s = matmul_shape(a, b, transpose_a, transpose_b);
    check_shape("matmul_backward", "dc", dc, s.result);
    Tensor da = Tensor::empty(a.shape(), a.dtype());
    dispatch_float("matmul", a.dtype(), [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)  // dC [m, n] op(B)^T [n, k]
            multiply_into<T>(s.m, s.k, s.n, matrix<T>(dc, i, false), matrix<T>(b, s.shared_b ? 0 : i, transpose_b).transposed(),
                             da.data<T>() + i * s.m * s.k, transpose_a, false);
    });
    return da;
}

void matmul_backward_b(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, Tensor& db) {
    const MatmulShape s = matmul_shape(a, b, transpose_a, transpose_b);
    check_shape("matmul_backward", "dc", dc, s.result);
    check_shape("matmul_backward", "db", db, b.shape());
    dispatch_float("matmul", a.dtype(), [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)  // op(A)^T [k, m] dC [m, n]
            multiply_into<T>(s.k, s.n, s.m, matrix<T>(a, i, transpose_a).transposed(), matrix<T>(dc, i, false),
                             db.data<T>() + (s.shared_b ? 0 : i) * s.k * s.n, transpose_b, true);
    });
}

}  // namespace heddle::kernels
