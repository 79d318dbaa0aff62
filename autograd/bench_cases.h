// The cases that each op is measured with, defined beside the op. `heddle bench ops` chooses the sizes and takes the times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "core/random.h"

namespace heddle {

/// One op with one set of sizes, in training.
struct OpCase {
    std::string op;
    std::string what;  ///< "[2800, 128] x [384, 128]^T"
    /// Makes the inputs and returns a function that runs the op on them. That one records on the tape; it returns an undefined
    /// Variable when the op has no backward. The inputs live as long as the returned function.
    std::function<std::function<Variable()>()> prepare;
    double forward_operations = 0;  ///< multiplications and additions; 0 for ops whose time is memory traffic
    double backward_operations = 0;
    std::string formula = {};  ///< of the operations, for people: "2 rows in out"
    double forward_bytes = 0;  ///< what must be read and written at least, each tensor once
    double backward_bytes = 0;

    bool goes_back() const { return backward_bytes > 0; }
};

namespace benches {

/// Where the inputs lie and what they hold.
struct Setting {
    Device device = Device::cpu;
    DType dtype = DType::f32;

    /// The bytes of so many elements.
    double bytes(double elements) const { return static_cast<double>(size_of(dtype)) * elements; }
};

// ---- inputs

/// What OpCase::prepare returns.
using Run = std::function<Variable()>;

/// Normal numbers of deviation 0.1, a pattern that repeats after some millions.
Tensor numbers(const Shape& shape, const Setting& on);
/// numbers() as a leaf with a gradient.
Variable leaf(const Shape& shape, const Setting& on);
/// The same values as a leaf that holds no gradient yet: as in training, backward hands the gradient of an activation over and
/// adds nothing to it. (Weights stay: their gradient is added to what they hold.)
Variable fresh(const Variable& leaf);
/// i32 [count], each from 0 to bound - 1.
Tensor random_tokens(std::int64_t count, std::int64_t bound, const Setting& on);
/// The dropout that is measured.
Dropout dropout_of_training();

/// The inputs of an op that takes one or two [rows, cols] tensors and perhaps a row.
struct RowInputs {
    Variable x, y;         ///< [rows, cols]
    Variable gamma, beta;  ///< [cols]
};
/// The case "[rows, cols]" + `what` of such an op; `forward` and `backward` are its traffic in elements of one [rows, cols]
/// tensor.
OpCase row_case(const Setting& on, std::int64_t rows, std::int64_t cols, const char* op, const std::string& what, double forward,
                double backward, const std::function<Variable(const RowInputs&)>& run);

// ---- ops that are measured at sizes of their own

OpCase linear(const Setting& on, std::int64_t rows, std::int64_t in, std::int64_t out);
/// a [sentences, length, d_model] times b transposed, of the same shape.
OpCase matmul(const Setting& on, std::int64_t sentences, std::int64_t length, std::int64_t d_model);
/// With ReLU and dropout.
OpCase feed_forward(const Setting& on, std::int64_t rows, std::int64_t d_model, std::int64_t d_ff);
/// Self attention over packed sentences of these lengths; `what` describes them.
OpCase attention(const Setting& on, const std::string& what, const std::vector<std::int64_t>& lengths, std::int64_t d_model,
                 std::int64_t heads, bool causal, const Dropout& dropout);
OpCase linear_cross_entropy(const Setting& on, std::int64_t rows, std::int64_t d_model, std::int64_t vocabulary);
OpCase cross_entropy(const Setting& on, std::int64_t rows, std::int64_t vocabulary);
/// Of sentences of one length, with positions and dropout.
OpCase embedding(const Setting& on, std::int64_t sentences, std::int64_t length, std::int64_t vocabulary, std::int64_t d_model);

// ---- ops that are measured on [rows, cols] tensors

std::vector<OpCase> layer_norm(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> softmax(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> log_softmax(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> residual_layer_norm(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> residual(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> dropout(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> activation(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> elementwise(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> reduce(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> permute(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> slice(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> concat(const Setting& on, std::int64_t rows, std::int64_t cols);
std::vector<OpCase> gather(const Setting& on, std::int64_t rows, std::int64_t cols);

using RowCases = std::vector<OpCase>(const Setting& on, std::int64_t rows, std::int64_t cols);

/// Those whose speed depends on the length of a row: measured on wide rows, too.
inline constexpr RowCases* kNormalising[] = {layer_norm, softmax, log_softmax};
/// All, in the order of the table that `heddle bench ops` prints.
inline constexpr RowCases* kRowCases[] = {
    layer_norm, softmax, log_softmax, residual_layer_norm, residual, dropout, activation, elementwise, reduce, permute,
    slice,      concat,  gather};

}  // namespace benches
}  // namespace heddle
