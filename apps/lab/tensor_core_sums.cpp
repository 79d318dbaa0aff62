// A product on tensor cores whose long sum stays in one accumulator.
//
//     wrong    d = mma(a, b, d) along all of k
//     right    d = mma(a, b, d) along 128 of k, then total += d by an ordinary addition
//
// The tensor cores are those of the emulator (kernels/emulator/run/fused_sum.h): a sum loses what f32 has no room for, toward
// zero.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "kernels/emulator/run/fused_sum.h"

namespace heddle::lab::tensor_core_sums {
namespace {

constexpr std::int64_t results = 2048, longest = 2048;

// Rows of normal numbers, rounded to bf16.
std::vector<float> operands(const Options& options, std::string_view name) {
    const Tensor rounded = normal({results, longest}, 1, key(options, name)).to(DType::bf16).to(DType::f32);
    const std::span<const float> values = rounded.values<float>();
    return {values.begin(), values.end()};
}

// a[0] b[0] + ... + a[k - 1] b[k - 1] by products of 16 terms: `piece` of k in one accumulator.
float by_tensor_cores(const emulator::TensorCores& cores, const float* a, const float* b, std::int64_t k, std::int64_t piece) {
    const int terms = cores.fused_bytes / 2;
    float total = 0;
    for (std::int64_t start = 0; start < k; start += piece) {
        float sum = 0;
        for (std::int64_t i = start; i < std::min(start + piece, k); i += terms)
            sum = emulator::fused_sum(cores, a + i, b + i, terms, sum);
        total += sum;
    }
    return total;
}

float to_nearest(const float* a, const float* b, std::int64_t k) {
    float sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += a[i] * b[i];
    return sum;
}

struct Errors {
    double shift = 0;   ///< the mean of (|exact| - |sum|), in units of 2^-24 of the typical result, sqrt(k)
    double square = 0;  ///< the root of the mean square of exact - sum, in the same units
    double other = 0;   ///< the share of sums that differ from the one rounded to the nearest
};

template <typename Sum>
Errors errors_of(const std::vector<float>& a, const std::vector<float>& b, std::int64_t k, const Sum& sum) {
    Errors errors;
    const double unit = std::sqrt(static_cast<double>(k)) * std::ldexp(1.0, -24);
    for (std::int64_t row = 0; row < results; ++row) {
        const float *left = a.data() + row * longest, *right = b.data() + row * longest;
        double exact = 0;
        for (std::int64_t i = 0; i < k; ++i) exact += static_cast<double>(left[i]) * right[i];
        const float got = sum(left, right, k);
        errors.shift += (std::abs(exact) - std::abs(static_cast<double>(got))) / unit / results;
        errors.square += std::pow((exact - got) / unit, 2) / results;
        errors.other += got != to_nearest(left, right, k) ? 1.0 / results : 0;
    }
    errors.square = std::sqrt(errors.square);
    return errors;
}

Result measure(const Options& options) {
    const std::vector<float> a = operands(options, "a"), b = operands(options, "b");
    const auto chain = [](const emulator::TensorCores& cores, std::int64_t piece) {
        return [&cores, piece](const float* x, const float* y, std::int64_t k) { return by_tensor_cores(cores, x, y, k, piece); };
    };
    const auto pieces = chain(emulator::kHopper, 128), hopper = chain(emulator::kHopper, longest),
               ampere = chain(emulator::kAmpere, longest);

    Result result{.variants = {"pieces of 128", "one chain, Hopper", "one chain, Ampere", "f32 to nearest"}, .findings = {}};
    picture::LineChart chart{
        .title = "shift toward zero",
        .x = {.label = "k", .logarithmic = true},
        .y = {.label = "2^-24 of the typical result"},
        .series = {
            {"pieces of 128", {}, {}}, {"one chain, Hopper", {}, {}}, {"one chain, Ampere", {}, {}}, {"f32 to nearest", {}, {}}}};
    std::vector<Finding> shifts, squares, others;
    for (std::int64_t k = longest; k >= 16; k /= 2) {
        const Errors all[] = {errors_of(a, b, k, pieces), errors_of(a, b, k, hopper), errors_of(a, b, k, ampere),
                              errors_of(a, b, k, to_nearest)};
        for (std::size_t i = 0; i < std::size(all); ++i) {
            chart.series[i].x.push_back(static_cast<double>(k));
            chart.series[i].y.push_back(all[i].shift);
        }
        if (k != 16 && k != 128 && k != 512) continue;
        shifts.push_back({fmt::format("mean shift toward zero, k = {}", k), {}});
        squares.push_back({fmt::format("root mean square error, k = {}", k), {}});
        others.push_back({fmt::format("share with other bits than f32 to nearest, k = {}", k), {}});
        for (const Errors& each : all) {
            shifts.back().values.push_back(each.shift);
            squares.back().values.push_back(each.square);
            others.back().values.push_back(each.other);
        }
    }
    for (const std::vector<Finding>* each : {&shifts, &squares, &others})
        result.findings.insert(result.findings.end(), each->begin(), each->end());
    result.figures = {{svg(mistakes_first(chart)), "A chain drifts toward zero as it grows; pieces of 128 do not."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {.name = "tensor-core-sums",
            .group = "Checks",
            .title = "a long sum of products in one accumulator of a tensor core",
            .caught_by = "TensorCoreSums.TheResultIsTruncatedTowardZero",
            .why =
                "Tensor cores cut each sum toward zero instead of rounding it, once for every 16 of k (on Ampere and Ada for "
                "every 8). In a long chain these errors all point the same way and add up, and a result differs from a sum "
                "rounded to the nearest in nearly every case. Pieces of 128 added in f32 outside of the tensor cores keep the "
                "shift small, as kernels for FP8 do (DeepSeek-V3, arXiv 2412.19437); a comparison needs a tolerance, never the "
                "same bits.",
            .wrong = R"(
Accumulator16x8 sum;
for (int i = 0; i < 512 / 16; ++i) mma(sum, a[i], b[i]);
)",
            .right = R"(
Accumulator16x8 total;
for (int start = 0; start < 512 / 16; start += 128 / 16) {
    Accumulator16x8 sum;
    for (int i = start; i < start + 128 / 16; ++i)
        mma(sum, a[i], b[i]);
    for (int e = 0; e < 4; ++e) total[e] += sum[e];
}
)",
            .run = measure};
}

}  // namespace heddle::lab::tensor_core_sums
