// What is tested alike for all ops: each op states its cases once, and two programs run them. every_op_device_test.cpp compares
// every case on every device and in every dtype with a formula or with the f64 reference; every_op_test.cpp checks the bits that
// the CPU promises.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/devices.h"

namespace heddle::kernels {

using Tensors = std::vector<Tensor>;
using OpFunction = std::function<Tensors(const Tensors& inputs)>;

/// Where a NaN in the first input must show up: in all of its row, or in its own element alone.
enum class NanSpreads { unknown, over_its_row, nowhere };

/// Large sizes are too slow under the checker of kernels. So many rows that threads share them show nothing new on a device.
enum class Runs { everywhere, unwatched, on_the_cpu };

/// One call of an op, or a few that belong together.
struct OpCase {
    std::string what;
    /// On the CPU, floating-point numbers in f64. A test rounds, moves and offsets copies of them; i32 and u8 tensors keep their
    /// dtype. Undefined tensors stay undefined.
    Tensors inputs;
    /// The op. May write to its inputs (a gradient that is added to), and returns what is compared.
    OpFunction run;
    /// On all devices; and on the CPU, where that is stricter.
    Allowed allowed{};
    std::optional<Allowed> on_cpu{};
    /// The results in f64, computed in another way than the op does. Without it, the op itself in f64 on the CPU.
    OpFunction formula{};
    /// The plain bf16 computation (see expect_close), given rounded inputs in f32.
    OpFunction plain{};
    /// The dtype of all floating-point results, where it is not the inputs' (f32 for statistics and sums beside bf16).
    std::optional<DType> results{};
    /// Results must be equal, in every dtype.
    bool exact = false;
    /// Results must be 0 exactly where the wanted ones are.
    bool same_zeros = false;
    /// Inputs are also tried one element behind the start of their memory, each of them alone or all together.
    enum { no_offset, all_offset, each_offset } offset = all_offset;
    Runs runs = Runs::everywhere;
    /// Master weights and the like are never bf16.
    bool in_bf16 = true;
    /// f32 results of bf16 rows are no better than bf16: the op rounds what it keeps between its kernels.
    bool rounds_within = false;
    /// So many inputs at the end are sums over rows: beside bf16 rows they may be f32.
    int sums = 0;
    /// So many inputs at the start, and all results, have the same number of rows, and each row is computed by itself.
    int by_row = 0;
    NanSpreads nan = NanSpreads::unknown;
};

/// An op, named after its folder in kernels/.
struct Op {
    std::string name;
    std::vector<OpCase> (*cases)();
    bool large = false;  ///< some cases run unwatched
};

/// Tests are named after it.
inline void PrintTo(const Op& op, std::ostream* out) { *out << op.name; }

/// All ops with cases. Attention and what steps through a search or a training run have tests of their own.
const std::vector<Op>& every_op();

/// Normal numbers in f64.
inline Tensor numbers(const Shape& shape, std::uint64_t key, double mean = 0, double deviation = 1) {
    return normal(shape, DType::f64, key, mean, deviation);
}

/// A clone of each input; a formula may compute in place as the op does.
inline Tensors clones(const Tensors& tensors) {
    Tensors all;
    for (const Tensor& tensor : tensors) all.push_back(tensor.defined() ? tensor.clone() : tensor);
    return all;
}

// One function for each op, in op_cases_*.cpp.
std::vector<OpCase> activation_cases();
std::vector<OpCase> adam_cases();
std::vector<OpCase> concat_cases();
std::vector<OpCase> cross_entropy_cases();
std::vector<OpCase> dropout_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> embedding_cases();
std::vector<OpCase> feed_forward_cases();
std::vector<OpCase> gather_cases();
std::vector<OpCase> gradient_norm_cases();
std::vector<OpCase> layer_norm_cases();
std::vector<OpCase> linear_cases();
std::vector<OpCase> linear_cross_entropy_cases();
std::vector<OpCase> log_softmax_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> mean_probability_cases();
std::vector<OpCase> permute_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> residual_cases();
std::vector<OpCase> slice_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> target_log_probability_cases();
std::vector<OpCase> top_k_cases();

}  // namespace heddle::kernels
