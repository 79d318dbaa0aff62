// verdict: refused: the difference is taken to one side only
#include <algorithm>
#include <cmath>

#include "exercise.h"

// The loss: the elements of the result times those of the cotangent.
double loss(const Function& function, const std::vector<Tensor>& inputs, const Tensor& cotangent) {
    const Variable result = function(std::vector<Variable>(inputs.begin(), inputs.end()));
    double sum = 0;
    for (int i = 0; i < result.value().numel(); ++i) sum += result.value().values<double>()[i] * cotangent.values<double>()[i];
    return sum;
}

bool gradient_is_right(const Function& function, const std::vector<Tensor>& inputs) {
    std::vector<Variable> leaves;
    for (const Tensor& input : inputs) leaves.emplace_back(input.clone(), true);
    const Variable result = function(leaves);
    const Tensor cotangent = Tensor::randn(result.shape(), 1, DType::f64);
    backward(result, cotangent);

    std::vector<Tensor> changed;
    for (const Tensor& input : inputs) changed.push_back(input.clone());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::vector<double> numeric;
        double largest = 0;
        for (int e = 0; e < inputs[i].numel(); ++e) {
            const double h = 1e-5;
            double& element = changed[i].mutable_values<double>()[e];
            element += h;
            const double above = loss(function, changed, cotangent);
            element -= h;
            numeric.push_back((above - loss(function, changed, cotangent)) / h);
            largest = std::max(largest, std::abs(numeric.back()));
        }
        // An undefined gradient is one of zeros.
        const Tensor gradient = leaves[i].grad().defined() ? leaves[i].grad() : Tensor::zeros(inputs[i].shape(), DType::f64);
        for (std::size_t e = 0; e < numeric.size(); ++e)
            if (!(std::abs(gradient.values<double>()[e] - numeric[e]) <= 1e-5 * largest)) return false;
    }
    return true;
}
