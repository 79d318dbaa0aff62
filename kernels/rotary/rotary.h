// Rotary position embedding: queries and keys are turned by angles that grow with their position, so that their products depend
// on the distance between them alone.
//
// Su et al., "RoFormer: Enhanced transformer with rotary position embedding" (2021), equation 34. A head of n columns is n / 2
// pairs of numbers. With p the position of a row and pair i:
//     theta_i = base^(-2 i / n),   a = p theta_i
//     y_i           = x_i cos a - x_{i + n/2} sin a
//     y_{i + n/2}   = x_{i + n/2} cos a + x_i sin a
// Pairs: number i and number i + n / 2 of a head (as LLaMA's weights have it at Hugging Face); the paper pairs neighbours, which
// is the same model with the rows of the projection in another order.
// Backward turns dy back, by -a: a rotation's inverse is its transpose. Nothing but the positions is saved.
//
// Angles are kept in whole turns as fractions of 2^64: f_i = 2^64 theta_i / (2 pi), rounded to an integer, and the angle of
// position p is p f_i modulo 2^64. The multiplication of integers is exact, so a position of a million costs no digit.
#pragma once

#include <cstdint>
#include <span>

#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/device/growth.h"
#include "kernels/level.h"

namespace heddle::kernels {

struct RotaryPlan {
    std::int64_t head_dim = 0;        ///< columns of a head, an even number
    std::int64_t columns = 0;         ///< how many of x's columns are turned, head by head; the others are copied
    double base = 10000;              ///< above 1
    std::int64_t first_position = 0;  ///< the position of each span's first row
    bool inverse = false;             ///< turns back
    device::Growth growth = {};       ///< of first_position, on CUDA
};

/// x [rows, cols] turned, f32 or f64 (on CUDA bf16, too, and heads of up to 256 columns). The position of a row is its place in
/// its span after `first_position`, and rows outside the spans become zero; or it is positions[row], i32 [rows], where
/// `positions` is defined, and the spans are not looked at. Error when heads do not fill the columns, or a position is negative
/// (on CUDA that stops the kernel).
Tensor rotary(const Tensor& x, const Spans& spans, const Tensor& positions, const RotaryPlan& plan);

/// f_i for each pair of a head: what a position turns it by, in turns times 2^64.
std::span<const std::uint64_t> rotary_frequencies(std::int64_t head_dim, double base);

// ---- the loops over rows (rotary.cpp, rotary_fast.cpp)

template <class T>
struct RotaryArrays {
    const T* x;                        // [rows, cols]
    T* y;                              // [rows, cols]
    const std::int32_t* positions;     // [rows]; -1: the row becomes zero
    const std::uint64_t* frequencies;  // [head_dim / 2]
    std::int64_t cols, columns, head_dim;
    bool inverse;
};
/// Rows [begin, end).
HEDDLE_DECLARE_LEVELS(void rotary_rows(const RotaryArrays<float>& arrays, std::int64_t begin, std::int64_t end))

// ---- the CUDA side (rotary.cu): arguments are checked and the result allocated by rotary.cpp

/// The widest head that the kernel takes.
inline constexpr std::int64_t kWidestRotaryHead = 256;
HEDDLE_CUDA_FUNCTION(void rotary_cuda(const Tensor& x, const Spans& spans, const Tensor& positions, const RotaryPlan& plan,
                                      Tensor& y))

}  // namespace heddle::kernels
