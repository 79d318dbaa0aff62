#include "nn/few_rows.h"

namespace heddle::nn {
namespace {

// Beyond both, the product with a vocabulary's weight takes longer than the launches that cuBLASLt's needs around it (the norm,
// the bias in f32), and cuBLASLt reads the weight less often.
constexpr std::int64_t kRowsOfWideProduct = 128, kElementsOfWideProduct = std::int64_t{1} << 20;

Tensor value_or_none(const Variable& variable) { return variable.defined() ? variable.value() : Tensor(); }

}  // namespace

std::optional<kernels::RowNorm> FewRows::row_norm() const {
    if (norm_ == nullptr) return {};
    return kernels::RowNorm{norm_->weight().value(), norm_->bias().value(), norm_->eps()};
}

Tensor FewRows::read(const Linear& linear, std::optional<ops::Activation> activation, const DecoderCache::Place& tail) {
    const Tensor weight = linear.weight().value();
    const std::int64_t out = weight.dim(0) - (tail.rows.defined() ? tail.rows.cols() : 0);
    kernels::FewRowsResult result{.y = Tensor::empty({x_.rows(), out}, DType::bf16, Device::cuda),
                                  .tail = tail.rows,
                                  .tail_row = tail.first,
                                  .tail_growth = tail.growth};
    // With post-norm the normalised value becomes the stream.
    if (!pre_ && norm_ != nullptr) result.normed = Tensor::empty(x_.shape(), DType::bf16, Device::cuda);
    kernels::few_rows_linear({x_, weight, value_or_none(linear.bias()), row_norm(), activation}, result);
    residual_ = result.normed.defined() ? result.normed : x_;
    return result.y;
}

void FewRows::add(const Tensor& h, const Linear& linear, const Norm* next) {
    const Tensor sum = Tensor::empty(residual_.shape(), DType::bf16, Device::cuda);
    kernels::few_rows_linear(
        {.x = h, .weight = linear.weight().value(), .bias = value_or_none(linear.bias()), .residual = residual_}, {sum});
    x_ = sum;
    norm_ = next;
    residual_ = Tensor();
}

Tensor FewRows::logits(const Tensor& weight, const Tensor& bias) const {
    if (x_.rows() > kRowsOfWideProduct && weight.numel() > kElementsOfWideProduct) {
        const Tensor x = norm_ == nullptr ? x_ : norm_->forward(Variable(x_)).value();
        return kernels::linear_forward_f32(x, weight, bias);
    }
    const Tensor y = Tensor::empty({x_.rows(), weight.dim(0)}, DType::f32, Device::cuda);
    kernels::few_rows_linear({x_, weight, bias, row_norm()}, {y});
    return y;
}

}  // namespace heddle::nn
