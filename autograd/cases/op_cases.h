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

/// The table of one op. Members that do not apply to the op stay empty.
struct OpCases {
    /// The op's folder in kernels/, or its file in autograd/ops if it has no kernel.
    std::string_view name;
    /// Position among the ops of `heddle gradcheck`; equal positions are sorted by name.
    int place = 1000;
    /// Every choice of shapes, masks and options whose gradient is proven.
    std::vector<GradientCase> (*proofs)() = nullptr;
    /// Calls of the kernels, compared on every device and in every dtype.
    std::vector<cases::KernelCase> (*kernels)() = nullptr;
    bool large = false;  ///< some of these calls run unwatched
    /// The op's functions on the tape, for random graphs and PyTorch.
    std::vector<cases::TapeFunction> functions = {};
    /// The timed cases.
    std::vector<cases::Bench> benches = {};
    int example_place = 1000;  ///< position of the examples in `heddle explain`; equal ones are sorted by name
    /// The explained calls.
    std::vector<cases::Example> examples = {};
};

/// The tables of all ops, by name.
const std::vector<OpCases>& op_cases();
/// The table of the op with this name. Error when there is none.
const OpCases& op_cases(std::string_view name);

/// The gradient cases of all ops.
std::vector<GradientCase> gradient_cases();

namespace cases {

/// A mask or index that a gradient case captured, on the device that its function is called for. An undefined tensor stays
/// undefined.
Tensor beside(const Variable& input, const Tensor& captured);

}  // namespace cases
}  // namespace heddle
