#include "apps/learn/grader/tape_attempt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <regex>

#include "apps/learn/grader/watch.h"
#include "autograd/gradcheck_impl.h"
#include "core/error.h"

namespace heddle::learn {
namespace {

// Marks memory that the answer has not written: a NaN that no arithmetic makes.
constexpr std::uint64_t kUnwritten = 0x7ff8'5eed'0bad'f00d;

Values values_of(const Tensor& tensor) {
    const std::span<const double> values = tensor.values<double>();
    return {values.begin(), values.end()};
}

bool close(double got, double wanted) { return std::abs(got - wanted) <= 1e-10 * (1 + std::abs(wanted)); }

bool close(const Values& got, const Values& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (!close(got[i], wanted[i])) return false;
    return got.size() == wanted.size();
}

std::string element_name(const std::string& name, const Shape& shape, std::size_t element) {
    return name + proof::index_text(shape, static_cast<std::int64_t>(element));
}

// The first wrong element, got and wanted; empty if all are right.
std::string difference(const std::string& name, const Shape& shape, const Values& got, const Values& wanted) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (!close(got[i], wanted[i]) && wrong++ == 0) first = i;
    if (wrong == 0) return "";
    std::string text = fmt::format("{} is {:.7g}; wanted {:.7g}", element_name(name, shape, first), got[first], wanted[first]);
    if (wrong > 1) text += fmt::format(" ({} of the {} elements of {} are wrong)", wrong, wanted.size(), name);
    return text;
}

std::string unwritten(const std::string& name, const Shape& shape, const Values& got) {
    for (std::size_t i = 0; i < got.size(); ++i)
        if (std::bit_cast<std::uint64_t>(got[i]) == kUnwritten)
            return element_name(name, shape, i) +
                   " was never written, or += was applied to memory that was never set; Tensor::zeros begins at 0";
    return "";
}

// Fills the memory that Heddle keeps for tensors of these shapes, so that elements which are never written can be told.
void mark_kept_memory(const std::vector<Shape>& shapes) {
    release_kept_memory();
    std::vector<Tensor> blocks;
    for (const Shape& shape : shapes)
        for (int i = 0; i < 8; ++i) {
            blocks.push_back(Tensor::empty(shape, DType::f64));
            for (double& value : blocks.back().mutable_values<double>()) value = std::bit_cast<double>(kUnwritten);
        }
}

// The verdict of the exception that is being handled, which the answer threw.
Verdict verdict_of_exception(const std::string& source) {
    try {
        throw;
    } catch (const Error& error) {
        return verdict_of_error(error.what(), source);
    } catch (...) {
        return {.kind = "crash", .line = line_of_last_throw(source), .text = text_of(std::current_exception())};
    }
}

// All checks of one op with one list of inputs.
class Proof {
  public:
    Proof(const Answer& answer, const TapeOp& op, const std::vector<Tensor>& inputs) : answer_(answer), op_(op), inputs_(inputs) {
        for (const Tensor& input : inputs) shapes_.push_back(input.shape());
        cotangent_ = values_of(tensor({static_cast<std::int64_t>(op.value(inputs).size())}, 9));
        wanted_ = op.gradients(inputs, cotangent_);
    }

    void first_run() {
        value_is_right();
        is_recorded();
        gradients_are_right();
    }

    // Returns how many derivatives gradcheck compared.
    std::int64_t further_runs() {
        gradients_add_up();
        passes_are_apart();
        for (std::size_t i = 0; i < inputs_.size(); ++i) change_is_noticed(i);
        change_is_noticed(inputs_.size());
        const GradcheckReport report = gradcheck(op_.function, inputs_);
        if (!report.passed) refuse("gradient", on_one_line(report.message));
        return report.compared;
    }

  private:
    using Leaves = std::vector<Variable>;

    Leaves leaves(const std::vector<Tensor>& inputs) const {
        Leaves all;
        for (std::size_t i = 0; i < inputs.size(); ++i) all.emplace_back(inputs[i].clone(), true, op_.inputs[i]);
        return all;
    }

    Variable forward(const Leaves& leaves) const {
        mark_kept_memory(shapes_);
        try {
            return op_.function(leaves);
        } catch (...) {
            throw_current();
        }
    }

    void back(const Variable& result) const {
        mark_kept_memory(shapes_);
        const Tensor cotangent = Tensor::from(cotangent_, result.shape());
        try {
            backward(result, cotangent);
        } catch (...) {
            throw_current();
        }
    }

    // Throws the verdict of the answer's exception, which is being handled.
    [[noreturn]] void throw_current() const {
        Verdict verdict = verdict_of_exception(answer_.source());
        if (verdict.kind == "shape" && !op_.on_shape.empty()) verdict.text += ". " + op_.on_shape;
        throw Failed{verdict};
    }

    void value_is_right() {
        const Leaves x = leaves(inputs_);
        const Variable result = forward(x);
        if (!result.defined()) refuse("values", "the result is an undefined Variable: what record() returns is missing");
        const Values wanted = op_.value(inputs_);
        if (result.value().dtype() != DType::f64) refuse("values", op_.result + " is not of DType::f64, as the inputs are");
        if (result.value().numel() != static_cast<std::int64_t>(wanted.size()) || result.shape() != wanted_shape())
            refuse("shape",
                   fmt::format("{} has the shape {}; wanted {}", op_.result, result.shape().str(), wanted_shape().str()));
        inputs_are_kept(x, "the forward pass");
        const Values got = values_of(result.value());
        if (const std::string text = unwritten(op_.result, result.shape(), got); !text.empty()) refuse("unwritten", text);
        if (const std::string text = difference(op_.result, result.shape(), got, wanted); !text.empty()) refuse("values", text);
    }

    // All exercises' results have the shape of their first input.
    const Shape& wanted_shape() const { return inputs_[0].shape(); }

    void inputs_are_kept(const Leaves& leaves, const char* who) const {
        for (std::size_t i = 0; i < leaves.size(); ++i)
            if (const Tensor& now = leaves[i].value(); values_of(now) != values_of(inputs_[i]))
                refuse("changed",
                       fmt::format("{} changes its input {}: others compute with the same memory. Make a new tensor with "
                                   "Tensor::empty, or change a clone()",
                                   who, op_.inputs[i]));
    }

    void is_recorded() const {
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            Leaves x = leaves(inputs_);
            for (std::size_t other = 0; other < x.size(); ++other) x[other].set_requires_grad(other == i);
            const Variable result = forward(x);
            if (result.is_leaf() && result.requires_grad())
                refuse("tape",
                       op_.result + " is a new leaf: nothing says what it was computed from. Return what record() returns");
            if (!result.requires_grad())
                refuse("tape", fmt::format("{} needs a gradient, but no node was recorded: {}", op_.inputs[i],
                                           i == 0 ? "return record(...) with all .inputs"
                                                  : fmt::format("is {} among the .inputs?", op_.inputs[i])));
            back(result);
            check_gradient(i, x[i]);
        }
    }

    void gradients_are_right() const {
        const Leaves x = leaves(inputs_);
        const Variable result = forward(x);
        const Values before = values_of(result.value());
        back(result);
        for (std::size_t i = 0; i < x.size(); ++i) check_gradient(i, x[i]);
        inputs_are_kept(x, "backward");
        if (values_of(result.value()) != before)
            refuse("changed",
                   "backward changes the result " + op_.result + ": it shares its memory with a saved tensor. Make a new one");
    }

    // Fails if the gradient of input `i`, which `leaf` holds, is missing or wrong.
    void check_gradient(std::size_t i, const Variable& leaf) const {
        const std::string& name = op_.inputs[i];
        const std::string start = fmt::format("the gradient of input {}, {}: ", i, name);
        if (!leaf.grad().defined()) refuse("gradient", start + fmt::format("backward never gives it; wanted g.give({}, ...)", i));
        const Values got = values_of(leaf.grad());
        if (const std::string text = unwritten("d" + name, leaf.shape(), got); !text.empty()) refuse("unwritten", start + text);
        std::string text = difference("d" + name, leaf.shape(), got, wanted_[i]);
        if (text.empty()) return;
        for (const KnownMistake& mistake : op_.mistakes)
            if (static_cast<std::size_t>(mistake.input) == i && close(got, mistake.gradient(inputs_, cotangent_))) {
                text += ": " + mistake.words;
                break;
            }
        refuse("gradient", start + text);
    }

    // Backward adds to gradients that leaves hold already.
    void gradients_add_up() const {
        Leaves x = leaves(inputs_);
        for (Variable& leaf : x) leaf.set_grad(Tensor::full(leaf.shape(), 8, DType::f64));
        back(forward(x));
        for (std::size_t i = 0; i < x.size(); ++i) {
            Values wanted = wanted_[i];
            for (double& value : wanted) value += 8;
            const Values got = values_of(x[i].grad());
            const std::string name = "d" + op_.inputs[i];
            if (const std::string text = difference(name, x[i].shape(), got, wanted); !text.empty())
                refuse("gradient",
                       fmt::format("the gradient of input {}, {}: {}, with 8 in each element of {} from another use of {}{}", i,
                                   op_.inputs[i], text, name, op_.inputs[i],
                                   close(got, wanted_[i]) ? ": gradients add up, and = forgets the others; use +=" : ""));
        }
    }

    // A second forward pass with other inputs comes before the first one's backward.
    void passes_are_apart() const {
        std::vector<Tensor> others;
        for (const Tensor& input : inputs_) {
            others.push_back(input.clone());
            for (double& value : others.back().mutable_values<double>()) value = 0.5 - value;
        }
        const Leaves x = leaves(inputs_), y = leaves(others);
        const Variable result = forward(x), other = forward(y);
        back(result);
        for (std::size_t i = 0; i < x.size(); ++i)
            if (const std::string text = difference("d" + op_.inputs[i], x[i].shape(), values_of(x[i].grad()), wanted_[i]);
                !text.empty())
                refuse("saved",
                       fmt::format("two forward passes, then backward of the first one: {}. It uses what the second pass left "
                                   "behind; what backward needs belongs in .saved, not in a static or global variable",
                                   text));
    }

    // Changes input `i`, or the result for the number after the last, between forward and backward. Backward must compute with
    // the former values, or the tape must notice.
    void change_is_noticed(std::size_t i) const {
        const Leaves x = leaves(inputs_);
        const Variable result = forward(x);
        Tensor target = i < x.size() ? x[i].value() : result.value();
        for (double& value : target.mutable_values<double>()) value = value / 2 + 1;
        try {
            backward(result, Tensor::from(cotangent_, result.shape()));
        } catch (const Error& error) {
            if (std::string(error.what()).find("changed in place") != std::string::npos) return;
            throw_current();
        }
        const std::string& name = i < x.size() ? op_.inputs[i] : op_.result;
        for (std::size_t j = 0; j < x.size(); ++j)
            if (!close(values_of(x[j].grad()), wanted_[j]))
                refuse(
                    "saved",
                    fmt::format("{} was changed between forward and backward, and d{} was computed from the new values without "
                                "a word. With {} in .saved, read by g.saved(), the tape notices",
                                name, op_.inputs[j], name));
    }

    const Answer& answer_;
    const TapeOp& op_;
    const std::vector<Tensor>& inputs_;
    std::vector<Shape> shapes_;
    Values cotangent_;
    std::vector<Values> wanted_;
};

}  // namespace

void* Answer::find(const char* name, const char* symbol) const {
    void* const found = dlsym(library_, symbol);
    if (found == nullptr)
        refuse("compile", fmt::format("{} defines no function '{}' with the parameters that exercise.h declares", source_, name));
    return found;
}

Tensor tensor(const Shape& shape, unsigned series) {
    const std::vector<float> all = numbers(static_cast<std::size_t>(shape.numel()), series);
    return Tensor::from(Values(all.begin(), all.end()), shape);
}

Verdict verdict_of_error(const std::string& error, const std::string& source) {
    const auto says = [&](const char* words) { return error.find(words) != std::string::npos; };
    int line = line_in(error, source);
    if (line == 0) line = line_of_last_throw(source);
    static const std::regex gave(
        R"(: backward gave input \d+ (an undefined|a gradient (\[.*?\]) (\w+), wanted (\[.*?\]) (\w+)))");
    std::smatch found;
    const bool is_gift = std::regex_search(error, found, gave);
    const char* const kind = is_gift                    ? (found[2] != found[4] ? "shape" : "gradient")
                             : says("changed in place") ? "saved"
                                                        : "tape";
    std::string text = on_one_line(error);
    if ((is_gift && found[3] == "f32") || says("are f32, but were asked for as f64"))
        text += "; Tensor::empty(shape, DType::f64) makes f64, and so do Tensor::zeros and Tensor::full";
    return {.kind = kind, .line = line, .text = text};
}

std::string prove(const Answer& answer, const TapeOp& op, const std::vector<std::vector<Tensor>>& cases) {
    std::int64_t compared = 0;
    for (const std::vector<Tensor>& inputs : cases) {
        try {
            Proof proof(answer, op, inputs);
            proof.first_run();
            stop_printing();
            compared += proof.further_runs();
        } catch (Failed& failed) {
            for (std::size_t i = 0; i < inputs.size(); ++i)
                failed.verdict.shape += fmt::format("{}{} {}", i == 0 ? "" : ", ", op.inputs[i], inputs[i].shape().str());
            throw;
        }
    }
    return fmt::format("the result and all gradients are right; {} derivatives agree with differences", compared);
}

std::vector<const TapeExercise*>& tape_exercises() {
    static std::vector<const TapeExercise*> all;
    return all;
}

TapeExercise::TapeExercise(const char* exercise, Run body) : name(exercise), run(body) { tape_exercises().push_back(this); }

Verdict grade(const TapeExercise& exercise, const Answer& answer) {
    try {
        return {.text = exercise.run(answer)};
    } catch (const Failed& failed) {
        return failed.verdict;
    } catch (...) {
        return verdict_of_exception(answer.source());
    }
}

}  // namespace heddle::learn
