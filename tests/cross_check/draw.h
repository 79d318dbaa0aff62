// What the configurations of single ops and the steps of graphs are drawn from.
#pragma once

#include <functional>
#include <optional>

#include "core/random.h"
#include "tests/cross_check/graph.h"

namespace heddle::cross_check {

/// Draws steps and computes their values as it goes, so that each step can be chosen to suit what is there: shapes fit, and
/// nothing lies at a kink or grows beyond bounds.
class Draw {
  public:
    /// `alone`: every input is a leaf of its own, as for a single op.
    Draw(std::uint64_t seed, bool alone) : random_(seed), alone_(alone) {}

    // ---- numbers

    /// Uniform, both ends included.
    std::int64_t between(std::int64_t low, std::int64_t high);
    bool chance(double probability) { return random_.uniform() < probability; }
    double uniform(double low, double high) { return low + (high - low) * random_.uniform(); }
    /// A shape of this rank with extents of 1 to 5, or 4 in a graph.
    Shape shape(int rank);
    bool alone() const { return alone_; }

    // ---- inputs

    /// A new leaf of normal numbers.
    Number leaf(const Shape& shape);
    /// A value of this shape: an earlier one, or a new leaf.
    Number of(const Shape& shape);
    /// x, and a value with one element for each of its columns.
    std::vector<Number> with_row(Number x);
    /// A value with this many axes.
    Number any(int lowest_rank, int highest_rank);
    /// A value whose elements are all at least 0.2: an earlier one, or a new leaf.
    Number positive(const Shape& shape);
    /// The value of a number drawn from above.
    const Tensor& value(Number number) const;
    const Shape& shape_of(Number number) const { return value(number).shape(); }

    // ---- constants and options

    /// Ones and zeros, u8, ones with this probability.
    Tensor mask(const Shape& shape, double ones);
    /// i32 in [0, bound).
    Tensor indices(std::int64_t count, std::int64_t bound);
    /// A dropout with its key in the step's options, and the factors of a [rows, cols] tensor as the constant "kept".
    void dropout(Step& step, std::int64_t rows, std::int64_t cols);
    /// Its probability and key alone.
    Dropout dropout_option(Step& step);

    // ---- steps

    /// Draws a step of this op and appends its values; false, and nothing changed, when the draw does not suit.
    bool add(const std::string& op);
    /// The same for a block ("checkpoint" or "no_grad") of a few steps.
    bool add_block(const std::string& kind, int most_steps);

    /// What was drawn: leaves that all need a gradient, and the steps.
    Graph take();
    const std::vector<Tensor>& values() const { return values_; }
    const std::vector<Step>& steps() const { return steps_; }

  private:
    Number pick(const std::function<bool(const Tensor&)>& wanted);
    bool append(Step step);
    bool suits(const Step& step, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;

    Sequence random_;
    bool alone_;
    std::vector<Tensor> leaves_;
    std::vector<Tensor> values_;  // of this block
    std::vector<Step> steps_;
};

/// Draws the inputs and options of one op; nothing when no fitting values are at hand.
using DrawOp = std::optional<Step> (*)(Draw&);
/// Those of all ops, by name.
const std::map<std::string, DrawOp>& drawn_ops();
/// Parts of it.
std::map<std::string, DrawOp> drawn_elementwise();
std::map<std::string, DrawOp> drawn_shapes();
std::map<std::string, DrawOp> drawn_layers();

}  // namespace heddle::cross_check
