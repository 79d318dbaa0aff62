// Functions that do not use the tape: the pair becomes one op.
#include <fmt/format.h>

#include <limits>

#include "autograd/gradcheck.h"
#include "core/format.h"
#include "core/random.h"

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

PlainFunction plain_function(std::function<double(std::span<const double>)> function,
                             std::function<void(std::span<const double>, std::span<double>)> derivative) {
    return {.forward = [function = std::move(function)](std::span<const Tensor> in) -> std::vector<Tensor> {
                return {Tensor::full({}, function(in[0].values<double>()), DType::f64)};
            },
            .backward = [derivative = std::move(derivative)](std::span<const Tensor> in, std::span<const Tensor>,
                                                             std::span<const Tensor> cotangents) -> std::vector<Tensor> {
                // NaN, so that elements which `derivative` does not set are detected.
                Tensor dx = Tensor::full(in[0].shape(), std::numeric_limits<double>::quiet_NaN(), DType::f64);
                derivative(in[0].values<double>(), dx.mutable_values<double>());
                for (double& each : dx.mutable_values<double>()) each *= cotangents[0].item();
                return {dx};
            }};
}

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

GradcheckReport gradcheck(const GradientCase& one) {
    GradcheckReport report = gradcheck(one.function, one.inputs, one.options);
    if (!report.passed) report.message = fmt::format("{} ({}): {}", one.op, one.what, report.message);
    return report;
}

Tensor random_input(const Shape& shape, std::uint64_t seed, double deviation) {
    Tensor result = Tensor::empty(shape, DType::f64);
    fill_normal(result, 0, deviation, seed);
    return result;
}

Tensor away_from_zero(const Tensor& x, double margin) {
    Tensor result = x.clone();
    for (double& value : result.mutable_values<double>()) value += value < 0 ? -margin : margin;
    return result;
}

}  // namespace heddle
