#include <algorithm>
#include <cmath>

#include "kernels/log_softmax/log_softmax.h"
#include "kernels/simd_rows.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

void forward_row(const float* x, float* y, std::int64_t cols) {
    const float largest = largest_of(x, cols);
    const float shift = largest == kMinusInfinity ? 0 : largest;
    const double total = sum_in_blocks(cols, [=](auto at) { return exp_below_zero(at.take(x, kMinusInfinity) - shift); });
    const auto log_total = static_cast<float>(total == 0 ? 0 : std::log(total));
    // The large parts cancel first: log_total is at most the logarithm of cols.
    for_vectors(cols, [=](auto at) { at.put(y, at.take(x) - shift - log_total); });
}

// No row of a distribution is -infinity everywhere.
bool lost(const float* y, std::int64_t cols) {
    return std::all_of(y, y + cols, [](float at) { return at == kMinusInfinity; });
}

void backward_row(const float* dy, const float* y, float* dx, std::int64_t cols) {
    if (lost(y, cols)) {
        std::fill_n(dx, cols, 0.0f);
        return;
    }
    const auto total = static_cast<float>(sum_in_blocks(cols, [=](auto at) { return at.take(dy); }));
    for_vectors(cols, [=](auto at) { at.put(dx, at.take(dy) - exp_below_zero(at.take(y)) * total); });
}

}  // namespace

void log_softmax_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row) forward_row(x + row * cols, y + row * cols, cols);
}

void log_softmax_backward_rows(const float* dy, const float* y, float* dx, std::int64_t begin, std::int64_t end,
                               std::int64_t cols) {
    for (std::int64_t row = begin; row < end; ++row) backward_row(dy + row * cols, y + row * cols, dx + row * cols, cols);
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
