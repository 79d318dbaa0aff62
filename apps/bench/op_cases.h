// The ops at the sizes that they are measured at.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace heddle::app {

/// On what, in what and at which sizes the ops run.
struct OpSetting {
    Device device = Device::cpu;
    DType dtype = DType::f32;
    std::string sizes = "translator";
};

/// One op with one set of sizes, in training.
struct OpCase {
    std::string op;
    std::string what;  ///< "[2800, 128] x [384, 128]^T"
    /// Makes the inputs and gives what runs the op on them, which records on the tape and gives nothing when the op has no
    /// backward. The inputs live as long as what was given.
    std::function<std::function<Variable()>()> prepare;
    double forward_operations = 0;  ///< multiplications and additions; 0 for ops whose time is memory traffic
    double backward_operations = 0;
    std::string formula = {};  ///< of the operations, for people: "2 rows in out"
    double forward_bytes = 0;  ///< what must be read and written at least, each tensor once
    double backward_bytes = 0;

    bool goes_back() const { return backward_bytes > 0; }
};

/// The cases of a setting. `sizes` is one of
///   translator  a batch of 200 sentences of 14 tokens, d_model 128, 4 heads, d_ff 512, 6000 tokens, dropout 0.2
///   tiny        the same ops with 4 sentences of 5 tokens, d_model 32, 2 heads, d_ff 64, 50 tokens
///   sentences   attention over 64, 128 and 256 sentences of 10 to 60 tokens, 128 and 512 columns, without dropout
///   large       tensors of 512 MB, and attention over 16,384 tokens with 2048 columns, without dropout
/// Without what the dtype has not: the optimizer keeps its numbers in f32.
std::vector<OpCase> op_cases(const OpSetting& setting);

}  // namespace heddle::app
