#include "kernels/rotary/rotary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// The reference, for f64 and dual numbers.
template <class T>
void turn_rows(const RotaryArrays<T>& a, std::int64_t begin, std::int64_t end) {
    const std::int64_t half = a.head_dim / 2;
    for (std::int64_t row = begin; row < end; ++row) {
        const T* x = a.x + row * a.cols;
        T* y = a.y + row * a.cols;
        if (a.positions[row] < 0) {
            std::fill_n(y, a.cols, T{0});
            continue;
        }
        for (std::int64_t i = 0; i < half; ++i) {
            const std::uint64_t turns = static_cast<std::uint64_t>(a.positions[row]) * a.frequencies[i];
            const double angle = static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63 * std::numbers::pi;
            const double cosine = std::cos(angle), sine = a.inverse ? -std::sin(angle) : std::sin(angle);
            for (std::int64_t first = i; first < a.columns; first += a.head_dim) {
                const std::int64_t second = first + half;
                y[first] = cosine * x[first] - sine * x[second];
                y[second] = cosine * x[second] + sine * x[first];
            }
        }
        std::copy(x + a.columns, x + a.cols, y + a.columns);
    }
}

void turn_rows(const RotaryArrays<float>& a, std::int64_t begin, std::int64_t end) {
    by_level(v2::rotary_rows, v3::rotary_rows, v4::rotary_rows)(a, begin, end);
}

void check_plan(const Tensor& x, const RotaryPlan& plan) {
    check(plan.head_dim >= 2 && plan.head_dim % 2 == 0,
          "rotary: heads of {} columns, wanted an even number: columns are turned in pairs", plan.head_dim);
    check(plan.columns >= 0 && plan.columns <= x.cols() && plan.columns % plan.head_dim == 0,
          "rotary: {} columns of x {}, wanted a multiple of the head's {} and at most {}", plan.columns, x.shape(), plan.head_dim,
          x.cols());
    check(plan.base > 1 && std::isfinite(plan.base), "rotary: base is {}, wanted a finite number above 1", plan.base);
    check(plan.first_position >= 0, "rotary: first_position is {}, wanted at least 0", plan.first_position);
    check(x.device() == Device::cpu || plan.head_dim <= kWidestRotaryHead,
          "rotary: heads of {} columns, wanted at most {} on CUDA", plan.head_dim, kWidestRotaryHead);
}

// The position of each row; -1 outside the spans.
std::vector<std::int32_t> positions_of(const Spans& spans, std::int64_t first_position) {
    std::vector<std::int32_t> positions(static_cast<std::size_t>(spans.rows()), -1);
    for (const Span& span : spans)
        for (std::int64_t i = 0; i < span.length; ++i)
            positions[static_cast<std::size_t>(span.start + i)] = static_cast<std::int32_t>(first_position + i);
    return positions;
}

void check_rows(const Tensor& x, const Spans& spans, const Tensor& positions, const RotaryPlan& plan) {
    check(plan.growth.replays == nullptr || (x.device() == Device::cuda && !positions.defined()),
          "rotary: a position that grows is for spans on cuda");
    if (!positions.defined()) {
        check_shape("rotary", "x", x, {spans.rows(), x.cols()});
        check(plan.first_position + spans.longest() <= std::numeric_limits<std::int32_t>::max(),
              "rotary: a sentence reaches position {}, wanted positions below 2^31", plan.first_position + spans.longest() - 1);
        return;
    }
    check_shape("rotary", "positions", positions, {x.dim(0)});
    check_dtype("rotary", "positions", positions, DType::i32);
    check_device("rotary", {{"x", x}, {"positions", positions}});
    check(plan.first_position == 0, "rotary: first_position is {} beside positions for each row, wanted 0", plan.first_position);
    if (positions.device() == Device::cuda) return;  // the kernel looks at the values
    for (std::int64_t row = 0; row < x.dim(0); ++row)
        check(positions.data<std::int32_t>()[row] >= 0, "rotary: positions[{}] is {}, wanted at least 0", row,
              positions.data<std::int32_t>()[row]);
}

}  // namespace

std::span<const std::uint64_t> rotary_frequencies(std::int64_t head_dim, double base) {
    thread_local std::int64_t known_head_dim = 0;
    thread_local double known_base = 0;
    thread_local std::vector<std::uint64_t> frequencies;
    if (head_dim == known_head_dim && base == known_base) return frequencies;
    frequencies.clear();
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
        const long double exponent = -2 * static_cast<long double>(i) / static_cast<long double>(head_dim);
        const long double turns = std::pow(static_cast<long double>(base), exponent) / (2 * std::numbers::pi_v<long double>);
        frequencies.push_back(static_cast<std::uint64_t>(std::ldexp(turns, 64) + 0.5L));
    }
    known_head_dim = head_dim;
    known_base = base;
    return frequencies;
}

Tensor rotary(const Tensor& x, const Spans& spans, const Tensor& positions, const RotaryPlan& plan) {
    check_defined("rotary", "x", x);
    check_rank("rotary", "x", x, 2);
    check_plan(x, plan);
    check_rows(x, spans, positions, plan);
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        rotary_cuda(x, spans, positions, plan, y);
        return y;
    }
    std::vector<std::int32_t> places;
    if (!positions.defined()) places = positions_of(spans, plan.first_position);
    const std::span<const std::uint64_t> frequencies = rotary_frequencies(plan.head_dim, plan.base);
    dispatch_real("rotary", x, [&]<class T>(TypeTag<T>) {
        const RotaryArrays<T> arrays{.x = x.data<T>(),
                                     .y = y.mutable_data<T>(),
                                     .positions = positions.defined() ? positions.data<std::int32_t>() : places.data(),
                                     .frequencies = frequencies.data(),
                                     .cols = x.cols(),
                                     .columns = plan.columns,
                                     .head_dim = plan.head_dim,
                                     .inverse = plan.inverse};
        parallel_for(x.rows(), grain_for(2 * x.cols()),
                     [&](std::int64_t begin, std::int64_t end) { turn_rows(arrays, begin, end); });
    });
    return y;
}

}  // namespace heddle::kernels
