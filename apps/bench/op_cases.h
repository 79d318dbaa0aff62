// The timed cases of all ops at the sizes at which they are measured.
#pragma once

#include <string>
#include <vector>

#include "autograd/cases/bench_case.h"

namespace heddle::app {

using cases::BenchCase;

/// The device, dtype and sizes of the ops.
struct OpSetting {
    Device device = Device::cpu;
    DType dtype = DType::f32;
    std::string sizes = "translator";
};

/// The cases of a setting. `sizes` is one of
///   translator  a batch of 200 sentences of 14 tokens, d_model 128, 4 heads, d_ff 512, 6000 tokens, dropout 0.2
///   tiny        the same ops with 4 sentences of 5 tokens, d_model 32, 2 heads, d_ff 64, 50 tokens
///   sentences   attention over 64, 128 and 256 sentences of 10 to 60 tokens, 128 and 512 columns, without dropout
///   rows        plain ops at [2800, 128], [256, 6000], [64, 50000] and [16, 8]
///   large       tensors of 512 MB, and attention over 16,384 tokens with 2048 columns, without dropout
/// The optimizer keeps its numbers in f32, so it has cases for that dtype only.
std::vector<BenchCase> op_cases(const OpSetting& setting);

}  // namespace heddle::app
