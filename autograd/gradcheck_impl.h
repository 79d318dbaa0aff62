// The inside of gradcheck, shared by its .cpp files only.
#pragma once

#include <optional>

#include "autograd/gradcheck.h"
#include "core/random.h"

namespace heddle::proof {

using Values = std::vector<double>;

/// What one run forward and back gave.
struct Run {
    Values value;
    std::vector<Values> gradients;  ///< per input; empty when the input required none
};

/// The function under test, called the same way every time: the same inputs, the same random state.
class Subject {
  public:
    Subject(const GradientFunction& function, const std::vector<Tensor>& inputs, Device device);

    std::size_t inputs() const { return inputs_.size(); }
    /// On the CPU.
    const Tensor& input(std::size_t i) const { return inputs_[i]; }
    const std::string& ops() const { return ops_; }

    /// The value without recording, on the function's device. Error when it is not a defined f64 tensor.
    Tensor value() const;
    /// Forward with the inputs of `needs` requiring gradients, then back once for each cotangent over the same tape.
    std::vector<Run> run(const std::vector<bool>& needs, std::span<const Tensor> cotangents);
    /// Whether the function left its inputs as they were.
    bool inputs_unchanged() const;
    /// The value with element `element` of input `input` set to `x`; put back afterwards.
    Values value_at(std::size_t input, std::int64_t element, double x) const;
    /// The value with every input moved by step * direction.
    Values value_along(const std::vector<Values>& direction, double step) const;

  private:
    Variable call(std::span<const Variable> leaves) const;
    void set(std::size_t input, std::int64_t element, double x) const;

    const GradientFunction& function_;
    Device device_;
    std::vector<Tensor> inputs_;    // own copies: probing changes them
    std::vector<Tensor> given_;     // the same on the function's device: what it is called with; on the CPU the same memory
    std::vector<Tensor> original_;  // as they were given
    Generator generator_;
    std::string ops_ = "function";  // the ops that the first recorded run put on its tape
};

/// The numeric derivatives of one input.
struct Derivatives {
    std::vector<std::int64_t> elements;  ///< the probed elements, ascending
    Values contracted;                   ///< per probed element: sum over outputs of cotangent * d output / d element
    Values jacobian;                     ///< [elements, outputs], when it was asked for
};

Derivatives differentiate(const Subject& subject, std::size_t input, std::vector<std::int64_t> elements, const Values& cotangent,
                          const GradcheckOptions& options, bool keep_jacobian);

/// Whether an error of this size comes from a kink or jump of the function within a step of this element: its one-sided
/// derivatives do not come together in proportion to the step.
bool kink_explains(const Subject& subject, std::size_t input, std::int64_t element, const Values& cotangent, double step,
                   double error);

/// What a wrong gradient looked like.
struct Evidence {
    Shape shape;  ///< of the input
    std::span<const double> analytic;
    std::span<const double> numeric;
    double allowed = 0;  ///< the largest error that passes
    Shape output;
    const Values* cotangent = nullptr;  ///< of the output, and
    const Values* jacobian = nullptr;   ///< [elements, outputs], when the full one is known
};

/// The likely cause of a wrong gradient, in words, for evidence over all elements of an input.
std::string likely_cause(const Evidence& evidence);

/// The elements of an input of `count` elements that are probed: all, or a random part of a large input.
std::vector<std::int64_t> probed_elements(std::int64_t count, const GradcheckOptions& options);
/// Every combination of required gradients but all together, for up to four inputs; above that none, and each alone.
std::vector<std::vector<bool>> partial_combinations(std::size_t inputs);
/// "only these inputs need a gradient: 0, 2"
std::string needs_text(const std::vector<bool>& needs);

/// The largest magnitude; NaN when one is NaN.
double largest(std::span<const double> values);
/// "[2, 3]" for element 11 of shape [4, 4].
std::string index_text(const Shape& shape, std::int64_t element);

}  // namespace heddle::proof
