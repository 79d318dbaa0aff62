// Division of an index by a number known on the host, to get its row and column.
//
// A GPU has no instruction for it. nvcc looks at run time whether 32 bits do, and then estimates 1 / d, multiplies and corrects:
// more than a kernel that only moves an element has otherwise. Granlund and Montgomery, "Division by invariant integers using
// multiplication" (1994), figure 4.1, needs one multiplication instead, for n below 2^32 and 1 <= d < 2^32:
//
//     l = ceil(log2 d),   factor = floor(2^32 (2^l - d) / d) + 1                        on the host
//     t = floor(factor n / 2^32),   n / d = (t + (n - t) / 2^min(l, 1)) / 2^max(l - 1, 0)    exactly
//
// Larger indices use an ordinary division; each thread chooses.
#pragma once

#include <cstdint>

#include "kernels/device/cuda.h"

namespace heddle::device {

/// A divisor as a kernel's parameter: index / divisor, index - row * divisor.number.
struct Divisor {
    std::int64_t number = 1;
    std::uint32_t factor = 1;
    std::uint16_t shift = 0, more = 0;  // 1, l - 1; or both 0

    Divisor() = default;
    /// A divisor of 0 or less must not be used.
    Divisor(std::int64_t divisor) : number(divisor) {  // NOLINT: a number is its own divisor
        if (divisor < 1 || divisor >> 32 != 0) return;
        int log = 0;
        while (std::int64_t{1} << log < divisor) ++log;
        const auto d = static_cast<std::uint64_t>(divisor);
        factor = static_cast<std::uint32_t>((((std::uint64_t{1} << log) - d) << 32) / d + 1);
        shift = log > 0;
        more = static_cast<std::uint16_t>(log > 0 ? log - 1 : 0);
    }
};

/// n >= 0.
__device__ __forceinline__ std::int64_t operator/(std::int64_t n, const Divisor& by) {
    if ((n | by.number) >> 32 != 0) return n / by.number;
    const auto index = static_cast<std::uint32_t>(n);
    const auto t = static_cast<std::uint32_t>((std::uint64_t{by.factor} * index) >> 32);
    return (t + ((index - t) >> by.shift)) >> by.more;
}

}  // namespace heddle::device
