// An update's numbers, and the vectorised CPU path (adam_fast.cpp).
#pragma once

#include "kernels/adam/adam.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// The parameter after an update to `changed`.
template <class T>
constexpr T updated(T p, T changed) {
    return p <= static_cast<T>(kUndecayed) ? p : changed;
}

/// An update's numbers, as the loop needs them.
template <class T>
struct AdamCoefficients {
    T gradient_factor;
    T l2;            ///< decay that is added to the gradient; 0 for AdamW
    T keep;          ///< 1 - lr decay for AdamW; else 1
    T beta1, rest1;  ///< rest1 = 1 - beta1
    T beta2, rest2;
    T rate;  ///< lr / (1 - beta1^t)
    T root;  ///< 1 / sqrt(1 - beta2^t)
    T eps;
};

template <class T>
struct SgdCoefficients {
    T gradient_factor;
    T l2;
    T momentum;
    T lr;
};

/// The numbers of a step (adam.cpp). T float or double.
template <class T>
AdamCoefficients<T> adam_coefficients(const AdamStep& step);
template <class T>
SgdCoefficients<T> sgd_coefficients(const SgdStep& step);
/// Puts a step's numbers in.
template <class T>
constexpr void take_numbers(const double* numbers, AdamCoefficients<T>& c) {
    c.keep = static_cast<T>(numbers[0]);
    c.rate = static_cast<T>(numbers[1]);
    c.root = static_cast<T>(numbers[2]);
}
template <class T>
constexpr void take_numbers(const double* numbers, SgdCoefficients<T>& c) {
    c.lr = static_cast<T>(numbers[1]);
}

/// parameters, gradients, first (m) and second (v) moments [n].
HEDDLE_DECLARE_LEVELS(void adam_values(float* parameters, const float* gradients, float* first, float* second, std::int64_t n,
                                       const AdamCoefficients<float>& with))
/// parameters, gradients, momentum (m) [n].
HEDDLE_DECLARE_LEVELS(void sgd_values(float* parameters, const float* gradients, float* momentum, std::int64_t n,
                                      const SgdCoefficients<float>& with))

}  // namespace heddle::kernels
