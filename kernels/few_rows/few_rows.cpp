#include "kernels/few_rows/few_rows.h"

#include "core/check.h"
#include "core/format.h"
#include "kernels/matmul/batch_invariant.h"

namespace heddle::kernels {
namespace {

constexpr const char* kOp = "few_rows_linear";

bool aligned(const Tensor& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.bytes_data()) % 16 == 0; }

}  // namespace

bool takes_few_rows(const Tensor& x, const Tensor& weight) {
    return x.device() == Device::cuda && x.dtype() == DType::bf16 && x.rank() == 2 && x.rows() <= kFewRows &&
           x.cols() % 32 == 0 && x.cols() <= kFewRowsWidest && x.cols() > 0 && aligned(x) && aligned(weight) &&
           !batch_invariant();
}

void few_rows_linear(const FewRowsLinear& call, FewRowsResult result) {
    check_rank(kOp, "x", call.x, 2);
    check_rank(kOp, "weight", call.weight, 2);
    const std::int64_t rows = call.x.rows(), in = call.x.cols(), out = call.weight.dim(0);
    check_shape(kOp, "weight", call.weight, {out, in});
    check(takes_few_rows(call.x, call.weight),
          "few_rows_linear: x is {} {} on {}; wanted up to {} rows of bf16 on cuda, a multiple of 32 columns up to {}, aligned "
          "to 16 bytes, and no batch-invariant products",
          call.x.shape(), call.x.dtype(), name(call.x.device()), kFewRows, kFewRowsWidest);
    check_dtype(kOp, "weight", call.weight, DType::bf16);
    check_device(kOp, {{"x", call.x}, {"weight", call.weight}, {"y", result.y}});
    const std::int64_t tail = result.tail.defined() ? result.tail.cols() : 0;
    const auto check_one = [&](const char* argument, const Tensor& tensor, const Shape& shape) {
        if (!tensor.defined()) return;
        check_shape(kOp, argument, tensor, shape);
        check_dtype(kOp, argument, tensor, DType::bf16);
        check_device(kOp, argument, tensor, Device::cuda);
        check(aligned(tensor) || shape.rank() == 2, "few_rows_linear: {} is not aligned to 16 bytes", argument);
    };
    check_one("bias", call.bias, {out});
    check_one("residual", call.residual, {rows, out});
    if (result.tail.defined()) check_one("tail", result.tail, {result.tail.dim(0), tail});
    check(!result.tail.defined() || (result.tail_row >= 0 && result.tail_row + rows <= result.tail.dim(0)),
          "few_rows_linear: {} rows from row {} on of a tail that has {}", rows, result.tail_row,
          result.tail.defined() ? result.tail.dim(0) : 0);
    check_one("normed", result.normed, {rows, in});
    check(!result.normed.defined() || call.norm.has_value(), "few_rows_linear: normed is asked for, but there is no norm");
    if (call.norm.has_value()) {
        check_one("gamma", call.norm->gamma, {in});
        check_one("beta", call.norm->beta, {in});
    }
    check_shape(kOp, "y", result.y, {rows, out - tail});
    check(result.y.dtype() == DType::bf16 || result.y.dtype() == DType::f32, "few_rows_linear: y is {}, wanted bf16 or f32",
          result.y.dtype());
    few_rows_linear_cuda(call, result);
}

}  // namespace heddle::kernels
