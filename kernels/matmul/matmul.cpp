#include "kernels/matmul/matmul.h"

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "kernels/matmul/product.h"
#include "kernels/matmul/product_cuda.h"

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

// ---- on the device: the same products, the whole batch with one call

// From one matrix of a batched tensor to the next; `shared`: there is one for all of them.
std::int64_t stride_of(const Tensor& tensor, bool shared) { return shared ? 0 : tensor.dim(-2) * tensor.dim(-1); }

DeviceMatrix device_matrix(const Tensor& tensor, bool transpose, bool shared = false) {
    const DeviceMatrix matrix = DeviceMatrix(tensor).batched(stride_of(tensor, shared));
    return transpose ? matrix.transpose() : matrix;
}

DeviceResult device_result(Tensor& tensor, bool shared = false) {
    return DeviceResult(tensor).batched(stride_of(tensor, shared));
}

void forward_cuda(const MatmulShape& s, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, Tensor& c) {
    const bool tall = s.shared_b && !transpose_a;  // one b for the whole batch: it is one tall matrix
    product_cuda({.m = tall ? s.batch * s.m : s.m,
                  .n = s.n,
                  .k = s.k,
                  .batch = tall ? 1 : s.batch,
                  .a = device_matrix(a, transpose_a),
                  .b = device_matrix(b, transpose_b, s.shared_b),
                  .c = device_result(c)});
}

// dC [m, n] op(B)^T [n, k]; stored transposed: op(B) [k, n] dC^T [n, m]
void backward_a_cuda(const MatmulShape& s, const Tensor& dc, const Tensor& b, bool transpose_a, bool transpose_b, Tensor& da) {
    DeviceProduct product{.n = s.k, .k = s.n, .batch = s.batch, .c = device_result(da)};
    const DeviceMatrix factor = device_matrix(b, transpose_b, s.shared_b);
    if (transpose_a) {
        product.m = s.k, product.n = s.m;
        product.a = factor, product.b = device_matrix(dc, true);
    } else {
        product.m = s.m;
        product.a = device_matrix(dc, false), product.b = factor.transpose();
        if (s.shared_b) product.m *= s.batch, product.batch = 1;
    }
    product_cuda(product);
}

// op(A)^T [k, m] dC [m, n]; stored transposed: dC^T [n, m] op(A) [m, k]
void backward_b_cuda(const MatmulShape& s, const Tensor& dc, const Tensor& a, bool transpose_a, bool transpose_b, Tensor& db) {
    DeviceProduct product{.k = s.m, .batch = s.batch, .c = device_result(db, s.shared_b), .accumulate = true};
    const DeviceMatrix left = device_matrix(a, transpose_a), right = device_matrix(dc, false);
    product.m = transpose_b ? s.n : s.k;
    product.n = transpose_b ? s.k : s.n;
    product.a = transpose_b ? right.transpose() : left.transpose();
    product.b = transpose_b ? left : right;
    if (!s.shared_b) return product_cuda(product);
    product.batch = 1;
    if (!transpose_a) {
        product.k = s.batch * s.m;  // the batch is a part of the sum
        return product_cuda(product);
    }
    for (std::int64_t i = 0; i < s.batch; ++i) {  // one after another into the same dB: a fixed order
        product_cuda(product);
        product.a.advance(product.a.batch_stride);
        product.b.advance(product.b.batch_stride);
    }
}

}  // namespace

MatmulShape matmul_shape(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    check_defined("matmul", "a", a);
    check_dtype("matmul", "b", b, a.dtype());
    check_device("matmul", {{"a", a}, {"b", b}});
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
    Tensor c = Tensor::empty(s.result, a.dtype(), a.device());
    if (a.device() == Device::cuda) {
        forward_cuda(s, a, b, transpose_a, transpose_b, c);
        return c;
    }
    dispatch_real("matmul", a, [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)
            product<T>(s.m, s.n, s.k, matrix<T>(a, i, transpose_a), matrix<T>(b, s.shared_b ? 0 : i, transpose_b),
                       {c.mutable_data<T>() + i * s.m * s.n, s.n, 1});
    });
    return c;
}

Tensor matmul_backward_a(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
    const MatmulShape s = matmul_shape(a, b, transpose_a, transpose_b);
    check_shape("matmul_backward", "dc", dc, s.result);
    check_device("matmul_backward", {{"a", a}, {"dc", dc}});
    Tensor da = Tensor::empty(a.shape(), a.dtype(), a.device());
    if (a.device() == Device::cuda) {
        backward_a_cuda(s, dc, b, transpose_a, transpose_b, da);
        return da;
    }
    dispatch_real("matmul", a, [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)  // dC [m, n] op(B)^T [n, k]
            multiply_into<T>(s.m, s.k, s.n, matrix<T>(dc, i, false), matrix<T>(b, s.shared_b ? 0 : i, transpose_b).transposed(),
                             da.mutable_data<T>() + i * s.m * s.k, transpose_a, false);
    });
    return da;
}

void matmul_backward_b(const Tensor& dc, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, Tensor& db) {
    const MatmulShape s = matmul_shape(a, b, transpose_a, transpose_b);
    check_shape("matmul_backward", "dc", dc, s.result);
    check_shape("matmul_backward", "db", db, b.shape());
    check_device("matmul_backward", {{"a", a}, {"dc", dc}, {"db", db}});
    if (a.device() == Device::cuda) return backward_b_cuda(s, dc, a, transpose_a, transpose_b, db);
    dispatch_real("matmul", a, [&]<class T>(TypeTag<T>) {
        for (std::int64_t i = 0; i < s.batch; ++i)  // op(A)^T [k, m] dC [m, n]
            multiply_into<T>(s.k, s.n, s.m, matrix<T>(a, i, transpose_a).transposed(), matrix<T>(dc, i, false),
                             db.mutable_data<T>() + (s.shared_b ? 0 : i) * s.k * s.n, transpose_b, true);
    });
}

}  // namespace heddle::kernels
