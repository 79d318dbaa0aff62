// verdict: missed: no input was ever changed, but a difference needs f(x + h) and f(x - h)
#include <cmath>

#include "exercise.h"

bool gradient_is_right(const Function& function, const std::vector<Tensor>& inputs) {
    std::vector<std::vector<double>> gradients[2];
    for (auto& of_run : gradients) {
        std::vector<Variable> leaves;
        for (const Tensor& input : inputs) leaves.emplace_back(input.clone(), true);
        const Variable result = function(leaves);
        backward(result, Tensor::randn(result.shape(), 1, DType::f64));
        for (const Variable& leaf : leaves)
            of_run.push_back(leaf.grad().defined() ? leaf.grad().to_vector() : std::vector<double>());
    }
    return gradients[0] == gradients[1];
}
