#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/learn/grader/tape_attempt.h"
#include "apps/learn/grader/watch.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "own-gradcheck/exercise.h"

namespace heddle::learn {
namespace {

using Arguments = std::span<const Variable>;

// A function that the answer should accept or refuse.
struct Subject {
    std::string what;
    bool right;
    Function function;
    std::vector<Tensor> inputs;
    std::string hint = "";       // probable cause if a check errs here; empty: its calls tell
    std::string otherwise = "";  // probable cause if the calls tell nothing
};

// The function x with this change to its gradient.
template <class Change>
Variable tampered(const Variable& x, Change change) {
    return record(x.value().clone(),
                  {.op = "tampered", .where = Where::current(), .inputs = {x}, .backward = [change](Gradients& g) {
                       Tensor gradient = g.output().clone();
                       change(gradient.mutable_values<double>());
                       g.give(0, gradient);
                   }});
}

// A softmax whose backward adds up y where it should add up dy y.
Variable softmax_with_a_wrong_sum(const Variable& x) {
    const Tensor y = ops::softmax(x.detach()).value();
    return record(y, {.op = "softmax", .where = Where::current(), .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          Tensor dx = g.output().clone();
                          for (std::size_t i = 0; i < dx.values<double>().size(); ++i)
                              dx.mutable_values<double>()[i] = (dx.values<double>()[i] - 1) * g.saved(0).values<double>()[i];
                          g.give(0, dx);
                      }});
}

// The function x y that gives no gradient of y.
Variable product_without_dy(const Variable& x, const Variable& y) {
    const Tensor z = ops::mul(x.detach(), y.detach()).value();
    return record(
        z, {.op = "product", .where = Where::current(), .inputs = {x, y}, .saved = {y.value()}, .backward = [](Gradients& g) {
                g.give(0, ops::mul(g.output(), g.saved(0)).value());
            }});
}

Variable times(double factor, const Variable& x) {
    return tampered(x, [factor](std::span<double> gradient) {
        for (double& value : gradient) value *= factor;
    });
}

Tensor scaled(const Tensor& x, double factor) {
    Tensor result = x.clone();
    for (double& value : result.mutable_values<double>()) value *= factor;
    return result;
}

std::vector<Subject> subjects() {
    const Tensor x = tensor({3}, 1), y = tensor({3}, 2), matrix = tensor({2, 4}, 3), small = scaled(tensor({7}, 4), 0.25);
    const Tensor gamma = tensor({4}, 6), beta = tensor({4}, 7), with_zero = Tensor::from(Values{0, 0.5, -1}, {3});
    const auto layer_norm = [](Arguments in) { return ops::layer_norm(in[0], in[1], in[2]); };
    return {
        {"z = x y", true, [](Arguments in) { return ops::mul(in[0], in[1]); }, {x, y}},
        {"z = x y with the sign of dx changed", false, [](Arguments in) { return ops::mul(times(-1, in[0]), in[1]); }, {x, y}},
        {"a softmax over rows", true, [](Arguments in) { return ops::softmax(in[0]); }, {matrix}},
        {"1e9 times x squared",
         true,
         [](Arguments in) { return ops::scale(ops::mul(in[0], in[0]), 1e9); },
         {x},
         "the derivatives are some 1e9, and so are their rounding errors; compare relative to the input's largest derivative"},
        {"tanh(40 x)",
         true,
         [](Arguments in) { return ops::tanh(ops::scale(in[0], 40)); },
         {scaled(tensor({5}, 5), 1.0 / 80)},
         "",
         "even a central difference has an error, which grows with h² and with the bend of the function, and here the bound is "
         "smaller; with h = 1e-5, compare with 1e-5 times the largest derivative"},
        {"a layer norm", true, layer_norm, {matrix, gamma, beta}},
        {"the sum of e^x", true, [](Arguments in) { return ops::sum(ops::exp(in[0])); }, {small}},
        {"e^x, where x[0] is 0", true, [](Arguments in) { return ops::exp(in[0]); }, {with_zero}},
        {"the first row of x",
         true,
         [](Arguments in) { return ops::slice(in[0], 0, 0, 1); },
         {tensor({3, 2}, 8)},
         "the derivatives of the other rows are 0, and dividing by them gives no number; divide by the largest derivative of the "
         "input, or compare with a bound times it"},
        {"x squared, of two inputs x and y",
         true,
         [](Arguments in) { return ops::mul(in[0], in[0]); },
         {x, y},
         "y has no influence: its derivatives are 0, and so are the difference and the bound, so write <= and not <; and a "
         "grad() that is undefined counts as zeros"},
        {"a softmax whose backward adds up y where it should add up dy y",
         false,
         [](Arguments in) { return softmax_with_a_wrong_sum(in[0]); },
         {matrix}},
        {"1e-9 times x squared, with a gradient that is twice too large",
         false,
         [](Arguments in) { return ops::scale(ops::mul(times(2, in[0]), times(2, in[0])), 1e-9); },
         {x},
         "the derivatives are some 1e-9, and so is the error; compare relative to the input's largest derivative"},
        {"z = x y with dy twice too large", false, [](Arguments in) { return ops::mul(in[0], times(2, in[1])); }, {x, y}},
        {"z = 1e9 x + y with dy twice too large",
         false,
         [](Arguments in) { return ops::add(ops::scale(in[0], 1e9), times(2, in[1])); },
         {x, y},
         "the derivatives by x are 1e9 times larger, and a bound taken from them hides the error; begin the largest derivative "
         "anew for each input"},
        {"a layer norm whose dbeta is twice too large",
         false,
         [](Arguments in) { return ops::layer_norm(in[0], in[1], times(2, in[2])); },
         {matrix, gamma, beta}},
        {"e^x of a matrix, with 10 added to the last gradient",
         false,
         [](Arguments in) { return ops::exp(tampered(in[0], [](std::span<double> gradient) { gradient.back() += 10; })); },
         {matrix}},
        {"z = x y whose backward never gives dy",
         false,
         [](Arguments in) { return product_without_dy(in[0], in[1]); },
         {x, y},
         "an undefined grad() counts as zeros, which is wrong here"},
        {"e^x with a gradient that is 1 % too large",
         false,
         [](Arguments in) { return ops::exp(times(1.01, in[0])); },
         {small},
         "the bound is too large: right gradients agree to many digits"},
        {"e^x with a gradient of 0 for the last element",
         false,
         [](Arguments in) { return ops::exp(tampered(in[0], [](std::span<double> gradient) { gradient.back() = 0; })); },
         {small}},
        {"e^x with the gradients of two elements exchanged",
         false,
         [](Arguments in) {
             return ops::exp(tampered(in[0], [](std::span<double> gradient) { std::swap(gradient[1], gradient[2]); }));
         },
         {small},
         "in a sum the two errors cancel; change one element at a time, and compare each one"},
        {"e^x with a gradient that is not a number in one element",
         false,
         [](Arguments in) {
             return ops::exp(
                 tampered(in[0], [](std::span<double> gradient) { gradient[3] = std::numeric_limits<double>::quiet_NaN(); }));
         },
         {small},
         "error > bound is false if the error is NaN, and so the check goes on; write !(error <= bound)"},
    };
}

// Records the calls of a function and concludes from them how the check works.
class Calls {
  public:
    explicit Calls(const Subject& subject) : subject_(subject) {
        for (const Tensor& input : subject.inputs) {
            base_.push_back(input.clone());
            changed_.emplace_back(static_cast<std::size_t>(input.numel()));
        }
    }

    Variable operator()(Arguments in) {
        ++calls_;
        look_at(in);
        const Variable result = subject_.function(in);
        return record(result.value(),
                      {.op = "function", .where = Where::current(), .inputs = {result}, .backward = [this](Gradients& g) {
                           cotangent_ = g.output().to_vector();
                           g.give(0, g.take_output());
                       }});
    }

    bool inputs_are_kept() const {
        for (std::size_t i = 0; i < base_.size(); ++i)
            if (subject_.inputs[i].to_vector() != base_[i].to_vector()) return false;
        return true;
    }

    // The most probable cause of a wrong answer; empty if nothing is conspicuous.
    std::string cause() const {
        if (cotangent_.empty())
            return "backward never ran: it needs leaves, Variable(input.clone(), true), and backward(result, cotangent)";
        if (calls_ > 1 && base_[0].values<double>()[0] == 0 && !changed_[0][0] && !together_)
            return "element 0 of input 0 is 0 and was never changed: a step in proportion to the element is 0 there; use the "
                   "same step everywhere";
        if (smallest_ > largest_ && !together_) return "no input was ever changed, but a difference needs f(x + h) and f(x - h)";
        if (cotangent_.size() > 1 && std::ranges::all_of(cotangent_, [&](double value) { return value == cotangent_[0]; }))
            return fmt::format(
                "backward began with {:.4g} in each element of the result, and with equal numbers many mistakes cancel; use "
                "random numbers, Tensor::randn(result.shape(), 1, DType::f64)",
                cotangent_[0]);
        if (together_) return "several elements are changed at once, so errors that cancel remain unseen; change one at a time";
        for (std::size_t i = 0; i < changed_.size() && !subject_.right; ++i)  // a check may refuse at once
            for (std::size_t e = 0; e < changed_[i].size(); ++e)
                if (!changed_[i][e]) return fmt::format("element {} of input {} was never changed", e, i);
        if (largest_ > 1e-3)
            return fmt::format(
                "the step is {:.1g}, and over such a distance the function is no straight line; about 1e-5 is best", largest_);
        if (smallest_ < 1e-9)
            return fmt::format("the step is {:.1g}, and what the function changes by is lost in rounding; about 1e-5 is best",
                               smallest_);
        if (!(up_ && down_))
            return "the difference is taken to one side only, and its error grows with the step; (f(x + h) - f(x - h)) / (2 h) "
                   "is far more exact";
        return "";
    }

  private:
    void look_at(Arguments in) {
        std::size_t input = 0, element = 0;
        int changes = 0;
        double step = 0;
        for (std::size_t i = 0; i < std::min(in.size(), base_.size()); ++i) {
            if (in[i].shape() != base_[i].shape()) continue;
            const auto now = in[i].value().values<double>(), before = base_[i].values<double>();
            for (std::size_t e = 0; e < now.size(); ++e) {
                // An element that differs by a rounding was changed and changed back.
                if (std::abs(now[e] - before[e]) <= 1e-14 * (1 + std::abs(before[e]))) continue;
                ++changes;
                input = i;
                element = e;
                step = now[e] - before[e];
            }
        }
        together_ |= changes > 1;
        if (changes != 1) return;
        changed_[input][element] = true;
        largest_ = std::max(largest_, std::abs(step));
        smallest_ = std::min(smallest_, std::abs(step));
        (step > 0 ? up_ : down_) = true;
    }

    const Subject& subject_;
    std::vector<Tensor> base_;
    std::vector<std::vector<bool>> changed_;
    Values cotangent_;
    double largest_ = 0, smallest_ = std::numeric_limits<double>::infinity();
    bool up_ = false, down_ = false, together_ = false;
    int calls_ = 0;
};

// Adds advice to errors that a check provokes.
std::string advice_on(const std::string& error) {
    const auto says = [&](const char* words) { return error.find(words) != std::string::npos; };
    if (says("undefined tensor")) return ". A grad() is undefined if backward gave none: it counts as zeros";
    if (says("none of its inputs requires a gradient"))
        return ". Leaves collect gradients if they are made with true: leaves.emplace_back(inputs[i].clone(), true)";
    if (says("the cotangent is")) return ". Tensor::randn(y.shape(), 1, DType::f64) has the shape and the type of y";
    return "";
}

std::string run(const Answer& answer) {
    auto* const gradient_is_right =
        answer.function<decltype(::gradient_is_right)>("gradient_is_right",
                                                       "_Z17gradient_is_rightRKSt8functionIFN6heddle8VariableESt4spanIKS1_"
                                                       "Lm18446744073709551615EEEERKSt6vectorINS0_6TensorESaISA_EE");
    const std::vector<Subject> all = subjects();
    int right = 0;
    for (const Subject& subject : all) {
        Calls calls(subject);
        const Function function = [&calls](Arguments in) { return calls(in); };
        bool accepted = false;
        restart_printing();
        try {
            accepted = gradient_is_right(function, subject.inputs);
        } catch (const Error& error) {
            Verdict verdict = verdict_of_error(error.what(), answer.source());
            verdict.text = "the check throws \"" + verdict.text + "\"" + advice_on(error.what());
            verdict.shape = subject.what;
            throw Failed{verdict};
        }
        if (!calls.inputs_are_kept())
            throw Failed{{.kind = "changed",
                          .text = "the check changes the inputs that it was given: change a clone()",
                          .shape = subject.what}};
        right += subject.right;
        if (accepted == subject.right) continue;
        std::string text =
            subject.right ? "its gradient is right, but the check refuses it" : "its gradient is wrong, but the check accepts it";
        std::string cause = calls.cause();
        if (!subject.hint.empty() && !cause.starts_with("backward never ran")) cause = subject.hint;
        if (cause.empty()) cause = subject.otherwise;
        if (!cause.empty()) text += ": " + cause;
        throw Failed{{.kind = subject.right ? "refused" : "missed", .text = text, .shape = subject.what}};
    }
    return fmt::format("accepts {} right gradients and refuses {} wrong ones", right, static_cast<int>(all.size()) - right);
}

const TapeExercise own_gradcheck_exercise("own-gradcheck", run);

}  // namespace
}  // namespace heddle::learn
