#include "kernels/adam/adam.h"

#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/adam/detail/adam.h"

namespace heddle::kernels {
namespace {

constexpr std::int64_t kAdamBlock = 16384;

double without_subnormals(double x) { return std::abs(x) < std::numeric_limits<double>::min() ? 0 : x; }

// The references, in f64.
void adam_values(double* parameters, const double* gradients, double* first, double* second, std::int64_t n,
                 const AdamCoefficients<double>& c) {
    for (std::int64_t i = 0; i < n; ++i) {
        const double g = gradients[i] * c.gradient_factor + c.l2 * parameters[i];
        first[i] = without_subnormals(c.beta1 * first[i] + c.rest1 * g);
        second[i] = without_subnormals(c.beta2 * second[i] + c.rest2 * g * g);
        parameters[i] =
            updated(parameters[i], c.keep * parameters[i] - c.rate * first[i] / (std::sqrt(second[i]) * c.root + c.eps));
    }
}

void sgd_values(double* parameters, const double* gradients, double* momentum, std::int64_t n, const SgdCoefficients<double>& c) {
    for (std::int64_t i = 0; i < n; ++i) {
        const double g = gradients[i] * c.gradient_factor + c.l2 * parameters[i];
        momentum[i] = without_subnormals(c.momentum * momentum[i] + g);
        parameters[i] = updated(parameters[i], parameters[i] - c.lr * momentum[i]);
    }
}

void adam_values(float* parameters, const float* gradients, float* first, float* second, std::int64_t n,
                 const AdamCoefficients<float>& c) {
    by_level(v2::adam_values, v3::adam_values, v4::adam_values)(parameters, gradients, first, second, n, c);
}

void sgd_values(float* parameters, const float* gradients, float* momentum, std::int64_t n, const SgdCoefficients<float>& c) {
    by_level(v2::sgd_values, v3::sgd_values, v4::sgd_values)(parameters, gradients, momentum, n, c);
}

}  // namespace

StepNumbers step_numbers(const AdamStep& step) {
    const auto t = static_cast<double>(step.update);
    return {step.decoupled ? 1 - step.lr * step.weight_decay : 1, step.lr / (1 - std::pow(step.beta1, t)),
            1 / std::sqrt(1 - std::pow(step.beta2, t))};
}

StepNumbers step_numbers(const SgdStep& step) { return {1, step.lr, 1}; }

template <class T>
AdamCoefficients<T> adam_coefficients(const AdamStep& step) {
    AdamCoefficients<T> c;
    c.gradient_factor = static_cast<T>(step.gradient_factor);
    c.l2 = static_cast<T>(step.decoupled ? 0 : step.weight_decay);
    c.beta1 = static_cast<T>(step.beta1);
    c.rest1 = static_cast<T>(1 - step.beta1);
    c.beta2 = static_cast<T>(step.beta2);
    c.rest2 = static_cast<T>(1 - step.beta2);
    c.eps = static_cast<T>(step.eps);
    take_numbers(step_numbers(step).data(), c);
    return c;
}

template <class T>
SgdCoefficients<T> sgd_coefficients(const SgdStep& step) {
    return {static_cast<T>(step.gradient_factor), static_cast<T>(step.weight_decay), static_cast<T>(step.momentum),
            static_cast<T>(step.lr)};
}

template AdamCoefficients<float> adam_coefficients(const AdamStep&);
template AdamCoefficients<double> adam_coefficients(const AdamStep&);
template SgdCoefficients<float> sgd_coefficients(const SgdStep&);
template SgdCoefficients<double> sgd_coefficients(const SgdStep&);

namespace {

void check_arrays(const char* op, const Tensor& parameters, const Tensor& gradients, const Spans& active) {
    check_rank(op, "parameters", parameters, 1);
    check_defined(op, "parameters", parameters);
    check_shape(op, "gradients", gradients, parameters.shape());
    check_dtype(op, "gradients", gradients, parameters.dtype());
    check(active.rows() == parameters.numel(), "{}: the active ranges are those of {} elements, but parameters has {}", op,
          active.rows(), parameters.numel());
}

void check_state(const char* op, const char* argument, const Tensor& state, const Tensor& parameters) {
    check_shape(op, argument, state, parameters.shape());
    check_dtype(op, argument, state, parameters.dtype());
}

void check_memory(const char* op, const UpdateInMemory& memory, const Tensor& parameters) {
    if (memory.measured.defined()) {
        check_shape(op, "measured", memory.measured, {2});
        check_dtype(op, "measured", memory.measured, DType::f64);
    }
    if (memory.numbers.defined()) {
        check_shape(op, "numbers", memory.numbers, {3});
        check_dtype(op, "numbers", memory.numbers, DType::f64);
    }
    if (memory.bf16_copy.defined()) {
        check_shape(op, "bf16_copy", memory.bf16_copy, parameters.shape());
        check_dtype(op, "bf16_copy", memory.bf16_copy, DType::bf16);
    }
    check_device(op, {{"parameters", parameters},
                      {"measured", memory.measured},
                      {"numbers", memory.numbers},
                      {"bf16_copy", memory.bf16_copy}});
}

// On the CPU: whether there is an update, and with which factor.
bool take_factor(const UpdateInMemory& memory, double& factor) {
    if (!memory.measured.defined()) return true;
    const double* measured = memory.measured.data<double>();
    factor = measured[1];
    return std::isfinite(measured[0]);
}

template <class T>
void copy_rounded(const T* parameters, Tensor& copy, std::int64_t begin, std::int64_t end) {
    if (!copy.defined()) return;
    bf16* to = copy.mutable_data<bf16>();
    for (std::int64_t i = begin; i < end; ++i) to[i] = bf16(static_cast<float>(parameters[i]));
}

// body(begin, end) for pieces of the active ranges, on several threads.
template <class Body>
void for_active(const Spans& active, Body body) {
    for (const Span& range : active)
        parallel_for(range.length, kAdamBlock,
                     [&](std::int64_t begin, std::int64_t end) { body(range.start + begin, range.start + end); });
}

}  // namespace

void adam_step(Tensor& parameters, const Tensor& gradients, Tensor& first_moment, Tensor& second_moment, const Spans& active,
               const AdamStep& step, UpdateInMemory memory, Where where) {
    check_arrays("adam", parameters, gradients, active);
    check_state("adam", "first_moment", first_moment, parameters);
    check_state("adam", "second_moment", second_moment, parameters);
    check(step.update >= 1, "adam: this is update {}, but they count from 1", step.update);
    check(step.beta1 >= 0 && step.beta1 < 1 && step.beta2 >= 0 && step.beta2 < 1,
          "adam: the betas are {} and {}, wanted at least 0 and below 1", step.beta1, step.beta2);
    check(parameters.dtype() == DType::f64 ? step.eps > 0 : static_cast<float>(step.eps) > 0,
          "adam: eps is {}, wanted a number above 0 in {}: a parameter without a gradient would become 0/0", step.eps,
          parameters.dtype());
    check_memory("adam", memory, parameters);
    check_device(
        "adam",
        {{"parameters", parameters}, {"gradients", gradients}, {"first_moment", first_moment}, {"second_moment", second_moment}});
    for (const Tensor* changed : {&parameters, &first_moment, &second_moment}) changed->bump_version(where);
    if (memory.bf16_copy.defined()) memory.bf16_copy.bump_version(where);
    if (parameters.device() == Device::cuda)
        return adam_step_cuda(parameters, gradients, first_moment, second_moment, active, step, memory);
    AdamStep with = step;
    if (!take_factor(memory, with.gradient_factor)) return;
    dispatch_float("adam", parameters, [&]<class T>(TypeTag<T>) {
        T* p = parameters.mutable_data<T>();
        const T* g = gradients.data<T>();
        T* m = first_moment.mutable_data<T>();
        T* v = second_moment.mutable_data<T>();
        AdamCoefficients<T> c = adam_coefficients<T>(with);
        if (memory.numbers.defined()) take_numbers(memory.numbers.data<double>(), c);
        for_active(active, [&](std::int64_t begin, std::int64_t end) {
            adam_values(p + begin, g + begin, m + begin, v + begin, end - begin, c);
            copy_rounded(p, memory.bf16_copy, begin, end);
        });
    });
}

void sgd_step(Tensor& parameters, const Tensor& gradients, Tensor& momentum, const Spans& active, const SgdStep& step,
              UpdateInMemory memory, Where where) {
    check_arrays("sgd", parameters, gradients, active);
    check_state("sgd", "momentum", momentum, parameters);
    check_memory("sgd", memory, parameters);
    check_device("sgd", {{"parameters", parameters}, {"gradients", gradients}, {"momentum", momentum}});
    for (const Tensor* changed : {&parameters, &momentum}) changed->bump_version(where);
    if (memory.bf16_copy.defined()) memory.bf16_copy.bump_version(where);
    if (parameters.device() == Device::cuda) return sgd_step_cuda(parameters, gradients, momentum, active, step, memory);
    SgdStep with = step;
    if (!take_factor(memory, with.gradient_factor)) return;
    dispatch_float("sgd", parameters, [&]<class T>(TypeTag<T>) {
        T* p = parameters.mutable_data<T>();
        const T* g = gradients.data<T>();
        T* m = momentum.mutable_data<T>();
        SgdCoefficients<T> c = sgd_coefficients<T>(with);
        if (memory.numbers.defined()) take_numbers(memory.numbers.data<double>(), c);
        for_active(active, [&](std::int64_t begin, std::int64_t end) {
            sgd_values(p + begin, g + begin, m + begin, end - begin, c);
            copy_rounded(p, memory.bf16_copy, begin, end);
        });
    });
}

}  // namespace heddle::kernels
