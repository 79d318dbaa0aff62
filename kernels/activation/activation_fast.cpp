#include "kernels/activation/activation.h"

#include "kernels/activation/activation_simd.h"
#include "kernels/simd_rows.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

// The tail goes through a vector too, so that an element's bits do not depend on its place.
template <class Function>
void map(const float* x, float* y, std::int64_t n, Function function) {
    for_vectors(n, [=](auto at) { at.put(y, function(at.take(x))); });
}
template <class Slope>
void map_gradient(const float* dy, const float* x, float* dx, std::int64_t n, Slope slope) {
    for_vectors(n, [=](auto at) { at.put(dx, at.take(dy) * slope(at.take(x))); });
}

}  // namespace

void smooth_values(const float* x, float* y, std::int64_t n, Activation f) {
    if (f == Activation::silu)
        map(x, y, n, [](VecF at) { return silu(at); });
    else if (f == Activation::gelu_tanh)
        map(x, y, n, [](VecF at) { return gelu_tanh(at); });
    else
        map(x, y, n, [](VecF at) { return gelu(at); });
}

void smooth_gradients(const float* dy, const float* x, float* dx, std::int64_t n, Activation f) {
    if (f == Activation::silu)
        map_gradient(dy, x, dx, n, [](VecF at) { return silu_and_slope(at).slope; });
    else if (f == Activation::gelu_tanh)
        map_gradient(dy, x, dx, n, [](VecF at) { return gelu_tanh_slope(at); });
    else
        map_gradient(dy, x, dx, n, [](VecF at) { return gelu_slope(at); });
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
