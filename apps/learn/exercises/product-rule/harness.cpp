#include "apps/learn/grader/tape_attempt.h"
#include "product-rule/exercise.h"

namespace heddle::learn::product_rule_harness {

// The products of two rows of numbers.
template <class A, class B>
Values times(const A& a, const B& b) {
    Values all;
    for (std::size_t i = 0; i < a.size(); ++i) all.push_back(a[i] * b[i]);
    return all;
}

std::string run(const Answer& answer) {
    auto* const product = answer.function<decltype(::product)>("product", "_Z7productRKN6heddle8VariableES2_");
    const auto x = [](Inputs in) { return in[0].values<double>(); };
    const auto y = [](Inputs in) { return in[1].values<double>(); };
    const auto copy = [](auto values) { return Values(values.begin(), values.end()); };
    const char* const other = "that is dz times its own factor; the derivative of x y by x is y, and by y it is x";
    const char* const alone = "that is the derivative of z alone; the chain rule multiplies it by dz, g.output()";
    const TapeOp op = {.inputs = {"x", "y"},
                       .result = "z",
                       .function = [product](auto in) { return product(in[0], in[1]); },
                       .value = [=](Inputs in) { return times(x(in), y(in)); },
                       .gradients =
                           [=](Inputs in, const Values& dz) {
                               return std::vector<Values>{times(dz, y(in)), times(dz, x(in))};
                           },
                       .mistakes = {{0, [=](Inputs in, const Values& dz) { return times(dz, x(in)); }, other},
                                    {1, [=](Inputs in, const Values& dz) { return times(dz, y(in)); }, other},
                                    {0, [=](Inputs in, const Values&) { return copy(y(in)); }, alone},
                                    {1, [=](Inputs in, const Values&) { return copy(x(in)); }, alone},
                                    {0,
                                     [=](Inputs in, const Values& dz) {
                                         Values both = times(dz, y(in));
                                         for (std::size_t i = 0; i < both.size(); ++i) both[i] += dz[i] * x(in)[i];
                                         return both;
                                     },
                                     "that is the gradient of both factors; the second one belongs to input 1"}}};
    return prove(answer, op, {{tensor({5}, 1), tensor({5}, 2)}, {tensor({2, 3}, 3), tensor({2, 3}, 4)}});
}

const TapeExercise exercise("product-rule", run);

}  // namespace heddle::learn::product_rule_harness
