// The calls on which all kernels are tested alike: every_op_device_test.cpp compares each case on every device and in every dtype
// with a formula or with the f64 reference; every_op_test.cpp checks the bits that the CPU promises.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/spans.h"
#include "core/tensor.h"

namespace heddle {

/// The largest error that is allowed, as a part of the largest magnitude.
struct Allowed {
    double f64 = 1e-13;
    double f32 = 1e-6;
    /// The error counts by itself, not as a part of a magnitude, because logarithms are compared.
    bool absolute = false;
};

namespace cases {

using Tensors = std::vector<Tensor>;
using OpFunction = std::function<Tensors(const Tensors& inputs)>;

/// Where a NaN in the first input must show up: in all of its row, or in its own element alone.
enum class NanSpreads { unknown, over_its_row, nowhere };

/// Where a case runs. `unwatched`: not under the checker of kernels, which is too slow for large sizes. `on_the_cpu`: it has so
/// many rows that threads share them, which shows nothing new on a device.
enum class RunsOn { everywhere, unwatched, on_the_cpu };

/// One call of an op, or a few that belong together.
struct KernelCase {
    std::string what;
    /// Tensors on the CPU, those of floating-point numbers in f64. A test rounds, moves and offsets copies of them; i32 and u8
    /// tensors keep their dtype. Undefined tensors stay undefined.
    Tensors inputs;
    /// The op. May write to its inputs (a gradient that is added to), and returns what is compared.
    OpFunction run;
    /// The allowed error on all devices; and that on the CPU, where it is stricter.
    Allowed allowed{};
    std::optional<Allowed> on_cpu{};
    /// Computes the results in f64 in another way than the op does. Without it, the op itself computes them in f64 on the CPU.
    OpFunction formula{};
    /// Computes the results in plain bf16 (see expect_close) from rounded inputs in f32.
    OpFunction plain{};
    /// The dtype of all floating-point results, where it is not the inputs' (f32 for statistics and sums beside bf16).
    std::optional<DType> results{};
    /// Results must be equal, in every dtype.
    bool exact = false;
    /// Results must be 0 exactly where the wanted ones are.
    bool same_zeros = false;
    /// Inputs are also tried one element behind the start of their memory, each of them alone or all together.
    enum { no_offset, all_offset, each_offset } offset = all_offset;
    RunsOn runs = RunsOn::everywhere;
    /// Master weights and the like are never bf16.
    bool in_bf16 = true;
    /// f32 results of bf16 rows are no better than bf16: the op rounds what it keeps between its kernels.
    bool rounds_within = false;
    /// This many inputs at the end are sums over rows: beside bf16 rows they may be f32.
    int sums = 0;
    /// This many inputs at the start, and all results, have the same number of rows, and each row is computed by itself.
    int by_row = 0;
    NanSpreads nan = NanSpreads::unknown;
};

// ---- inputs and formulas that several ops share

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Normal numbers in f64, the same for the same key.
inline Tensor numbers(const Shape& shape, std::uint64_t key, double mean = 0, double deviation = 1) {
    Tensor values = Tensor::empty(shape, DType::f64);
    fill_normal(values, mean, deviation, key);
    return values;
}

/// A clone of each input; a formula may compute in place as the op does.
inline Tensors clones(const Tensors& tensors) {
    Tensors all;
    for (const Tensor& tensor : tensors) all.push_back(tensor.defined() ? tensor.clone() : tensor);
    return all;
}

/// The tensor rounded to bf16 and back, as the plain bf16 computation rounds every tensor that it writes.
inline Tensor through_bf16(const Tensor& tensor) { return tensor.to(DType::bf16).to(tensor.dtype()); }

/// The same numbers in f64, i32 and u8. The first tensor is tried in every floating-point dtype.
inline Tensors of_every_type(const Shape& shape) {
    const Tensor x = numbers(shape, 1, 100, 30);
    return {x, x.to(DType::i32), x.to(DType::u8)};
}

/// A case of an op that only moves elements.
inline KernelCase moving(const std::string& what, const Tensors& inputs, const OpFunction& run) {
    return {.what = what, .inputs = inputs, .run = run, .exact = true};
}

/// A u8 mask: about two thirds of the places attend, and none of the second row.
inline Tensor random_mask(const Shape& shape, std::uint64_t key) {
    Sequence random(key);
    Tensor mask = Tensor::empty(shape, DType::u8);
    for (std::int64_t i = 0; i < mask.numel(); ++i)
        mask.mutable_data<std::uint8_t>()[i] =
            i / mask.cols() == 1 ? std::uint8_t{0} : static_cast<std::uint8_t>(random.below(3));
    return mask;
}

/// x + dropout(sublayer) element by element, in f64; an undefined x counts as zeros.
inline Tensor plain_residual(const Tensor& x, const Tensor& sublayer, const DropoutMask& dropout) {
    Tensor y = x.defined() ? x.to(DType::f64).clone() : Tensor::zeros(sublayer.shape(), DType::f64);
    const std::vector<double> added = sublayer.to_vector();
    for (std::int64_t at = 0; at < sublayer.numel(); ++at)
        if (dropout.keeps_row(at / sublayer.cols(), at % sublayer.cols()))
            y.mutable_data<double>()[at] += added[static_cast<std::size_t>(at)] * dropout.scale();
    return y;
}

/// Ranges of the active elements of all parameters. The last one has ranges inside one vector, and every number of elements
/// before and behind the whole vectors of up to eight.
inline std::vector<Spans> active_ranges() {
    return {Spans({{0, 4000}}, 4000),
            Spans({{4, 100}, {120, 3000}}, 4000),
            Spans({{1, 3}, {33, 1}, {1001, 2999}}, 4000),
            Spans({}, 4000),
            Spans({{0, 1}}, 1),
            Spans({}, 0),
            Spans({{1, 1}, {5, 2}, {11, 13}, {25, 16}, {42, 22}, {67, 9}, {77, 18}, {100, 27}}, 130)};
}

/// The logarithm of the sum of exponentials.
double log_total(std::span<const double> x);
/// A row of an f64 tensor.
inline std::span<const double> row_of(const Tensor& x, std::int64_t row) {
    return {x.data<double>() + row * x.cols(), static_cast<std::size_t>(x.cols())};
}

}  // namespace cases
}  // namespace heddle
