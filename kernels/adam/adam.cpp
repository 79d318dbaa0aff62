#include "kernels/adam/adam.h"

#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/adam/adam_fast.h"

namespace heddle::kernels {
namespace {

constexpr std::int64_t kBlock = 16384;

double without_subnormals(double x) { return std::abs(x) < std::numeric_limits<double>::min() ? 0 : x; }

// The references, in f64.
void adam_values(double* parameters, const double* gradients, double* first, double* second, std::int64_t n,
                 const AdamCoefficients<double>& c) {
    for (std::int64_t i = 0; i < n; ++i) {
        const double g = gradients[i] * c.gradient_factor + c.l2 * parameters[i];
        first[i] = without_subnormals(c.beta1 * first[i] + c.rest1 * g);
        second[i] = without_subnormals(c.beta2 * second[i] + c.rest2 * g * g);
        parameters[i] = c.keep * parameters[i] - c.rate * first[i] / (std::sqrt(second[i]) * c.root + c.eps);
    }
}

void sgd_values(double* parameters, const double* gradients, double* momentum, std::int64_t n, const SgdCoefficients<double>& c) {
    for (std::int64_t i = 0; i < n; ++i) {
        const double g = gradients[i] * c.gradient_factor + c.l2 * parameters[i];
        momentum[i] = without_subnormals(c.momentum * momentum[i] + g);
        parameters[i] -= c.lr * momentum[i];
    }
}

void adam_values(float* parameters, const float* gradients, float* first, float* second, std::int64_t n,
                 const AdamCoefficients<float>& c) {
    HEDDLE_BY_LEVEL(adam_values)(parameters, gradients, first, second, n, c);
}

void sgd_values(float* parameters, const float* gradients, float* momentum, std::int64_t n, const SgdCoefficients<float>& c) {
    HEDDLE_BY_LEVEL(sgd_values)(parameters, gradients, momentum, n, c);
}

template <class T>
AdamCoefficients<T> coefficients(const AdamStep& step) {
    const auto t = static_cast<double>(step.update);
    AdamCoefficients<T> c;
    c.gradient_factor = static_cast<T>(step.gradient_factor);
    c.l2 = static_cast<T>(step.decoupled ? 0 : step.weight_decay);
    c.keep = static_cast<T>(step.decoupled ? 1 - step.lr * step.weight_decay : 1);
    c.beta1 = static_cast<T>(step.beta1);
    c.rest1 = static_cast<T>(1 - step.beta1);
    c.beta2 = static_cast<T>(step.beta2);
    c.rest2 = static_cast<T>(1 - step.beta2);
    c.rate = static_cast<T>(step.lr / (1 - std::pow(step.beta1, t)));
    c.root = static_cast<T>(1 / std::sqrt(1 - std::pow(step.beta2, t)));
    c.eps = static_cast<T>(step.eps);
    return c;
}

void check_arrays(const char* op, const Tensor& parameters, const Tensor& gradients, const Spans& active) {
    check_rank(op, "parameters", parameters, 1);
    check_dtype(op, "parameters", parameters, parameters.dtype());
    check_shape(op, "gradients", gradients, parameters.shape());
    check_dtype(op, "gradients", gradients, parameters.dtype());
    check(active.rows() == parameters.numel(), "{}: the active ranges are those of {} elements, but parameters has {}", op,
          active.rows(), parameters.numel());
}

void check_state(const char* op, const char* argument, const Tensor& state, const Tensor& parameters) {
    check_shape(op, argument, state, parameters.shape());
    check_dtype(op, argument, state, parameters.dtype());
}

// body(begin, end) for pieces of the active ranges, on several threads.
template <class Body>
void for_active(const Spans& active, Body body) {
    for (const Span& range : active)
        parallel_for(range.length, kBlock,
                     [&](std::int64_t begin, std::int64_t end) { body(range.start + begin, range.start + end); });
}

}  // namespace

void adam_step(Tensor& parameters, const Tensor& gradients, Tensor& first_moment, Tensor& second_moment, const Spans& active,
               const AdamStep& step, Where where) {
    check_arrays("adam", parameters, gradients, active);
    check_state("adam", "first_moment", first_moment, parameters);
    check_state("adam", "second_moment", second_moment, parameters);
    check(step.update >= 1, "adam: this is update {}, but they count from 1", step.update);
    check(step.beta1 >= 0 && step.beta1 < 1 && step.beta2 >= 0 && step.beta2 < 1,
          "adam: the betas are {} and {}, wanted at least 0 and below 1", step.beta1, step.beta2);
    dispatch_float("adam", parameters.dtype(), [&]<class T>(TypeTag<T>) {
        T* p = parameters.data<T>();
        const T* g = gradients.data<T>();
        T* m = first_moment.data<T>();
        T* v = second_moment.data<T>();
        const AdamCoefficients<T> c = coefficients<T>(step);
        for_active(active, [&](std::int64_t begin, std::int64_t end) {
            adam_values(p + begin, g + begin, m + begin, v + begin, end - begin, c);
        });
    });
    for (const Tensor* changed : {&parameters, &first_moment, &second_moment}) changed->bump_version(where);
}

void sgd_step(Tensor& parameters, const Tensor& gradients, Tensor& momentum, const Spans& active, const SgdStep& step,
              Where where) {
    check_arrays("sgd", parameters, gradients, active);
    check_state("sgd", "momentum", momentum, parameters);
    dispatch_float("sgd", parameters.dtype(), [&]<class T>(TypeTag<T>) {
        T* p = parameters.data<T>();
        const T* g = gradients.data<T>();
        T* m = momentum.data<T>();
        const SgdCoefficients<T> c = {static_cast<T>(step.gradient_factor), static_cast<T>(step.weight_decay),
                                      static_cast<T>(step.momentum), static_cast<T>(step.lr)};
        for_active(active,
                   [&](std::int64_t begin, std::int64_t end) { sgd_values(p + begin, g + begin, m + begin, end - begin, c); });
    });
    for (const Tensor* changed : {&parameters, &momentum}) changed->bump_version(where);
}

}  // namespace heddle::kernels
