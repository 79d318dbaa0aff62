#include <algorithm>

#include "kernels/simd_functions.h"
#include "kernels/simd_rows.h"
#include "kernels/softmax/softmax.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

typedef std::uint8_t Flags __attribute__((vector_size(kFloats)));

// All bits where the mask lets a column attend.
VecI attending(const std::uint8_t* mask, std::int64_t j, std::int64_t end) {
    Flags flags{};
    std::memcpy(&flags, mask + j, static_cast<std::size_t>(std::min<std::int64_t>(kFloats, end - j)));
    return __builtin_convertvector(flags, VecI) != 0;
}

// The scores of a row, -infinity where it does not attend, go to y; returns the largest.
float scores(const float* x, const std::uint8_t* mask, float scale, const float* bias, float* y, std::int64_t end) {
    for (std::int64_t j = 0; j < end; j += kFloats) {
        VecF score = load_at(x, j, end) * scale;
        if (bias != nullptr) score = score + load_at(bias, j, end);
        if (mask != nullptr) score = attending(mask, j, end) ? score : broadcast(kMinusInfinity);
        store_at(y, j, end, score);
    }
    return largest_of(y, end);
}

bool forward_row(const float* x, const std::uint8_t* mask, float scale, const float* bias, float* y, std::int64_t end,
                 std::int64_t cols) {
    std::fill(y + end, y + cols, 0.0f);
    const bool plain = mask == nullptr && bias == nullptr && scale == 1;
    const float* from = plain ? x : y;
    const float largest = plain ? largest_of(x, end) : scores(x, mask, scale, bias, y, end);
    const float shift = largest == kMinusInfinity ? 0 : largest;  // nothing attends: the exponentials are 0, or a NaN
    const double total = sum_in_blocks(end, [=](auto at) {
        const VecF e = exp_gradual_below_zero(at.take(from, kMinusInfinity) - shift);
        at.put(y, e);
        return e;
    });
    if (!(total < std::numeric_limits<double>::infinity())) return false;
    if (total == 0) return true;
    const auto factor = static_cast<float>(1 / total);
    for_vectors(end, [=](auto at) { at.put(y, at.take(y) * factor); });
    return true;
}

void backward_row(const float* dy, const float* y, float scale, float* dx, std::int64_t cols) {
    const auto along = static_cast<float>(sum_in_blocks(cols, [=](auto at) { return at.take(dy) * at.take(y); }));
    for_vectors(cols, [=](auto at) { at.put(dx, at.take(y) * (at.take(dy) - along) * scale); });
}

}  // namespace

bool softmax_row(const float* x, const std::uint8_t* mask, float scale, const float* bias, float* y, std::int64_t end,
                 std::int64_t cols) {
    return forward_row(x, mask, scale, bias, y, end, cols);
}

void softmax_backward_rows(const float* dy, const float* y, double scale, float* dx, std::int64_t begin, std::int64_t end,
                           std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row)
        backward_row(dy + row * cols, y + row * cols, static_cast<float>(scale), dx + row * cols, cols);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
