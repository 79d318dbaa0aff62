// Internals of gradcheck, used only by its .cpp files.
#pragma once

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "autograd/gradcheck.h"
#include "core/error.h"
#include "core/random.h"

namespace heddle::proof {

using Values = std::vector<double>;
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// One gradient per output; undefined: backward does not start from this output.
using Cotangents = std::vector<Tensor>;

/// Returns check(). On an exception calls failed(its message) and returns false; running out of memory says nothing about a
/// gradient and is rethrown.
template <class Check, class Failed>
bool passes(const Check& check, const Failed& failed) {
    try {
        return check();
    } catch (const OutOfMemory&) {
        throw;
    } catch (const std::exception& error) {
        return failed(error.what());
    }
}

/// A forward pass from which backward can start. Valid as long as the tape on which it was recorded.
struct Forward {
    std::vector<Variable> leaves, outputs;
    Values value;  ///< right after the forward pass: the elements of all outputs in order
};

/// The function under test, called the same way every time: the same inputs, the same random state.
class Subject {
  public:
    Subject(const GradientFunctions& function, const std::vector<Tensor>& inputs, Device device);

    std::size_t inputs() const { return inputs_.size(); }
    /// The input on the CPU.
    const Tensor& input(std::size_t i) const { return inputs_[i]; }
    const std::string& ops() const { return ops_; }
    /// Number of calls of the function so far.
    std::int64_t calls() const { return calls_; }

    /// The outputs without recording, on the function's device. Error unless all are defined f64 tensors.
    std::vector<Tensor> outputs() const;
    /// The outputs' elements in order.
    Values value() const;
    /// Runs forward on the current tape; the inputs in `needs` require gradients.
    Forward forward(const std::vector<bool>& needs);
    /// All inputs require gradients, and a single Variable is both input `first` and input `second`.
    Forward forward_with_one_for(std::size_t first, std::size_t second);
    /// Gradients of the inputs, empty for those that require none. The leaves' gradients start from `start` (one for each input
    /// that requires one), or from nothing.
    std::vector<Values> back(Forward& pass, const Cotangents& cotangents, bool retain = false,
                             std::span<const Tensor> start = {}) const;
    /// The first input that the function has changed, if any.
    std::optional<std::size_t> changed_input() const;
    /// The value with element `element` of input `input` set to `x`; put back afterwards.
    Values value_at(std::size_t input, std::int64_t element, double x) const;
    /// The value with every input moved by step * direction; put back afterwards.
    Values value_along(const std::vector<Values>& direction, double step) const;

    /// Overwrites an input permanently, like a caller who changes it after the forward pass.
    void overwrite(std::size_t input, const Tensor& values);

  private:
    Forward forward(std::vector<Variable> leaves);
    std::vector<Variable> call(std::span<const Variable> leaves) const;
    void set(std::size_t input, std::int64_t element, double x) const;

    const GradientFunctions& function_;
    Device device_;
    std::vector<Tensor> inputs_;    // own copies: probing changes them
    std::vector<Tensor> given_;     // on the function's device, for the calls; on the CPU the same memory
    std::vector<Tensor> original_;  // as given by the caller
    Generator generator_;
    mutable std::int64_t calls_ = 0;
    std::string ops_ = "function";  // the ops on the tape of the first recorded run
};

// ---- numeric derivatives (gradcheck_slope.cpp)

/// Computes the values at equal distances on both sides of a point. Returns the width between the two rounded arguments.
using Line = std::function<double(double step, Values& above, Values& below)>;

/// Derivatives of several values along a line.
struct Slope {
    Values derivative;
    Values bound;  ///< |derivative - the true one| is at most this; infinite if no step gave an estimate
    Values jump;   ///< |right-hand - left-hand derivative| if the point is a kink, else 0
    Values bend;   ///< |the second derivative|, roughly
    double smallest_step = 0;
};

/// Ridders' method: central differences for steps of about `first`, first / 2, ..., extrapolated to step 0. Uses the tableau's
/// entry with the smallest bound: 50 times its estimated error + 16 noise / step. `noise` is the rounding error of each value; a
/// step at which a value does not look smooth (its second difference does not shrink) gives no estimate. At most `rows` steps.
/// If a value does not change at small steps because it is coarsely rounded, `noise` is raised to that error.
Slope differentiate(const Line& line, const Values& center, Values& noise, double first, int rows);

/// The rounding error (a standard deviation) of several values near a point, from sixth differences. `sample(t)` gives the
/// values at the distance t from the point, for multiples of the first two `distances` at which a value changes. Values that are
/// not finite count as without error.
Values measured_noise(const std::function<Values(double)>& sample, std::span<const double> distances);

// ---- of the function under test (gradcheck_numeric.cpp)

/// The values for which one input's derivatives are wanted: every output element, then the sums of cotangents * outputs.
struct Wanted {
    const Values& value;            ///< of all output elements at the inputs
    std::span<const Values> sums;   ///< one cotangent per sum, [outputs]; 0 for outputs that are not part of it
    const Values& noise;            ///< of the output elements, then of the sums
    double tolerance, floor, step;  ///< GradcheckOptions
    bool jacobian;                  ///< keep the derivatives of individual outputs
};

/// Derivatives of a sum by the probed elements.
struct Contracted {
    Values derivative;
    Values bound;
    Values scale;            ///< sum over outputs of |cotangent * d output / d element|
    Values jump;             ///< see Slope::jump
    double least_scale = 0;  ///< a derivative's scale is at least this
};

/// The numeric derivatives of one input.
struct Derivatives {
    std::vector<std::int64_t> elements;  ///< the probed elements, ascending
    std::vector<Contracted> sums;        ///< for each of Wanted::sums
    Values jacobian, jacobian_bound;     ///< [elements, outputs], if requested
    double smallest_step = 0;            ///< smallest step by which an element was moved
};

/// True if the noise of the first sum can be rounding; if it is larger, the function jumps.
bool is_rounding(const Wanted& wanted);

Derivatives derivatives(const Subject& subject, std::size_t input, std::vector<std::int64_t> elements, const Wanted& wanted);

/// The rounding error (a standard deviation) of every output element and of each sum at the subject's inputs; at least half a
/// unit in the last place of what is summed.
Values noise_of(const Subject& subject, std::span<const Values> sums, std::uint64_t seed);

/// `values` followed by the sum of cotangent * value for each of `sums`.
Values with_sums(Values values, std::span<const Values> sums);

/// sum a[i] b[i], and sum |a[i] b[i]|.
double dot(std::span<const double> a, std::span<const double> b);
double dot_of_magnitudes(std::span<const double> a, std::span<const double> b);

/// True if an error of this size comes from a kink or jump near a point: the difference of the one-sided derivatives does not
/// shrink in proportion to the step. `one_sided(h)` is the slope between the point and the one at distance h; `size` is the
/// point's; `rounding` and `noise` are the value's possible and measured errors.
bool kink_explains(const std::function<double(double)>& one_sided, double size, double rounding, double noise, double error);
/// Checks for a kink near an element of an input.
bool kink_explains(const Subject& subject, std::size_t input, std::int64_t element, const Values& cotangent, double noise,
                   double error);

/// True if the first sum's outputs change in steps as coarse as float's.
bool moves_like_float(const Wanted& wanted);

// ---- other points (gradcheck_further.cpp)

/// A function with known gradients at its inputs.
struct Points {
    Subject& here;
    const GradientFunctions& function;
    const GradcheckOptions& options;
    const Cotangents& cotangents;
    const Values& cotangent;               ///< the cotangent of all output elements
    const Values& value;                   ///< at the inputs
    const std::vector<Values>& gradients;  ///< at the inputs, if all require gradients
};

/// The fault, if any, of the gradients along a random direction, in which all elements move at once.
std::optional<std::string> wrong_along_a_direction(const Points& points);
/// The fault, if any, at two further points: a derivative along a random direction, or gradients that change if two forward
/// passes precede their backwards. Skips points where the function cannot be evaluated or differentiated.
std::optional<std::string> wrong_at_other_points(const Points& points);
/// The fault, if any, when leaves already hold gradients, as in a second micro-batch.
std::optional<std::string> wrong_for_held_gradients(const Points& points);
/// The fault, if any, for a cotangent that is 2^40 times as large or as small.
std::optional<std::string> wrong_for_scaled_cotangents(const Points& points);
/// The fault, if any, when one Variable is given as two inputs of one shape: it must get the sum of their gradients.
std::optional<std::string> wrong_for_one_variable_twice(const Points& points);
/// The fault, if any, of the bits of value and gradients when backward runs many times, on other threads.
std::optional<std::string> wrong_when_repeated(const Points& points);
/// The fault, if any, after an input was changed in place between forward and backward: backward must throw an Error, or give
/// the same gradients as before.
std::optional<std::string> wrong_after_changes(const Points& points);

// ---- words (gradcheck_cause.cpp)

/// Data about a wrong gradient.
struct Evidence {
    Shape shape;  ///< the input's shape
    std::span<const double> analytic;
    std::span<const double> numeric;
    std::span<const double> allowed;  ///< maximum error that passes
    Shape output;
    const Values* cotangent = nullptr;  ///< of the output
    const Values* jacobian = nullptr;   ///< [elements, outputs], if the full one is known
};

/// The likely cause of a wrong gradient in words. The evidence must cover all elements of an input.
std::string likely_cause(const Evidence& evidence);

// ---- what is tried (gradcheck_plan.cpp)

/// The elements of an input that are probed: all, or of a large input a random part and the element with the largest gradient,
/// without which a gradient with only a few nonzero rows might seem to be zero.
std::vector<std::int64_t> probed_elements(const Values& gradient, const GradcheckOptions& options);
/// Every combination of required gradients except all, for up to four inputs; for more, none and each by itself.
std::vector<std::vector<bool>> partial_combinations(std::size_t inputs);
/// "only these inputs need a gradient: 0, 2"
std::string needs_text(const std::vector<bool>& needs);
/// The inputs with every element multiplied by a random factor between 0.7 and 1.3: signs, zeros and magnitudes are kept.
std::vector<Tensor> nearby_inputs(const Subject& subject, std::uint64_t seed);
/// Normal numbers, one for each element of each input.
std::vector<Values> random_direction(const Subject& subject, std::uint64_t seed);

/// The shape of the output that contains element `o` of all outputs, and its index there: "[2, 3]", with the output's number if
/// there are several: "1 at [2, 3]".
const Shape& shape_of(const std::vector<Shape>& outputs, std::size_t o);
std::string output_text(const std::vector<Shape>& outputs, std::size_t o);
/// "the output [4] holds NaN at [2]", where `value` is not finite.
std::string not_finite_text(const std::vector<Shape>& outputs, std::size_t o, double value);
/// The values as cotangents of outputs with these shapes.
Cotangents cotangents_of(const Values& values, const std::vector<Shape>& shapes);
/// Normal numbers; the same for the same key.
Values random_values(std::int64_t count, std::uint64_t key);
bool same_bits(const Values& a, const Values& b);
/// True if this input's gradient is declared to be always zero.
inline bool declares_zero(const GradcheckOptions& options, std::size_t input) {
    const std::vector<int>& declared = options.zero_by_symmetry;
    return std::find(declared.begin(), declared.end(), static_cast<int>(input)) != declared.end();
}
/// The largest magnitude; NaN if a value is NaN.
double largest(std::span<const double> values);
/// "[2, 3]" for element 11 of shape [4, 4].
std::string index_text(const Shape& shape, std::int64_t element);
/// " at [2, 3]"; empty for a scalar.
std::string at_text(const Shape& shape, std::int64_t element);
/// "input 0 [4, 4]"; "input 0" for a scalar.
std::string input_text(const Subject& subject, std::size_t input);
/// The number with this many digits; "NaN" without a sign.
std::string number_text(double number, int digits = 6);

}  // namespace heddle::proof
