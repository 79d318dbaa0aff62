#include "kernels/feed_forward/detail/feed_forward.h"

#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using namespace ::heddle::HEDDLE_LEVEL;  // NOLINT: the vectors of this level

void relu_dropout_gradient(float* dh, const float* h, std::int64_t rows, std::int64_t cols, float scale, float* column_sums) {
    for (std::int64_t j = 0; j < cols; j += kFloats) {
        VecF sums = {};
        for (std::int64_t i = 0; i < rows; ++i) {
            const VecF value = load_at(h + i * cols, j, cols);
            const VecF gradient = value <= 0.0f ? VecF{} : load_at(dh + i * cols, j, cols) * scale;  // a NaN lets it through
            store_at(dh + i * cols, j, cols, gradient);
            sums += gradient;
        }
        if (column_sums != nullptr) store_at(column_sums, j, cols, load_at(column_sums, j, cols) + sums);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
