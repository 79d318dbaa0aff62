#include "kernels/activation/activation.h"

#include "kernels/activation/activation_simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

// to[i] = function(a[i], b[i]), a vector at a time. The tail goes through a vector too, so that an element's bits do not depend
// on its place.
template <class Function>
void sweep(const float* a, const float* b, float* to, std::int64_t n, Function function) {
    for (std::int64_t i = 0; i < n; i += kFloats) store_at(to, i, n, function(load_at(a, i, n), load_at(b, i, n)));
}

}  // namespace

void smooth_values(const float* x, float* y, std::int64_t n, Activation f) {
    if (f == Activation::silu)
        sweep(x, x, y, n, [](VecF at, VecF) { return silu(at); });
    else if (f == Activation::gelu_tanh)
        sweep(x, x, y, n, [](VecF at, VecF) { return gelu_tanh(at); });
    else
        sweep(x, x, y, n, [](VecF at, VecF) { return gelu(at); });
}

void smooth_gradients(const float* dy, const float* x, float* dx, std::int64_t n, Activation f) {
    if (f == Activation::silu)
        sweep(dy, x, dx, n, [](VecF gradient, VecF at) { return gradient * silu_and_slope(at).slope; });
    else if (f == Activation::gelu_tanh)
        sweep(dy, x, dx, n, [](VecF gradient, VecF at) { return gradient * gelu_tanh_slope(at); });
    else
        sweep(dy, x, dx, n, [](VecF gradient, VecF at) { return gradient * gelu_slope(at); });
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
