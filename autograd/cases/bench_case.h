// The timed cases of each op. `heddle bench ops` chooses the sizes and takes the times.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "core/random.h"

namespace heddle::cases {

/// Runs an op on inputs that live as long as it does. Records on the tape; returns an undefined Variable when the op has no
/// backward.
using Run = std::function<Variable()>;

/// One op with one set of sizes, in training.
struct BenchCase {
    std::string op;
    std::string what;  ///< "[2800, 128] x [384, 128]^T"
    /// Makes the inputs, and the function that runs the op on them.
    std::function<Run()> make_run;
    double forward_operations = 0;  ///< multiplications and additions; 0 for ops whose time is memory traffic
    double backward_operations = 0;
    std::string formula = {};  ///< the number of operations, for people: "2 rows in out"
    double forward_bytes = 0;  ///< the least that must be read and written: each tensor once
    double backward_bytes = 0;

    bool goes_back() const { return backward_bytes > 0; }
};

/// The device, dtype and extents of the inputs.
struct BenchSetting {
    Device device = Device::cpu;
    DType dtype = DType::f32;
    /// "translator", "tiny", "sentences", "rows" or "large" (apps/bench/op_cases.h), and the extents of its batch and model.
    std::string_view sizes = "translator";
    std::int64_t sentences = 1, length = 1, d_model = 1, heads = 1, d_ff = 1, vocabulary = 1;
    std::int64_t some_rows = 1;   ///< rows of [some_rows, vocabulary] logits
    std::int64_t parameters = 1;  ///< elements of each array of the optimizer

    std::int64_t rows() const { return sentences * length; }
    bool large() const { return sizes == "large"; }
    /// The bytes of so many elements.
    double bytes(double elements) const { return static_cast<double>(size_of(dtype)) * elements; }
};

/// Timed cases of an op that stand together in the table of `heddle bench ops`.
struct Bench {
    std::vector<BenchCase> (*cases)(const BenchSetting& on);
    int place = 1000;  ///< position in that table; equal positions are sorted by op
    /// The names of the sizes at which they are measured.
    std::string_view sizes = "translator tiny large";
};

// ---- inputs

/// Normal numbers of deviation 0.1, a pattern that repeats after some millions.
Tensor numbers(const Shape& shape, const BenchSetting& on);
/// numbers() as a leaf with a gradient.
Variable leaf(const Shape& shape, const BenchSetting& on);
/// The same values as a leaf that holds no gradient yet: as in training, backward hands the gradient of an activation over and
/// adds nothing to it. (Weights stay: their gradient is added to what they hold.)
Variable fresh(const Variable& leaf);
/// i32 [count], each from 0 to bound - 1.
Tensor random_tokens(std::int64_t count, std::int64_t bound, const BenchSetting& on);
/// An array of the optimizer.
Tensor flat(const BenchSetting& on);
/// The dropout that is measured.
DropoutMask dropout_of_training();

/// The inputs of an op that takes one or two [rows, cols] tensors and perhaps a row.
struct RowInputs {
    Variable x, y;         ///< [rows, cols]
    Variable gamma, beta;  ///< [cols]
};
/// The case "[rows, d_model]" + `what` of such an op; `forward` and `backward` are its traffic in elements of one [rows, d_model]
/// tensor.
BenchCase row_case(const BenchSetting& on, const char* op, const std::string& what, double forward, double backward,
                   const std::function<Variable(const RowInputs&)>& run);
/// `cases` at the four shapes of the sizes "rows", at which plain ops are compared with another library's: a batch of the
/// translator's, its logits, rows that fill a cache, and a shape so small that only the call costs.
template <auto cases>
std::vector<BenchCase> at_row_shapes(const BenchSetting& on) {
    std::vector<BenchCase> all;
    for (const auto& [rows, cols] : {std::pair{2800, 128}, std::pair{256, 6000}, std::pair{64, 50000}, std::pair{16, 8}}) {
        BenchSetting shaped = on;
        shaped.sentences = rows;
        shaped.length = 1;
        shaped.d_model = cols;
        for (BenchCase& one : cases(shaped)) all.push_back(std::move(one));
    }
    return all;
}
/// The same setting with rows as wide as the vocabulary, for ops whose speed depends on the length of a row.
BenchSetting wide_rows(const BenchSetting& on);

}  // namespace heddle::cases
