// The ops at the sizes that the standard translator gives them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace heddle::app {

/// One op with one set of sizes, in f32, in training.
struct OpCase {
    std::string op;
    std::string what;               ///< "[2800, 128] x [384, 128]^T"
    std::function<Variable()> run;  ///< records on the tape; gives nothing when the op has no backward
    double forward_operations = 0;  ///< multiplications and additions; 0 for ops whose time is memory traffic
    double backward_operations = 0;
    double forward_bytes = 0;  ///< what must be read and written at least, each tensor once
    double backward_bytes = 0;

    bool goes_back() const { return backward_bytes > 0; }
};

/// All cases: a batch of 200 sentences of 14 tokens, d_model 128, 4 heads, d_ff 512, 6000 tokens, dropout 0.2.
std::vector<OpCase> op_cases();

}  // namespace heddle::app
