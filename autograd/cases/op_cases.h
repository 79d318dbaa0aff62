// Everything that is stated about one op for tests, proofs and tools: autograd/ops/<op>_cases.cpp defines its table, and cmake
// collects the tables. Proofs, the tests of every op, random graphs, the comparison with PyTorch, `heddle bench ops` and
// `heddle explain` read them; no list names ops by hand.
#pragma once

#include <string_view>
#include <vector>

#include "autograd/cases/bench_case.h"
#include "autograd/cases/draw.h"
#include "autograd/cases/example.h"
#include "autograd/cases/kernel_case.h"
#include "autograd/gradcheck.h"

namespace heddle {

/// The table of one op. What does not apply to an op stays empty.
struct OpCases {
    /// Its folder in kernels/, or the file in autograd/ops for an op without a kernel.
    std::string_view name;
    /// Among the ops of `heddle gradcheck`; equal ones by name.
    int place = 1000;
    /// Every choice of shapes, masks and options whose gradient is proven.
    std::vector<GradientCase> (*proofs)() = nullptr;
    /// Calls of the kernels, compared on every device and in every dtype.
    std::vector<cases::KernelCase> (*kernels)() = nullptr;
    bool large = false;  ///< some of them run unwatched
    /// Its functions on the tape, for random graphs and PyTorch.
    std::vector<cases::TapeFunction> functions = {};
    /// What is timed.
    std::vector<cases::Bench> benches = {};
    int example_place = 1000;  ///< of the examples among those of `heddle explain`; equal ones by name
    /// What is explained.
    std::vector<cases::Example> examples = {};
};

/// The tables of all ops, by name.
const std::vector<OpCases>& op_cases();
/// The one of this name. Error when there is none.
const OpCases& op_cases(std::string_view name);

/// The gradient cases of all ops.
std::vector<GradientCase> gradient_cases();

namespace cases {

/// A mask or index that a gradient case captured, on the device that its function is called for. Undefined stays undefined.
Tensor beside(const Variable& input, const Tensor& captured);

}  // namespace cases
}  // namespace heddle
