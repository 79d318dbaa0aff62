// Guesses the most likely mistake from a wrong gradient.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle::proof {
namespace {

using Cause = std::optional<std::string>;

double largest_error(const Evidence& e) {
    double most = 0;
    for (std::size_t i = 0; i < e.analytic.size(); ++i) most = std::max(most, std::abs(e.analytic[i] - e.numeric[i]));
    return most;
}

// Equal up to noise and an inexact fit: a cause need not explain the last digit, but must explain most of the error.
bool alike(const Evidence& e, double a, double b) {
    return std::abs(a - b) <= std::max(10 * largest(e.allowed), std::min(1e-6 * largest(e.numeric), largest_error(e) / 20));
}

// True if analytic[i] is about expected(i) for all i.
template <class Expected>
bool explained(const Evidence& e, Expected expected) {
    for (std::size_t i = 0; i < e.analytic.size(); ++i)
        if (!alike(e, e.analytic[i], expected(i))) return false;
    return true;
}

// False for a gradient of zeros or of one element, which any cause would fit.
bool telling(const Evidence& e) { return e.analytic.size() > 1 && largest(e.numeric) > 100 * largest(e.allowed); }

Cause not_finite(const Evidence& e) {
    if (std::isfinite(largest(e.analytic))) return {};
    return "a NaN or Inf in backward: a division by zero, 0 * inf, or memory that was never written";
}

Cause nothing_given(const Evidence& e) {
    if (largest(e.analytic) != 0 || !(largest(e.numeric) > 10 * largest(e.allowed))) return {};
    return "backward hands this input nothing: a give() is missing, or its value was used outside the tape";
}

Cause should_be_zero(const Evidence& e) {
    if (largest(e.numeric) > 10 * largest(e.allowed)) return {};
    return "the function does not depend on this input, yet backward gives it a gradient";
}

Cause sign_flipped(const Evidence& e) {
    if (!explained(e, [&](std::size_t i) { return -e.numeric[i]; })) return {};
    return "the sign is flipped";
}

// Names the extent if the factor is one, or one over one: most often a sum was taken instead of a mean.
std::string extent_named(const Evidence& e, double factor) {
    for (const Shape* shape : {&e.shape, &e.output})
        for (int axis = 0; axis < shape->rank(); ++axis) {
            const auto extent = static_cast<double>((*shape)[axis]);
            const std::string of = fmt::format("{} of the {} {}", extent, shape == &e.shape ? "input" : "output", *shape);
            if (extent > 1 && std::abs(factor * extent - 1) < 1e-5)
                return fmt::format(" (one over the extent {}: a mean for a sum?)", of);
            if (extent > 1 && std::abs(factor / extent - 1) < 1e-5) return fmt::format(" (the extent {}: a sum for a mean?)", of);
        }
    return "";
}

Cause constant_factor(const Evidence& e) {
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < e.analytic.size(); ++i) {
        product += e.analytic[i] * e.numeric[i];
        square += e.numeric[i] * e.numeric[i];
    }
    const double factor = product / square;
    if (e.analytic.size() < 2 || !explained(e, [&](std::size_t i) { return factor * e.numeric[i]; })) return {};
    const double from_one = std::abs(factor - 1);
    if (from_one == 0) return {};  // the error is too small to change the fit
    const int digits = from_one < 1e-3 ? 3 - static_cast<int>(std::floor(std::log10(from_one))) : 6;
    return fmt::format("a constant factor: backward is {:.{}g} times the true gradient{}", factor, digits,
                       extent_named(e, factor));
}

Cause cotangent_ignored(const Evidence& e) {
    if (e.jacobian == nullptr) return {};
    const auto outputs = static_cast<std::size_t>(e.output.numel());
    if (!explained(e, [&](std::size_t i) {
            double sum = 0;
            for (std::size_t o = 0; o < outputs; ++o) sum += (*e.jacobian)[i * outputs + o];
            return sum;
        }))
        return {};
    return "backward ignores the output's gradient: it is the gradient for a cotangent of ones";
}

Cause transposed(const Evidence& e) {
    if (e.shape.rank() < 2 || !telling(e)) return {};
    const auto rows = static_cast<std::size_t>(e.shape[-2]);
    const auto cols = static_cast<std::size_t>(e.shape[-1]);
    if (!explained(e, [&](std::size_t i) {
            const std::size_t at = i % (rows * cols);  // read as [cols, rows], whatever the shape is
            return e.numeric[i - at + at % rows * cols + at / rows];
        }))
        return {};
    return "the last two axes are transposed";
}

Cause shifted(const Evidence& e) {
    const std::size_t n = e.analytic.size();
    if (!telling(e)) return {};
    const auto cols = static_cast<std::size_t>(e.shape.cols());
    const std::size_t rows = n / cols;
    const auto by = [&](std::size_t distance, const char* what) -> Cause {
        for (const std::size_t shift : {distance, n - distance}) {
            std::size_t right = 0;  // without wrapping, a shift loses elements at the ends
            for (std::size_t i = 0; i < n; ++i) right += alike(e, e.analytic[i], e.numeric[(i + shift) % n]) ? 1 : 0;
            if (right + distance >= n && right > n / 2) return fmt::format("shifted by one {}", what);
        }
        return {};
    };
    if (Cause element = by(1, "element")) return element;
    return rows > 2 ? by(cols, "row") : Cause();
}

// The Jacobian gives the contribution of each slice of the output; if their sum was forgotten, the gradient is one of them.
Cause batch_sum_missing(const Evidence& e) {
    if (e.jacobian == nullptr || e.output.rank() < 1 || e.output[0] < 2) return {};
    const auto outputs = static_cast<std::size_t>(e.output.numel());
    for (const auto slices : {static_cast<std::size_t>(e.output[0]), static_cast<std::size_t>(e.output.rows())}) {
        if (slices < 2) continue;
        const std::size_t width = outputs / slices;
        for (const std::size_t only : {std::size_t{0}, slices - 1})
            if (explained(e, [&](std::size_t i) {
                    double sum = 0;
                    for (std::size_t o = only * width; o < (only + 1) * width; ++o)
                        sum += (*e.cotangent)[o] * (*e.jacobian)[i * outputs + o];
                    return sum;
                }))
                return fmt::format("the sum over the batch is missing: only row {} of the output {} contributes", only, e.output);
    }
    return {};
}

Cause some_elements(const Evidence& e) {
    std::vector<std::size_t> wrong;
    bool zero = true;
    for (std::size_t i = 0; i < e.analytic.size(); ++i) {
        if (std::abs(e.analytic[i] - e.numeric[i]) <= e.allowed[i]) continue;
        wrong.push_back(i);
        zero = zero && e.analytic[i] == 0;
    }
    if (wrong.empty() || 2 * wrong.size() > e.analytic.size()) return {};
    const auto cols = static_cast<std::size_t>(e.shape.cols());
    const bool one_row = e.shape.rank() > 1 && wrong.size() > 1 && wrong.front() / cols == wrong.back() / cols;
    const std::string what = one_row             ? fmt::format("row {}", wrong.front() / cols)
                             : wrong.size() == 1 ? "one element"
                                                 : fmt::format("{} elements", wrong.size());
    return fmt::format("{} {}, the rest is right: a mask, an edge or a tail", what, zero ? "dropped" : "wrong");
}

// A missing term of one number per row: the mean that layer norm subtracts, or softmax's dot product.
Cause row_term(const Evidence& e) {
    const auto cols = static_cast<std::size_t>(e.shape.cols());
    if (cols < 3 || !telling(e)) return {};
    if (explained(e, [&](std::size_t i) {
            const std::size_t first = i / cols * cols;
            return e.numeric[i] + e.analytic[first] - e.numeric[first];
        }))
        return "a term that is the same along each row is missing or extra (a subtracted mean or sum)";
    if (explained(e, [&](std::size_t i) {
            std::size_t most = i / cols * cols;
            for (std::size_t j = most; j < i / cols * cols + cols; ++j)
                if (std::abs(e.numeric[j]) > std::abs(e.numeric[most])) most = j;
            return e.numeric[most] == 0 ? 0.0 : e.numeric[i] * (e.analytic[most] / e.numeric[most]);
        }))
        return "a factor that is the same along each row is wrong (a norm, a scale, a mask of whole rows)";
    return {};
}

// Rounding to f32 causes different relative errors of up to 6e-8 in all terms.
Cause single_precision(const Evidence& e) {
    const double error = largest_error(e), size = largest(e.numeric);
    if (!(error > 1e-10 * size) || !(error < 1e-6 * size)) return {};
    return "backward computes or stores something in single precision (f32): the error is about its rounding";
}

}  // namespace

std::string likely_cause(const Evidence& evidence) {
    for (const auto& suspect : {not_finite, nothing_given, should_be_zero, sign_flipped, constant_factor, cotangent_ignored,
                                transposed, batch_sum_missing, single_precision, some_elements, shifted, row_term})
        if (Cause cause = suspect(evidence)) return *cause;
    return "a term is dropped, doubled or computed from the wrong operand";
}

}  // namespace heddle::proof
