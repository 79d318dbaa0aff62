#include "kernels/residual/residual.h"

#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

void add_row(const float* x, const float* sublayer, float* y, std::int64_t row, std::int64_t cols, const Dropout& dropout) {
    const auto low = static_cast<std::uint32_t>(row), high = static_cast<std::uint32_t>(row >> 32);
    VecF factors[4];
    for (std::int64_t start = 0; start < cols; start += kDropoutBlock) {
        dropout_block(dropout, start, low, high, 0, factors);
        for (int i = 0; i < 4 && start + i * kFloats < cols; ++i) {
            const std::int64_t at = start + i * kFloats;
            store_at(y, at, cols, load_at(x, at, cols) + load_at(sublayer, at, cols) * factors[i]);
        }
    }
}

}  // namespace

void residual_rows(const float* x, const float* sublayer, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols,
                   const Dropout& dropout) {
    for (std::int64_t row = begin; row < end; ++row)
        add_row(x + row * cols, sublayer + row * cols, y + row * cols, row, cols, dropout);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
