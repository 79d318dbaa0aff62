#include "kernels/adam/detail/adam.h"

#include <cfloat>

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
namespace {

inline float without_subnormals(float x) { return __builtin_fabsf(x) < FLT_MIN ? 0.0f : x; }

}  // namespace

// Plain loops, which the compiler vectorises as they stand, square root and division included.

void adam_values(float* __restrict parameters, const float* __restrict gradients, float* __restrict first,
                 float* __restrict second, std::int64_t n, const AdamCoefficients<float>& with) {
    const AdamCoefficients<float> c = with;  // a copy that no store can alias
    for (std::int64_t i = 0; i < n; ++i) {
        const float p = parameters[i];
        const float g = gradients[i] * c.gradient_factor + c.l2 * p;
        const float m = without_subnormals(c.beta1 * first[i] + c.rest1 * g);
        const float v = without_subnormals(c.beta2 * second[i] + c.rest2 * g * g);
        first[i] = m;
        second[i] = v;
        parameters[i] = updated(p, c.keep * p - c.rate * m / (__builtin_sqrtf(v) * c.root + c.eps));
    }
}

void sgd_values(float* __restrict parameters, const float* __restrict gradients, float* __restrict momentum, std::int64_t n,
                const SgdCoefficients<float>& with) {
    const SgdCoefficients<float> c = with;
    for (std::int64_t i = 0; i < n; ++i) {
        const float p = parameters[i];
        const float m = without_subnormals(c.momentum * momentum[i] + (gradients[i] * c.gradient_factor + c.l2 * p));
        momentum[i] = m;
        parameters[i] = updated(p, p - c.lr * m);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
