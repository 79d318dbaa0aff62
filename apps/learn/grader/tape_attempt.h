// The functions that the harness of an exercise on the tape calls. The answer is host C++ on Heddle's own tape: a function of
// Variables that records a node. The harness says what its result and its gradients should be, and which wrong gradients have a
// known cause.
//
//     std::string product_rule(const Answer& answer) {
//         auto* const product = answer.function<decltype(::product)>("product", "_Z7productRKN6heddle8VariableES2_");
//         const TapeOp op = {.inputs = {"x", "y"}, .result = "z", .function = ..., .value = ..., .gradients = ...};
//         return prove(answer, op, {{tensor({5}, 1), tensor({5}, 2)}});
//     }
//     const TapeExercise product_rule_exercise("product-rule", product_rule);
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/learn/grader/attempt.h"
#include "autograd/gradcheck.h"

namespace heddle::learn {

/// The learner's shared library.
class Answer {
  public:
    /// `library`: from dlopen. `source`: the name of the learner's file in reports.
    Answer(void* library, std::string source) : library_(library), source_(std::move(source)) {}

    /// The learner's function. `symbol`: its name as the compiler mangles it, which includes the parameters. Throws Failed if
    /// there is none.
    template <class Function>
    Function* function(const char* name, const char* symbol) const {
        return reinterpret_cast<Function*>(find(name, symbol));
    }
    const std::string& source() const { return source_; }

  private:
    void* find(const char* name, const char* symbol) const;

    void* library_;
    std::string source_;
};

using Inputs = std::span<const Tensor>;
using Values = std::vector<double>;
/// The gradients of all inputs, if the result's gradient is `cotangent`.
using Derivative = std::function<std::vector<Values>(Inputs inputs, const Values& cotangent)>;

/// A wrong gradient whose cause is known.
struct KnownMistake {
    int input;  ///< the number of the input that gets this gradient
    std::function<Values(Inputs inputs, const Values& cotangent)> gradient;
    std::string words;  ///< ends the sentence "dx[0] is 1; wanted 2: ..."
};

/// Describes what the learner's op should do. All tensors are f64.
struct TapeOp {
    std::vector<std::string> inputs;  ///< names
    std::string result;               ///< name
    GradientFunction function;        ///< calls the learner's
    std::function<Values(Inputs)> value;
    Derivative gradients;
    std::vector<KnownMistake> mistakes = {};
    std::string on_shape = "";  ///< advice for a gradient of the wrong shape; a sentence
};

/// f64 numbers of this shape: numbers() of the series.
Tensor tensor(const Shape& shape, unsigned series);

/// Checks the op with each of these lists of inputs: the result; its node, with each input alone requiring a gradient; the
/// gradients of all inputs; gradients added to those that a leaf already holds; two forward passes before the first backward;
/// inputs and result changed between forward and backward; last, gradcheck(). Throws Failed with the first mistake; returns the
/// text of a pass.
std::string prove(const Answer& answer, const TapeOp& op, const std::vector<std::vector<Tensor>>& cases);

/// The verdict of an error that the tape, or the answer, threw.
Verdict verdict_of_error(const std::string& error, const std::string& source);

/// One exercise on the tape, which registers itself: a constant of the harness.
struct TapeExercise {
    /// Throws Failed; returns what a pass says.
    using Run = std::string (*)(const Answer& answer);
    TapeExercise(const char* exercise, Run body);

    std::string name;
    Run run;
};
std::vector<const TapeExercise*>& tape_exercises();

/// The verdict on the answer.
Verdict grade(const TapeExercise& exercise, const Answer& answer);

}  // namespace heddle::learn
