#include "kernels/embedding/embedding.h"

#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

void embed_row(const float* table, const float* position, float scale, float* y, std::int64_t row, std::int64_t cols,
               const Dropout& dropout) {
    VecF factors[4] = {broadcast(1.0f), broadcast(1.0f), broadcast(1.0f), broadcast(1.0f)};
    for (std::int64_t column = 0; column < cols; column += kDropoutBlock) {
        if (dropout.active())
            dropout_block(dropout, column, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), 0, factors);
        for (int i = 0; i < 4 && column + i * kFloats < cols; ++i) {
            const std::int64_t at = column + i * kFloats;
            VecF value = scale * load_at(table, at, cols);
            if (position != nullptr) value += load_at(position, at, cols);
            store_at(y, at, cols, value * factors[i]);
        }
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
