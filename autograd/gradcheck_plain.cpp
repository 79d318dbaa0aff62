// Functions that do not use the tape: the pair becomes one op.
#include "autograd/gradcheck.h"
#include "core/format.h"

namespace heddle {
namespace {

void give_gradients(const PlainFunction& function, Gradients& g, int inputs, int outputs) {
    std::vector<Tensor> in, out, cotangents;
    for (int i = 0; i < inputs; ++i) in.push_back(g.saved(i));
    for (int k = 0; k < outputs; ++k) {
        out.push_back(g.saved(inputs + k));
        cotangents.push_back(g.output(k));
    }
    std::vector<Tensor> gradients = function.backward(in, out, cotangents);
    check(std::ssize(gradients) == inputs, "gradcheck: backward gave {} gradients for {} inputs", gradients.size(), inputs);
    for (int i = 0; i < inputs; ++i)
        if (Tensor& gradient = gradients[static_cast<std::size_t>(i)]; gradient.defined()) g.give(i, std::move(gradient));
}

}  // namespace

GradcheckReport gradcheck(const PlainFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    const auto on_tape = [&](std::span<const Variable> in) {
        std::vector<Tensor> saved;
        for (const Variable& input : in) saved.push_back(input.value());
        std::vector<Tensor> outputs = function.forward(saved);
        saved.insert(saved.end(), outputs.begin(), outputs.end());
        const int number_of_inputs = static_cast<int>(in.size()), number_of_outputs = static_cast<int>(outputs.size());
        return record_many(std::move(outputs), {.op = function.name,
                                                .where = Where::current(),
                                                .inputs = {in.begin(), in.end()},
                                                .saved = std::move(saved),
                                                .backward = [&function, number_of_inputs, number_of_outputs](Gradients& g) {
                                                    give_gradients(function, g, number_of_inputs, number_of_outputs);
                                                }});
    };
    return gradcheck(GradientFunctions(on_tape), inputs, options);
}

}  // namespace heddle
