// x + dropout(sublayer), element by element.
#pragma once

#include "tests/numbers.h"

namespace heddle::kernels {

/// In f64; an undefined x counts as zeros.
inline Tensor plain_residual(const Tensor& x, const Tensor& sublayer, const Dropout& dropout) {
    Tensor y = x.defined() ? x.to(DType::f64).clone() : Tensor::zeros(sublayer.shape(), DType::f64);
    const std::vector<double> added = sublayer.to_vector();
    for (std::int64_t at = 0; at < sublayer.numel(); ++at)
        if (dropout.keeps_row(at / sublayer.cols(), at % sublayer.cols()))
            y.mutable_data<double>()[at] += added[static_cast<std::size_t>(at)] * dropout.scale();
    return y;
}

}  // namespace heddle::kernels
