// Linear + cross entropy on the device: the walk over chunks of rows. The CPU's walk is linear_cross_entropy.cpp.
#include <algorithm>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "kernels/matmul/product_cuda.h"

namespace heddle::kernels {
namespace {

constexpr const char* kLossOp = "linear_cross_entropy";

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Sums over rows are f32 for bf16, so that chunk after chunk can be added.
DType sum_dtype(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

}  // namespace

std::int64_t loss_chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t d_model, DType dtype) {
    constexpr std::int64_t kTile = 128;  // of a product: chunks are whole ones
    const std::int64_t row = std::max<std::int64_t>(1, vocabulary * size_of(dtype));
    const std::int64_t cached = std::max(kTile, kChunkBytes / row / kTile * kTile);
    if (vocabulary * d_model * size_of(sum_dtype(dtype)) <= kCachedWeightBytes) return cached;
    const std::int64_t few = round_up((rows + kMostWeightPasses - 1) / kMostWeightPasses, kTile);
    return std::max(cached, std::min(few, kMostChunkBytes / row / kTile * kTile));
}

LinearCrossEntropyResult linear_cross_entropy_chunks(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& targets, const LossOptions& options,
                                                     const LinearCrossEntropyWants& wants, std::int64_t chunk_rows) {
    const std::int64_t rows = x.rows(), d_model = x.cols(), vocabulary = weight.dim(0);
    if (chunk_rows == 0) chunk_rows = loss_chunk_rows(rows, vocabulary, d_model, x.dtype());
    LinearCrossEntropyResult result;
    result.loss = Tensor::empty({}, x.dtype(), Device::cuda);
    result.statistics = Tensor::empty({4}, DType::f64, Device::cuda);
    if (wants.x) result.dx = Tensor::empty(x.shape(), x.dtype(), Device::cuda);
    if (wants.weight)  // the first chunk starts it
        result.dweight = rows > 0 ? Tensor::empty(weight.shape(), sum_dtype(x.dtype()), Device::cuda)
                                  : Tensor::zeros(weight.shape(), sum_dtype(x.dtype()), Device::cuda);
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
                      .c = DeviceResult(logits),
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
                          .c = DeviceResult(result.dx.slice(first, first + count))});
        if (wants.weight)
            product_cuda({.op = kLossOp,
                          .m = vocabulary,
                          .n = d_model,
                          .k = count,
                          .a = DeviceMatrix(logits).transpose(),
                          .b = x_rows,
                          .c = DeviceResult(result.dweight),
                          .accumulate = first > 0});
        if (wants.bias) linear_backward_bias(logits, result.dbias);
    }
    loss_totals_cuda(losses, divisor, result.statistics, result.loss);
    return result;
}

}  // namespace heddle::kernels
