// Random calls of the ops of autograd/ops.h: the type of a call, and the draws of its inputs and options. Random graphs are made
// of such calls, and PyTorch computes them again (tests/cross_check).
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/ops.h"
#include "core/random.h"

namespace heddle::cases {

using Json = nlohmann::ordered_json;

/// Identifies a value: an earlier result, counted from 0; a leaf, of_leaf(i); or no value, kNone.
using Number = int;
inline constexpr Number kNone = -1;  ///< an absent bias
/// Leaves count downwards, so that more of them change no number.
inline constexpr Number of_leaf(std::size_t i) { return -2 - static_cast<Number>(i); }

/// One op, or a block of steps.
struct Step {
    std::string op = {};                           ///< a function of autograd/ops.h; "checkpoint" or "no_grad" for a block
    std::vector<Number> inputs = {};               ///< the values that it reads
    Json options = Json::object();                 ///< numbers and lists of numbers
    std::map<std::string, Tensor> constants = {};  ///< masks, indices, and what PyTorch multiplies by for a dropout
    /// The steps of a block. Within it, values are numbered anew: its inputs, then the results of these steps. The last result is
    /// the block's output. Leaves keep their numbers.
    std::vector<Step> body = {};

    /// Undefined when there is none of this name.
    Tensor constant(const std::string& name) const;
    /// Error when there is none of this name.
    template <class T>
    T option(const char* name) const {
        return options.at(name).get<T>();
    }
    template <class T>
    T option(const char* name, T otherwise) const {
        return options.value(name, otherwise);
    }
    /// The dropout of the option "dropout"; an inactive one when the step lacks the option.
    DropoutMask dropout() const;
    /// The spans of the option `name`, a list [[start, length], ...].
    Spans spans(const char* name, std::int64_t rows) const;
    /// The options that Draw::loss() drew.
    ops::LossOptions loss() const;
};

/// Draws numbers, inputs, constants and options of the next step. Inputs are earlier values where they fit, or new leaves.
class Draw {
  public:
    /// `alone`: every input is a leaf of its own, as for a single op.
    Draw(std::uint64_t seed, bool alone) : random_(seed), alone_(alone) {}

    // ---- numbers

    /// A uniform integer; `low` and `high` are included.
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
    /// Puts a dropout with its key into the step's options, and its factors for a [rows, cols] tensor into the constant "kept".
    void dropout(Step& step, std::int64_t rows, std::int64_t cols);
    /// Puts a dropout with its key into the step's options, but no constant.
    DropoutMask dropout_option(Step& step);
    /// Puts targets, some of them ignored, and the options of a loss over [rows, vocabulary] logits into the step.
    void loss(Step& step, std::int64_t rows, std::int64_t vocabulary);

    /// True if the results are small enough to be drawn from again.
    bool small(std::span<const Tensor> outputs) const;

  protected:
    std::uint64_t next_key() { return random_.next(); }

    std::vector<Tensor> leaves_;
    std::vector<Tensor> values_;  // the values of this block

  private:
    Number pick(const std::function<bool(const Tensor&)>& wanted);

    Sequence random_;
    bool alone_;
};

using Inputs = std::span<const Variable>;
using Outputs = std::vector<Variable>;

/// How one function of autograd/ops.h is drawn, called and computed by PyTorch.
struct TapeFunction {
    std::string_view name;  ///< "add"
    /// Draws its inputs and options; nothing when no fitting values are at hand.
    std::optional<Step> (*draw)(Draw& draw);
    Outputs (*apply)(const Step& step, Inputs in);
    /// The body of a Python function of `inputs` (None: absent), `options` and `constants` that returns the list of outputs;
    /// tests/cross_check/torch_cross_check.py says which names it may use.
    std::string_view torch;
    /// True if no input lies at a kink and the outputs are small enough. nullptr: draw.small(outputs).
    bool (*suits)(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) = nullptr;
};

/// The least magnitude of an element.
double least_magnitude(const Tensor& x);
/// True if every row varies; a nearly constant one would magnify rounding errors by 1 / sqrt(eps).
bool rows_vary(const Tensor& x, double eps);

}  // namespace heddle::cases
