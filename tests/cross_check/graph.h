// Programs of differentiable ops that C++ and Python both run: single ops and whole graphs, drawn from a seed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "autograd/cases/draw.h"

namespace heddle::cross_check {

using cases::Json;
using cases::kNone;
using cases::Number;
using cases::of_leaf;
using cases::Step;

/// One run of backward.
struct Walk {
    std::vector<Number> outputs;
    std::vector<Tensor> cotangents;  ///< f64, of the outputs' shapes
};

/// A program: leaves, steps in order, and walks over one tape, which all but the last retain.
struct Graph {
    std::vector<Tensor> leaves;  ///< f64
    std::vector<bool> needs;     ///< which leaves require a gradient
    std::vector<Step> steps;
    std::vector<Walk> walks;
    bool drops = false;  ///< values are let go after the last step that reads them, so that their nodes die
};

/// How each function of the tape is drawn and called, from the tables of all ops, by name. Graphs are made of these.
const std::map<std::string_view, const cases::TapeFunction*>& tape_functions();
/// The one of this name, or the composed one. Error when no table has it.
const cases::TapeFunction& tape_function(std::string_view name);

/// All results of the graph's steps for these leaves; undefined ones were let go. On dual numbers `no_grad` drops derivatives.
std::vector<Variable> run(const Graph& graph, std::span<const Variable> leaves);

/// The outputs of the walks, one after the other, and the gradient of each leaf that needs one (undefined for the others), all
/// walks together: computed by the tape.
struct Results {
    std::vector<Tensor> outputs;
    std::vector<Tensor> gradients;
};
Results by_tape(const Graph& graph);

/// The same gradients by dual numbers: for each element of a leaf one run forward, without the tape.
std::vector<Tensor> by_duals(const Graph& graph);

/// The largest |a - b| over the largest magnitude of all b, at least kLeastScale; NaN when an element is, infinite where shapes
/// differ or one of a pair is undefined. Cotangents and leaves are of order 1, so that where b is zero by symmetry the rounding
/// errors of what cancels are some 1e-15.
inline constexpr double kLeastScale = 1e-2;
double largest_gap(std::span<const Tensor> a, std::span<const Tensor> b);

/// The names of all ops that gradient_cases() proves, and of the composed functions, each once.
std::vector<std::string> op_names();

/// A graph of this op alone, with random shapes and options. Error when no configurations are known for it.
Graph draw_op(const std::string& op, std::uint64_t seed);

/// A graph of 5 to 40 ops with shared values, frozen leaves, blocks without gradients and checkpoints, one to three walks.
Graph draw_graph(std::uint64_t seed);

/// How many ops run in these steps, those of blocks included.
int count_ops(std::span<const Step> steps);

/// A larger gap between backward and dual numbers is a fault; that of 10,000 graphs stands in docs/measured/gradcheck.md.
inline constexpr double kGraphBound = 1e-12;

/// What graphs are made of, counted.
struct Features {
    std::int64_t ops = 0;
    std::int64_t checkpoints = 0;  ///< blocks, those inside other blocks included
    std::int64_t no_grad = 0;
    std::int64_t frozen = 0;    ///< leaves without a gradient
    std::int64_t shared = 0;    ///< values that several steps read
    std::int64_t views = 0;     ///< reshapes and slices
    std::int64_t retained = 0;  ///< walks after the first
    std::int64_t dropped = 0;   ///< graphs whose values are let go

    void add(const Graph& graph);

  private:
    void add(std::span<const Step> steps);
};

/// The graph's steps and walks, without its numbers.
Json description(const Graph& graph);

/// The graphs and their results in a safetensors file: the metadata "graphs" is a JSON list whose tensors are named, "formulas"
/// has PyTorch's formula of each op.
void save(const std::string& path, std::span<const Graph> graphs, std::span<const Results> results);

}  // namespace heddle::cross_check
