#include "kernels/dropout/dropout.h"

#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

void drop_row(const float* x, float* y, std::int64_t row, std::int64_t cols, const Dropout& dropout) {
    const auto low = static_cast<std::uint32_t>(row), high = static_cast<std::uint32_t>(row >> 32);
    VecF factors[4];
    for (std::int64_t start = 0; start < cols; start += kDropoutBlock) {
        dropout_block(dropout, start, low, high, 0, factors);
        for (int i = 0; i < 4 && start + i * kFloats < cols; ++i) {
            const std::int64_t at = start + i * kFloats;
            store_at(y, at, cols, load_at(x, at, cols) * factors[i]);
        }
    }
}

}  // namespace

void dropout_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols, const Dropout& dropout) {
    for (std::int64_t row = begin; row < end; ++row) drop_row(x + row * cols, y + row * cols, row, cols, dropout);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
