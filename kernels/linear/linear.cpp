#include "kernels/linear/linear.h"

#include <algorithm>
#include <utility>

#include "core/branch.h"
#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/cast/cast.h"
#include "kernels/matmul/batch_invariant.h"
#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {
namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_rank("linear", "weight", weight, 2);
    check_dtype("linear", "x", x, weight.dtype());
    check(x.rank() >= 1, "linear: x is a scalar, wanted rows of {}", weight.cols());
    check_device("linear", {{"x", x}, {"weight", weight}, {"bias", bias}});
    check(x.cols() == weight.cols(), "linear: x has shape {}, but weight {} takes rows of {}", x.shape(), weight.shape(),
          weight.cols());
    if (!bias.defined()) return;
    check_shape("linear", "bias", bias, {weight.dim(0)});
    check_dtype("linear", "bias", bias, weight.dtype());
}

// x's shape with other columns.
Shape with_cols(const Shape& shape, std::int64_t cols) {
    Shape changed = shape;
    changed.set(-1, cols);
    return changed;
}

// The bias has the dtype of y.
void forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor& y) {
    product_cuda({.op = "linear",
                  .m = x.rows(),
                  .n = weight.dim(0),
                  .k = x.cols(),
                  .a = DeviceMatrix(x),
                  .b = DeviceMatrix(weight).transpose(),
                  .c = DeviceResult(y),
                  .bias = bias});
}

}  // namespace

Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed) {
    check_linear(x, weight, bias);
    const std::int64_t rows = x.rows(), in = x.cols(), out = weight.dim(0);
    Tensor y = Tensor::empty(with_cols(x.shape(), out), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        forward_cuda(x, weight, bias, y);
        return y;
    }
    dispatch_real("linear", x, [&]<class T>(TypeTag<T>) {
        const Epilogue<T> epilogue{.bias = bias.defined() ? bias.data<T>() : nullptr};
        const MatrixRef<T> result{y.mutable_data<T>(), out, 1};
        if (packed)
            product<T>(rows, out, in, whole<T>(x), packed->panels<T>(weight), result, epilogue);
        else
            product<T>(rows, out, in, whole<T>(x), whole<T>(weight).transposed(), result, epilogue);
    });
    return y;
}

Tensor linear_forward_f32(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_linear(x, weight, bias);
    check(x.dtype() == DType::bf16 && x.device() == Device::cuda,
          "linear: an f32 result of its own is for bf16 on cuda, not {} on {}", x.dtype(), name(x.device()));
    Tensor y = Tensor::empty(with_cols(x.shape(), weight.dim(0)), DType::f32, Device::cuda);
    forward_cuda(x, weight, bias.defined() ? cast(bias, DType::f32) : bias, y);
    return y;
}

Tensor linear_backward_x(const Tensor& dy, const Tensor& weight) {
    check_shape("linear_backward", "dy", dy, with_cols(dy.shape(), weight.dim(0)));
    check_device("linear_backward", {{"dy", dy}, {"weight", weight}});
    const std::int64_t rows = dy.rows(), out = dy.cols(), in = weight.cols();
    Tensor dx = Tensor::empty(with_cols(dy.shape(), in), dy.dtype(), dy.device());
    if (dy.device() == Device::cuda) {
        product_cuda({.op = "linear_backward",
                      .m = rows,
                      .n = in,
                      .k = out,
                      .a = DeviceMatrix(dy),
                      .b = DeviceMatrix(weight),
                      .c = DeviceResult(dx)});
        return dx;
    }
    dispatch_real("linear", dy, [&]<class T>(TypeTag<T>) {
        product<T>(rows, in, out, whole<T>(dy), whole<T>(weight), {dx.mutable_data<T>(), in, 1});
    });
    return dx;
}

void linear_backward_weight(const Tensor& dy, const Tensor& x, Tensor& dweight) {
    check_defined("linear_backward", "dy", dy);
    check_defined("linear_backward", "x", x);
    check_shape("linear_backward", "dweight", dweight, {dy.cols(), x.cols()});
    check_shape("linear_backward", "dy", dy, with_cols(x.shape(), dy.cols()));
    check_device("linear_backward", {{"dy", dy}, {"x", x}, {"dweight", dweight}});
    if (dy.device() == Device::cuda) {
        const auto multiply = [&] {
            product_cuda({.op = "linear_backward",
                          .m = dy.cols(),
                          .n = x.cols(),
                          .k = x.rows(),
                          .a = DeviceMatrix(dy).transpose(),
                          .b = DeviceMatrix(x),
                          .c = DeviceResult(dweight),
                          .accumulate = true});
        };
        // A batch-invariant product may need temporary memory, which two streams must not share.
        if (batch_invariant()) return multiply();
        return device::Branches::run({dy, x}, dweight, multiply);  // in a graph it may run beside what comes next
    }
    dispatch_real("linear", dy, [&]<class T>(TypeTag<T>) {
        product<T>(dy.cols(), x.cols(), x.rows(), whole<T>(dy).transposed(), whole<T>(x),
                   {dweight.mutable_data<T>(), x.cols(), 1}, {.accumulate = true});
    });
}

void linear_backward_bias(const Tensor& dy, Tensor& dbias) {
    check_shape("linear_backward", "dbias", dbias, {dy.cols()});
    check_device("linear_backward", {{"dy", dy}, {"dbias", dbias}});
    if (dy.device() == Device::cuda) {
        BiasSum sum{dy, dbias};
        return linear_backward_biases_cuda({&sum, 1});
    }
    constexpr std::int64_t kRows = 128;  // per partial sum: fixed, so that the bits depend on the rows alone
    const std::int64_t rows = dy.rows(), cols = dy.cols(), parts = (rows + kRows - 1) / kRows;
    dispatch_real("linear", dy, [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        Tensor partial = Tensor::zeros({parts, cols}, dy.dtype());
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part) {
                T* sum = partial.mutable_data<T>() + part * cols;
                for (std::int64_t i = part * kRows; i < std::min(rows, (part + 1) * kRows); ++i)
                    for (std::int64_t j = 0; j < cols; ++j) sum[j] += from[i * cols + j];
            }
        });
        T* sum = dbias.mutable_data<T>();
        for (std::int64_t part = 0; part < parts; ++part)
            for (std::int64_t j = 0; j < cols; ++j) sum[j] += partial.data<T>()[part * cols + j];
    });
}

// ---- sums that wait

namespace {

thread_local BiasSums* innermost = nullptr;

}  // namespace

BiasSums::BiasSums() : outer_(std::exchange(innermost, this)) {}
BiasSums::~BiasSums() { innermost = outer_; }

bool BiasSums::exists() { return innermost != nullptr; }

void BiasSums::add(const Tensor& dy, Tensor dbias) {
    constexpr std::size_t kMost = 16;                           // what one launch takes
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 26;  // a tensor that waits here could have been freed
    if (innermost == nullptr || dy.device() == Device::cpu) return linear_backward_bias(dy, dbias);
    check_shape("linear_backward", "dbias", dbias, {dy.cols()});
    check_device("linear_backward", {{"dy", dy}, {"dbias", dbias}});
    before_use_of(dbias);  // within one launch two additions to it would race
    BiasSums& sums = *innermost;
    sums.waiting_.push_back({dy, std::move(dbias)});
    sums.bytes_ += dy.bytes();
    if (sums.waiting_.size() == kMost || sums.bytes_ > kMostBytes) flush();
}

bool BiasSums::pending(const Tensor& tensor) {
    if (innermost == nullptr || innermost->waiting_.empty() || !tensor.defined() || tensor.device() == Device::cpu) return false;
    const std::byte* const begin = tensor.bytes_data();
    return std::any_of(innermost->waiting_.begin(), innermost->waiting_.end(), [&](const BiasSum& sum) {
        const std::byte* const at = sum.dbias.bytes_data();
        return at < begin + tensor.bytes() && begin < at + sum.dbias.bytes();
    });
}

void BiasSums::before_use_of(const Tensor& tensor) {
    if (pending(tensor)) flush();
}

void BiasSums::flush() {
    if (innermost == nullptr || innermost->waiting_.empty()) return;
    linear_backward_biases_cuda(innermost->waiting_);
    innermost->waiting_.clear();
    innermost->bytes_ = 0;
}

}  // namespace heddle::kernels
