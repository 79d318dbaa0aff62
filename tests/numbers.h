// What tests of numbers need: random tensors, comparisons that a NaN fails, and every build of a fast function.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/cpu.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"

namespace heddle {

/// Normal numbers, the same for the same key.
inline Tensor normal(const Shape& shape, DType dtype, std::uint64_t key, double mean = 0, double deviation = 1) {
    Tensor values = Tensor::empty(shape, dtype);
    fill_normal(values, mean, deviation, key);
    return values;
}

/// max |a - b| / max |b|, or max |a - b| where b is zero; infinity when a shape differs or a number is NaN. Equal infinities
/// agree.
inline double relative_error(const Tensor& a, const Tensor& b) {
    if (!a.defined() || !b.defined() || a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    const std::vector<double> given = a.to_vector(), wanted = b.to_vector();
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] == wanted[i]) {
            if (std::isfinite(wanted[i])) largest = std::max(largest, std::abs(wanted[i]));
            continue;
        }
        const double error = std::abs(given[i] - wanted[i]);
        if (!(error < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, error);
        largest = std::max(largest, std::abs(wanted[i]));
    }
    return largest > 0 ? worst / largest : worst;
}

/// The larger number; NaN when one of them is, which std::max may forget.
inline double larger_or_nan(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

/// Same shape, dtype and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.defined() && b.defined() && a.shape() == b.shape() && a.dtype() == b.dtype() &&
           (a.numel() == 0 || std::memcmp(a.bytes_data(), b.bytes_data(), static_cast<std::size_t>(a.bytes())) == 0);
}

/// Sets the number of threads for as long as it lives.
class WithThreads {
  public:
    explicit WithThreads(int count) : before_(threads()) { set_threads(count); }
    ~WithThreads() { set_threads(before_); }
    WithThreads(const WithThreads&) = delete;
    WithThreads& operator=(const WithThreads&) = delete;

  private:
    int before_;
};

/// `size` elements between two rows of guard values; the elements start as NaN, so that an unwritten one is seen.
template <class T>
class Guarded {
  public:
    explicit Guarded(std::int64_t size) : values_(static_cast<std::size_t>(size) + 2 * kGuard, kGuardValue) {
        for (std::int64_t i = 0; i < size; ++i) data()[i] = std::numeric_limits<T>::quiet_NaN();
    }
    T* data() { return values_.data() + kGuard; }
    /// Whether nothing was written outside the elements.
    bool intact() const {
        for (std::size_t i = 0; i < kGuard; ++i)
            if (values_[i] != kGuardValue || values_[values_.size() - 1 - i] != kGuardValue) return false;
        return true;
    }
    Tensor tensor(const Shape& shape) { return Tensor::from(std::span<const T>(data(), values_.size() - 2 * kGuard), shape); }

  private:
    static constexpr std::size_t kGuard = 64;
    static constexpr T kGuardValue = static_cast<T>(-12345.5);
    std::vector<T> values_;
};

/// Of the builds for v2, v3 and v4 those that this processor can run.
template <class Function>
std::vector<Function> runnable(std::vector<Function> by_level) {
    by_level.resize(std::min(by_level.size(), static_cast<std::size_t>(processor_level()) - 1));
    return by_level;
}

}  // namespace heddle

/// All builds of a *_fast.cpp function that this processor can run, as a vector of function pointers.
#if !defined(HEDDLE_ONE_LEVEL)
#define HEDDLE_ALL_LEVELS(function) ::heddle::runnable<decltype(&v2::function)>({&v2::function, &v3::function, &v4::function})
#else
#define HEDDLE_ALL_LEVELS(function) ::heddle::runnable<decltype(&v2::function)>({&v2::function})
#endif
