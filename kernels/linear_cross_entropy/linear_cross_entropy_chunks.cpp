// Linear + cross entropy on the device: the walk over chunks of rows. The CPU's walk is linear_cross_entropy.cpp.
#include <algorithm>

#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/detail/linear_cross_entropy.h"
#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {
namespace {

constexpr const char* kLossOp = "linear_cross_entropy";

// A multiple of 128, a product's tile. It depends on the shape alone, and so do the bits.
std::int64_t rows_of_chunk(std::int64_t vocabulary, DType dtype) {
    const std::int64_t fit = kChunkBytes / std::max<std::int64_t>(1, vocabulary * size_of(dtype));
    return std::max<std::int64_t>(128, fit / 128 * 128);
}

// Sums over rows are f32 for bf16, so that chunk after chunk can be added.
DType sum_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

}  // namespace

LinearCrossEntropyResult linear_cross_entropy_chunks(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& targets, const LossOptions& options,
                                                     const LinearCrossEntropyWants& wants, std::int64_t chunk_rows) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), vocabulary = weight.dim(0);
    if (chunk_rows == 0) chunk_rows = rows_of_chunk(vocabulary, x.dtype());
    LinearCrossEntropyResult result;
    result.loss = Tensor::empty({}, x.dtype(), Device::cuda);
    result.statistics = Tensor::empty({4}, DType::f64, Device::cuda);
    if (wants.x) result.dx = Tensor::empty(x.shape(), x.dtype(), Device::cuda);
    if (wants.weight) result.dweight = Tensor::zeros(weight.shape(), sum_dtype(x.dtype()), Device::cuda);
    if (wants.bias) result.dbias = Tensor::zeros({vocabulary}, sum_dtype(x.dtype()), Device::cuda);
    const bool gradient = wants.x || wants.weight || wants.bias;
    const Tensor divisor = loss_divisor_cuda(targets, vocabulary, options);
    const Tensor losses = Tensor::empty({3, rows}, DType::f64, Device::cuda);
    const Tensor space = Tensor::empty({std::min(rows, chunk_rows), vocabulary}, x.dtype(), Device::cuda);
    for (std::int64_t first = 0; first < rows; first += chunk_rows) {
        const std::int64_t count = std::min(chunk_rows, rows - first);
        const DeviceMatrix x_rows(x.slice(first, first + count));
        const Tensor logits = space.slice(0, count);
        product_cuda({.op = kLossOp,
                      .m = count,
                      .n = vocabulary,
                      .k = d_model,
                      .a = x_rows,
                      .b = DeviceMatrix(weight).transpose(),
                      .c = DeviceMatrix(logits),
                      .bias = bias});
        cross_entropy_rows_cuda(logits, targets.slice(first, first + count), options, divisor, {}, losses,
                                gradient ? logits : Tensor(), first);
        // From here on the logits are dlogits.
        if (wants.x)
            product_cuda({.op = kLossOp,
                          .m = count,
                          .n = d_model,
                          .k = vocabulary,
                          .a = DeviceMatrix(logits),
                          .b = DeviceMatrix(weight),
                          .c = DeviceMatrix(result.dx.slice(first, first + count))});
        if (wants.weight)
            product_cuda({.op = kLossOp,
                          .m = vocabulary,
                          .n = d_model,
                          .k = count,
                          .a = DeviceMatrix(logits).transpose(),
                          .b = x_rows,
                          .c = DeviceMatrix(result.dweight),
                          .accumulate = true});
        if (wants.bias) linear_backward_bias(logits, result.dbias);
    }
    loss_totals_cuda(losses, divisor, result.statistics, result.loss);
    return result;
}

}  // namespace heddle::kernels
