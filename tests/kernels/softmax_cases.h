// Masks to try softmax with.
#pragma once

#include "tests/numbers.h"

namespace heddle::kernels {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// u8: about two thirds of the places attend; in the second row none.
inline Tensor random_mask(const Shape& shape, std::uint64_t key) {
    Sequence random(key);
    Tensor mask = Tensor::empty(shape, DType::u8);
    for (std::int64_t i = 0; i < mask.numel(); ++i)
        mask.mutable_data<std::uint8_t>()[i] =
            i / mask.cols() == 1 ? std::uint8_t{0} : static_cast<std::uint8_t>(random.below(3));
    return mask;
}

}  // namespace heddle::kernels
