#include "kernels/simd.h"
#include "kernels/swish/swish.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

void swish_row(const float* x, const float* beta, float* y, std::int64_t n) {
    for (std::int64_t j = 0; j < n; j += kFloats) {
        const VecF value = load_at(x, j, n);
        store_at(y, j, n, value / (1.0f + ::heddle::HEDDLE_LEVEL::exp(-load_at(beta, j, n) * value)));
    }
}

void swish_columns(const float* dy, const float* x, const float* beta, float* dx, float* dbeta, std::int64_t rows,
                   std::int64_t cols, std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; j += kFloats) {
        const VecF slope = load_at(beta, j, cols);
        VecF sum = dbeta != nullptr ? load_at(dbeta, j, cols) : VecF{};
        for (std::int64_t i = 0; i < rows; ++i) {
            const VecF value = load_at(x + i * cols, j, cols), d = load_at(dy + i * cols, j, cols), z = slope * value;
            // Of e^-|z|, which cannot overflow: s (1 - s) = e / (1 + e)^2 without the difference.
            const VecF e = ::heddle::HEDDLE_LEVEL::exp(z > 0.0f ? -z : z), r = 1.0f / (1.0f + e);
            const VecF gate = e * r * r;
            store_at(dx + i * cols, j, cols, d * ((z > 0.0f ? r : e * r) + z * gate));
            sum += d * value * value * gate;
        }
        if (dbeta != nullptr) store_at(dbeta, j, cols, sum);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
